import type { Agent, AgentOptions } from '@provost/agent'
import { checkFanOut, inputJson, resolvedAgentOf, runStandalone } from '@provost/agent/internal'
import type { FanOut, FanOutChild, FanOutResult, Json, SessionStore } from '@provost/core'

import type { TeamOptions } from './team-options.ts'
import { teamKeys } from './team-options.ts'

/** How a fan-out runs outside of an agent's run. */
export interface FanOutOptions<T = string> extends FanOut<T>, TeamOptions {}

/**
 * Runs agents in parallel and merges their outputs into one.
 *
 * @throws ProvostError `fan-out-failed` if there is nothing to merge; `invalid-fan-out`, `invalid-option`; `pending-input`
 *   (PendingInputError); `aborted`
 *
 * @example
 * const { output, children } = await runFanOut({
 *   children: [{ agent: optimist, input: task }, { agent: pessimist, input: task }],
 *   mergeStrategy: { kind: 'judge-merge', judge: 'anthropic/claude-sonnet-5' },
 *   perBudget: { tokens: 20_000, durationMs: 60_000 },
 * })
 */
export async function runFanOut<T = string>(
  options: FanOutOptions<T> & { readonly store?: SessionStore },
): Promise<FanOutResult<T>> {
  checkFanOut(options, 'runFanOut', { ...teamKeys, store: true })
  return inRunOf(undefined, options)
}

/**
 * Runs agents in parallel for an agent and merges their outputs into one. The agent's tree-scoped extensions, store,
 * runtime and secrets also apply to them.
 *
 * @throws ProvostError `not-an-agent`, and what {@link runFanOut} throws
 *
 * @example
 * const { output } = await fanOut(lead, { children: [{ agent: writer, input: task }], mergeStrategy: 'concat' })
 */
export async function fanOut<T = string>(
  agent: Agent<unknown, never>,
  options: FanOutOptions<T>,
): Promise<FanOutResult<T>> {
  checkFanOut(options, 'fanOut', teamKeys)
  return inRunOf(resolvedAgentOf(agent).options, options)
}

async function inRunOf<T>(
  agent: AgentOptions | undefined,
  options: FanOutOptions<T> & { readonly store?: SessionStore },
): Promise<FanOutResult<T>> {
  const { children, mergeStrategy, perBudget, maxConcurrentChildren = 4, where, session, ...team } = options
  return runStandalone(
    {
      ...team,
      name: 'fan_out',
      agent,
      within: session && { session, same: children.map(sameChild) },
      hasEffects: true,
      maxParallelTools: maxConcurrentChildren,
    },
    (ctx) =>
      ctx.fanOut({
        children,
        mergeStrategy,
        maxConcurrentChildren,
        ...(perBudget && { perBudget }),
        ...(where && { where }),
      }),
    ({ output }) => output,
  )
}

/** Returns what makes a child of a repeated request the same one. */
function sameChild(child: FanOutChild): readonly Json[] {
  return 'agent' in child ? [child.key ?? '', child.agent.name, inputJson(child.input)] : [child.agentId]
}
