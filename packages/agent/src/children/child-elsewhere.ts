import type { Entry, RunResult } from '@provost/core'
import { ProvostError } from '@provost/core'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import { clock } from '../reducers/wait-reducer.ts'
import { brokenResult } from '../result/run-result.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { SessionState } from '../types/session-state.ts'
import type { SpawnedChild } from './child-run.ts'
import { childResult, isOver, join } from './child-run.ts'
import { agentNotServed } from './part-agent.ts'
import { createPart } from './part-session.ts'
import { createWaitMirror } from './wait-mirror.ts'

/**
 * Checks whether a child may run on any worker.
 *
 * @returns false for a run that no server or worker hosts, and for a child of this process: their children run here.
 * @throws ProvostError `agent-not-served` if the workers cannot know its agent; `not-portable` if a policy that governs it
 *   needs this process.
 */
export function runsElsewhere({ peers, parentRun, agent, entryAgent }: RunContext, own: ResolvedAgent): boolean {
  if (!peers || parentRun?.within) return false
  for (const { name, options } of [entryAgent, own]) {
    const served = peers.agents.get(name)
    if (!served) throw agentNotServed(name)
    // Another agent of the same name would run in its place.
    if (name === own.name && resolvedAgentOf(served).options !== options) throw agentNotServed(name)
  }
  const inherited = agent.extensions.filter(
    ({ scope, observer, portable }) => scope === 'tree' && !observer && !portable,
  )
  const [bound] = inherited.filter((extension) => !own.extensions.includes(extension)).map(({ name }) => name)
  const by = bound ?? (peers.isJudged() ? 'tool.call listener of the session' : undefined)
  if (by === undefined) return true
  throw new ProvostError(
    'not-portable',
    `${own.name} cannot run on another worker: ${by} follows it in this process.`,
    {
      hint: "Leave out where: 'any', or use policies that are `portable`.",
    },
  )
}

/**
 * Joins a child that runs on any worker, as a session of its own. The log of that session says what has happened; its
 * letters say when to look. While the child works, the run rests.
 */
export async function joinChildElsewhere(spawned: SpawnedChild): Promise<RunResult<unknown>> {
  const { ctx, child, agent, operation, host, signal } = spawned
  const { state } = ctx
  const { store } = agent
  const snapshot = logSnapshot(child.log, state.clock)
  const joining = { ctx, child, snapshot, mirror: createWaitMirror(ctx, child, snapshot) }
  const forwarded = new Set<string>()
  const look = (): void => operation.recheck?.()
  signal?.addEventListener('abort', look)

  async function read(): Promise<void> {
    const news = await readLog(store, child.log, snapshot.state.offset)
    applyEntries(snapshot, news)
    joining.mirror.follow(news)
  }

  async function end(): Promise<RunResult<unknown>> {
    await read()
    const result = isOver(snapshot.state) ? await resultOf(snapshot.state) : abortedResult(spawned, snapshot.state)
    await join(joining, result)
    return result
  }

  const resultOf = (its: SessionState): Promise<RunResult<unknown>> => childResult(ctx, child, agent, its)

  try {
    for (;;) {
      // Counted first: what comes while the log is read and written is looked at in the next round.
      const { letters } = child
      const answers = child.waitAnswers.size
      // What a child without a letter has done is of no interest yet.
      if (letters > 0 || !child.isCreated) await read()
      if (isOver(snapshot.state)) {
        const result = await resultOf(snapshot.state)
        await join(joining, result)
        return result
      }
      if (signal?.aborted) return await end()
      if (!child.isCreated && !hasInput(snapshot.state.entries)) await createPart(spawned)
      await forward(spawned, snapshot.state, forwarded)
      const { run } = snapshot.state
      if (run?.status === 'suspended') await join(joining, await resultOf(snapshot.state))
      else await joining.mirror.settle()
      spawned.onParkedChange?.(true)
      try {
        await host.operations.waitUntil(
          operation,
          () => child.letters !== letters || child.waitAnswers.size !== answers || signal?.aborted === true,
        )
      } catch (thrown) {
        // The composite is over, and so is the child.
        if (!host.isDetached()) await end().catch(() => {})
        throw thrown
      } finally {
        spawned.onParkedChange?.(false)
      }
    }
  } finally {
    signal?.removeEventListener('abort', look)
  }
}

/** Whether the log of a child elsewhere shows that it has its input. */
function hasInput(entries: readonly Entry[]): boolean {
  return entries.some(({ type }) => type === 'run')
}

/** Passes decisions that this run received on the waits of the child on to its session. */
async function forward(
  { agent: { store }, child }: Pick<SpawnedChild, 'agent' | 'child'>,
  state: SessionState,
  forwarded: Set<string>,
): Promise<void> {
  for (const [token, { value, by }] of child.waitAnswers) {
    // An expired wait is detected by the child itself.
    if (by === clock || state.resolvedWaits.has(token) || forwarded.has(token)) continue
    await store.deliver(child.log, token, value, by)
    forwarded.add(token)
  }
}

/** Returns the result of a child that was aborted, as far as its log is known. It may still be stopping. */
function abortedResult({ ctx, agent, child }: SpawnedChild, state: SessionState): RunResult<unknown> {
  return brokenResult<unknown>(agent, state, { sessionId: ctx.sessionId, runId: child.callId }, undefined)
}
