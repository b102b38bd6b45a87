import type { FanOutResult, SessionStore } from '@provost/core'
import { toJson } from '@provost/core'

import { checkFanOut, checkLone } from '../definition/known-team-options.ts'
import type { AgentOptions, FanOutOptions } from '../types/agent.ts'
import { runStandalone } from './standalone.ts'

/**
 * Runs agents in parallel and merges their outputs into one.
 *
 * @throws ProvostError `fan-out-failed` if there is nothing to merge; `invalid-fan-out`; `pending-input` (PendingInputError); `aborted`
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

/** Runs a fan-out for an agent, whose tree-scoped extensions also govern the children. */
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
  return runStandalone(
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
