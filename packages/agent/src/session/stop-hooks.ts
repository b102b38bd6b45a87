import { randomUUID } from 'node:crypto'

import type { Extension, Fold, NewEntry, Principal, SessionContext } from '@provost/core'
import { isPromise, toJson } from '@provost/core'

import { agentNamed } from '../handoff/active-agent.ts'
import type { HookClock } from '../hooks/hook-time.ts'
import { hookSignal, inHookTime } from '../hooks/hook-time.ts'
import { inOrder } from '../hooks/run-hooks.ts'
import { newEntry } from '../state/entry.ts'
import type { Hooked } from '../types/hooks.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** The session to close. */
export interface ClosingSession {
  readonly agent: ResolvedAgent
  readonly id: string
  readonly principal: Principal | undefined
  readonly context: unknown
  readonly snapshot: LogSnapshot
  write(entries: readonly NewEntry[]): Promise<void>
}

/**
 * Runs the `session.stop` hooks of the first agent and of all targets of handoffs, in the order of the handoffs. The
 * hook of each extension runs once. A failed hook does not stop the others.
 *
 * @throws AggregateError with the errors of the hooks.
 */
export async function runStopHooks(stopping: ClosingSession): Promise<void> {
  const { agent, id, snapshot } = stopping
  const hookTimes: HookClock['hookTimes'] = new Map()
  const { signal } = new AbortController()
  const none: readonly unknown[] = []
  const errors = await inOrder(stopHooks(agent, snapshot), none, {
    ask({ extension, hook, of }, before) {
      const clock: HookClock = { agent: of, hookTimes, signal }
      const answer = inHookTime(clock, extension, 'session.stop', hook(contextOf(stopping, of, extension, clock)))
      return isPromise(answer) ? answer.then(() => before) : before
    },
    failed: (thrown, _, before) => [...before, thrown],
  })
  if (errors.length > 0) throw new AggregateError(errors, `A session.stop hook of session ${id} failed.`)
}

function contextOf(
  { agent, id, principal, context, snapshot: { state }, write }: ClosingSession,
  of: ResolvedAgent,
  extension: Extension,
  clock: HookClock,
): SessionContext {
  return {
    session: { id },
    agent: { name: of.name, ...(of.description !== undefined && { description: of.description }) },
    ...(principal && { principal }),
    signal: hookSignal(clock, extension),
    context,
    fold: <S>({ initial, apply }: Fold<S>): S => state.entries.reduce(apply, initial),
    async append(key, data) {
      // A session may be closed more than once, so the offset makes the id unique.
      const entryId = `${id}/stop/${state.offset}/ext/${extension.name}/${key}`
      const place = { runId: id, step: 0, agent: of.name, clock: state.clock }
      await write([newEntry(place, entryId, { type: 'ext', name: extension.name, key, data: toJson(data) })])
    },
    blob: (hash) => agent.store.blob(hash),
    putBlob: (bytes) => agent.store.putBlob(agent.secrets.scrubber.scrubBytes(bytes)),
    scrub: (text) => agent.secrets.scrubber.scrub(text),
    now: () => state.clock.now(),
    uuid: () => randomUUID(),
  }
}

type StopHook = Hooked<'session.stop'> & { readonly of: ResolvedAgent }

function stopHooks(entryAgent: ResolvedAgent, { state: { run, handoffPath } }: LogSnapshot): readonly StopHook[] {
  const handed = run?.manifest.agent === entryAgent.name ? handoffPath : []
  const found = new Map<Extension, StopHook>()
  for (const name of [entryAgent.name, ...handed]) {
    const of = agentNamed(entryAgent, name)
    for (const one of of?.hooks['session.stop'] ?? []) {
      if (of && !found.has(one.extension)) found.set(one.extension, { ...one, of })
    }
  }
  return [...found.values()]
}
