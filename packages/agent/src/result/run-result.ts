import type { RunResult, RunState } from '@provost/core'
import { ProvostError, fromErrorInfo, liveFields, parseWith, scrubError } from '@provost/core'

import { pendingWork } from '../state/next-action.ts'
import { endPayload } from '../state/run-summary.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'
import { cursorOf, runStateOf } from './run-state-data.ts'

/** The parts of a result that the log does not hold. */
export interface Ending {
  readonly sessionId: string
  readonly runId: string
  /** The original error, if this process caught it: `result.error` then keeps its cause and class. */
  readonly thrown?: unknown
  /** The logs of the running children, by name. */
  readonly children?: ReadonlyMap<string, SessionState>
}

/** Returns the result of a run, from its log. */
export async function runResult<Output>(
  agent: ResolvedAgent,
  state: SessionState,
  ending: Ending,
): Promise<RunResult<Output>> {
  const { status, output, error } = endPayload(state)
  const report = reportOf<Output>(agent, state, ending)
  if (status === 'failed') return withGetters(report, { status, error: hideIn(agent, errorOf(ending.thrown, error)) })
  if (status !== 'completed') return withGetters(report, { status })
  const parsed = agent.output ? await parseWith(agent.output, output) : undefined
  const value: unknown = parsed?.ok ? parsed.value : output
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the agent's type says what its schema makes of an answer, and text where it has none
  return withGetters(report, { status, output: value as Output })
}

/**
 * Returns the result of a run whose end is not recorded in the log.
 *
 * @param error absent for a run that was aborted.
 */
export function brokenResult<Output>(
  agent: ResolvedAgent,
  state: SessionState,
  ending: Ending,
  error: ProvostError | undefined,
): RunResult<Output> {
  const report = reportOf<Output>(agent, state, ending)
  return error
    ? withGetters(report, { status: 'failed' as const, error: hideIn(agent, error) })
    : withGetters(report, { status: 'aborted' as const })
}

function reportOf<Output>(
  agent: ResolvedAgent,
  state: SessionState,
  { sessionId, runId, children = new Map() }: Ending,
): Pick<RunResult<Output>, 'text' | 'messages' | 'usage' | 'cost' | 'pending' | 'state' | 'runId' | 'sessionId'> {
  const { text, messages, usage, cost } = endPayload(state)
  // Taken now: later runs of the session append to the same log.
  const cursor = cursorOf(state, sessionId, runId)
  const below = [...children].map(([log, its]) => [log, its.entries, its.entries.length] as const)
  const manifest = state.run?.manifest ?? agent.manifest
  const report = {
    text,
    messages,
    usage,
    ...(cost !== undefined && { cost }),
    pending: pendingWork(state),
    runId,
    sessionId,
  }
  return withState(report, () => {
    const logs = below.map(([log, entries, length]) => [log, entries.slice(0, length)] as const)
    return runStateOf<never>(agent, manifest, cursor, state.entries, Object.fromEntries(logs))
  })
}

// Built on access: few callers read it.
const withState = liveFields<() => RunState<never>, { readonly state: RunState<never> }>({ state: (made) => made() })

/** Adds fields without a spread: a spread would build the lazy state for every result. */
function withGetters<A extends object, B extends object>(report: A, rest: B): A & B {
  return Object.assign(report, rest)
}

function errorOf(thrown: unknown, info: ReturnType<typeof endPayload>['error']): ProvostError {
  if (thrown instanceof ProvostError) return thrown
  return fromErrorInfo(info ?? { code: 'unexpected', message: 'The run failed.' }, thrown)
}

/** Scrubs secrets from an error: errors of providers and stores may quote the request. */
function hideIn({ secrets }: ResolvedAgent, error: ProvostError): ProvostError {
  const scrubbed = scrubError(secrets.scrubber, error)
  return scrubbed instanceof ProvostError ? scrubbed : error
}
