import type { Decisions, Extension, FanOut, FanOutResult, OnApproval, Principal, SessionStore } from '@provost/core'
import { toJson } from '@provost/core'

import type { AgentOptions } from '../agent-options.ts'
import { checkFanOut, checkLone } from '../known-team-options.ts'
import { runLone } from '../lone-composite.ts'
import type { Session } from '../session/session.ts'

/** How a fan-out runs that no agent has called for. */
export interface FanOutOptions<T = string> extends FanOut<T> {
  /** One that a crash broke off goes on where the same fan-out is started for the same session. */
  readonly session?: Session<unknown, never> | undefined
  /** Those of scope `tree` cover what it does, as they would be an agent's: telemetry, policies. */
  readonly extensions?: readonly Extension<unknown>[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Asked for what children want approved. */
  readonly onApproval?: OnApproval | undefined
  /** On what it waited for when it was started for the same session before: `error.pending` of a WaitsForSomebodyError. */
  readonly decisions?: Decisions | undefined
  readonly principal?: Principal | undefined
  /** The app value of the children's tools. */
  readonly context?: unknown
}

/**
 * Runs agents side by side and makes one output of what they say.
 *
 * @throws ProvostError `fan-out-failed` where there is nothing to merge; `invalid-fan-out`; `waits-for-somebody` (WaitsForSomebodyError); `aborted`
 *
 * @example
 * const { output, children } = await runFanOut({
 *   children: [{ agent: optimist, input: task }, { agent: pessimist, input: task }],
 *   mergeStrategy: { kind: 'judge-merge', judge: 'anthropic/claude-sonnet-5' },
 *   perBudget: { tokens: 20_000, durationMs: 60_000 },
 * })
 */
export function runFanOut<T = string>(
  options: FanOutOptions<T> & { readonly store?: SessionStore },
): Promise<FanOutResult<T>> {
  return fanOutFor(undefined, options)
}

/** A fan-out for an agent: what governs the agent governs the children. */
export async function fanOutFor<T>(
  agent: AgentOptions | undefined,
  options: FanOutOptions<T> & { readonly store?: SessionStore },
): Promise<FanOutResult<T>> {
  const where = agent ? 'agent.fanOut' : 'runFanOut'
  checkFanOut(options, where)
  checkLone(options, where)
  const { session, extensions, signal, onApproval, decisions, principal, context, store, children } = options
  const { maxConcurrentChildren = 4, mergeStrategy, perBudget } = options
  const same = children.map((child) =>
    'agent' in child ? [child.key ?? '', child.agent.name, toJson(child.input)] : [child.agentId],
  )
  return runLone(
    {
      name: 'fan_out',
      agent,
      extensions,
      store,
      within: session && { session, same },
      signal,
      onApproval,
      decisions,
      principal,
      context,
      maxParallelTools: maxConcurrentChildren,
    },
    (ctx) => ctx.fanOut({ children, mergeStrategy, maxConcurrentChildren, ...(perBudget && { perBudget }) }),
  )
}
