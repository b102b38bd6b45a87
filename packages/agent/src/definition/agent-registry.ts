import type { Spawnable } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { Agent } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

const plans = new WeakMap<object, () => ResolvedAgent>()

/** Ties a plan to the agent that users hold; agents that hand over to each other are planned when both are there. */
export function registerAgent(agent: object, plan: () => ResolvedAgent): void {
  plans.set(agent, plan)
}

/** Whether `createAgent` made this. */
export function isAgent(value: unknown): value is Agent<unknown, never> {
  return typeof value === 'object' && value !== null && plans.has(value)
}

/**
 * The plan of an agent.
 *
 * @throws ProvostError `not-an-agent` for anything that `createAgent` did not make.
 */
export function resolvedAgentOf(agent: Spawnable): ResolvedAgent {
  const plan = plans.get(agent)
  if (plan) return plan()
  throw new ProvostError('not-an-agent', 'This object was not made by createAgent.', {
    hint: 'Pass the agent itself, not a copy, and make sure that one version of @provost/agent is installed.',
  })
}
