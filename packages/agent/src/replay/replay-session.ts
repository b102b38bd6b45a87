import type { Entry, KnownKeys, RunStatus } from '@provost/core'
import { ProvostError, checkOptions, toErrorInfo } from '@provost/core'

import { resolvedAgentOf } from '../definition/resolved-agent.ts'
import { drive, loopOf } from '../orchestrator/loop.ts'
import type { Agent } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { ReplayDifference } from './compare.ts'
import { ReplayStopped } from './compare.ts'
import { handlersOf } from './handlers.ts'
import type { RecordedLog } from './recorded-log.ts'
import { nextOf, openRecordedLog } from './recorded-log.ts'

/** Options of {@link replaySession}. */
export interface ReplayOptions {
  /** The step limit of its runs. Default: the agent's. */
  readonly maxSteps?: number
}

const optionKeys = { maxSteps: true } satisfies KnownKeys<ReplayOptions>

/**
 * Drives the agent's loop through a recorded session. Model answers, decisions and tool results come from the log. No
 * model, tool or hook is called; an orchestrator is. The comparison stops at the end of the log, and where a run was
 * ended from outside. Entries before the mark of a fork are not compared.
 *
 * @param entries of one log, from the first.
 * @returns the first difference; undefined if the loop produces the same log.
 * @throws ProvostError `wrong-agent`
 *
 * @example
 * const difference = await replaySession(desk, store.read('ann-17'))
 * if (difference) console.log(difference.offset, difference.expected, difference.got)
 */
export async function replaySession(
  agent: Agent<unknown, never>,
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  options: ReplayOptions = {},
): Promise<ReplayDifference | undefined> {
  checkOptions(options, optionKeys, 'replaySession')
  const plan = resolvedAgentOf(agent)
  const tape = openRecordedLog(await collected(entries))
  const { state } = tape
  for (;;) {
    const entry = tape.entry()
    if (!entry) return undefined
    if (entry.type === 'run' && entry.op === 'started') {
      if (entry.manifest.agent !== plan.name) throw wrongAgent(entry.manifest.agent, plan.name)
      tape.take()
      tape.takeOpening()
    } else if (state.run?.status === 'suspended' && tape.isClosing()) tape.takeClosing()
    else if (state.run && state.run.status !== 'running' && isWork(entry)) {
      return { offset: entry.offset, expected: entry, got: 'nothing: the run is over' }
    } else tape.take()
    // A run that was resumed after a crash starts another loop from the log.
    while (state.run?.status === 'running' && tape.entry()) {
      const difference = await replayRun(plan, tape, options.maxSteps ?? plan.maxSteps)
      if (difference) return difference
    }
  }
}

async function collected(entries: Iterable<Entry> | AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for await (const entry of entries) all.push(entry)
  return all
}

/** Returns whether only a run writes such an entry. */
function isWork(entry: Entry): boolean {
  if (entry.type === 'message') return entry.via === 'model'
  return entry.type === 'call' || (entry.type === 'attempt' && entry.purpose !== 'generated')
}

async function replayRun(
  plan: ResolvedAgent,
  tape: RecordedLog,
  maxSteps: number,
): Promise<ReplayDifference | undefined> {
  const left = new AbortController()
  const loop = loopOf(tape.state, plan, maxSteps, 0, left.signal)
  let status: RunStatus
  try {
    status = await drive(loop, handlersOf(tape))
  } catch (thrown) {
    if (!(thrown instanceof ReplayStopped)) {
      const entry = nextOf(tape)
      if (!entry) return undefined
      if (!tape.isClosing())
        return { offset: entry.offset, expected: entry, got: `failed: ${toErrorInfo(thrown).message}` }
      tape.takeClosing()
      return undefined
    }
    const { why } = thrown
    if (typeof why === 'object') return why
    if (why === 'resumed') {
      tape.take()
      tape.takeLookups()
    }
    if (why === 'closed') tape.takeClosing()
    if (why === 'end') while (tape.entry()) tape.take()
    return undefined
  } finally {
    left.abort()
    await loop.return('aborted')
  }
  const entry = tape.entry()
  const same = tape.state.run?.status === status
  return same || !entry ? undefined : { offset: entry.offset, expected: entry, got: `the end: ${status}` }
}

function wrongAgent(of: string, name: string): ProvostError {
  return new ProvostError('wrong-agent', `The session has a run of agent ${of}, not of agent ${name}.`, {
    hint: `Replay the session with agent ${of}.`,
  })
}
