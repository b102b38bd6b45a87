import type { Agent } from '@provost/agent'
import { runLoop } from '@provost/agent'
import type { ResolvedAgent } from '@provost/agent/internal'
import { resolvedAgentOf } from '@provost/agent/internal'
import type { Entry, KnownKeys, RunStatus } from '@provost/core'
import { ProvostError, checkOptions, toErrorInfo } from '@provost/core'

import type { ReplayDifference } from './compare.ts'
import { ReplayStopped } from './compare.ts'
import { recordedDriver } from './recorded-driver.ts'
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
  const resolved = resolvedAgentOf(agent)
  const recorded = openRecordedLog(await collected(entries))
  const { state } = recorded
  for (;;) {
    const entry = recorded.entry()
    if (!entry) return undefined
    if (entry.type === 'run' && entry.op === 'started') {
      if (entry.manifest.agent !== resolved.name) throw wrongAgent(entry.manifest.agent, resolved.name)
      recorded.take()
      recorded.skipOpening()
    } else if (state.run?.status === 'suspended' && recorded.isClosing()) recorded.skipClosing()
    else if (state.run && state.run.status !== 'running' && isRunEntry(entry)) {
      return { offset: entry.offset, expected: entry, got: 'nothing: the run is over' }
    } else recorded.take()
    // A run that was resumed after a crash starts another loop from the log.
    while (state.run?.status === 'running' && recorded.entry()) {
      const difference = await replayRun(resolved, recorded, options.maxSteps ?? resolved.maxSteps)
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
function isRunEntry(entry: Entry): boolean {
  if (entry.type === 'message') return entry.via === 'model'
  return entry.type === 'call' || (entry.type === 'attempt' && entry.purpose !== 'generated')
}

async function replayRun(
  entryAgent: ResolvedAgent,
  recorded: RecordedLog,
  maxSteps: number,
): Promise<ReplayDifference | undefined> {
  const left = new AbortController()
  const { state } = recorded
  const { signal } = left
  let status: RunStatus
  try {
    status = await runLoop({ state, driver: recordedDriver(recorded), entryAgent, maxSteps, fence: 0, signal })
  } catch (thrown) {
    if (!(thrown instanceof ReplayStopped)) {
      const entry = nextOf(recorded)
      if (!entry) return undefined
      if (!recorded.isClosing())
        return { offset: entry.offset, expected: entry, got: `failed: ${toErrorInfo(thrown).message}` }
      recorded.skipClosing()
      return undefined
    }
    const { reason } = thrown
    if (typeof reason === 'object') return reason
    if (reason === 'resumed' || reason === 'yielded') recorded.take()
    if (reason === 'closed') recorded.skipClosing()
    if (reason === 'end') while (recorded.entry()) recorded.take()
    return undefined
  } finally {
    left.abort()
  }
  const entry = recorded.entry()
  const same = state.run?.status === status
  return same || !entry ? undefined : { offset: entry.offset, expected: entry, got: `the end: ${status}` }
}

function wrongAgent(of: string, name: string): ProvostError {
  return new ProvostError('wrong-agent', `The session has a run of agent ${of}, not of agent ${name}.`, {
    hint: `Replay the session with agent ${of}.`,
  })
}
