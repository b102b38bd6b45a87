import type { Spawnable } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { Agent } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

const plans = new WeakMap<object, () => ResolvedAgent>()

/** Registers the plan of an agent. Plans resolve lazily, so that two agents can hand over to each other. */
export function registerAgent(agent: object, plan: () => ResolvedAgent): void {
  plans.set(agent, plan)
}

/** Whether `createAgent` made this value. */
export function isAgent(value: unknown): value is Agent<unknown, never> {
  return typeof value === 'object' && value !== null && plans.has(value)
}

/**
 * Returns the plan of an agent.
 *
 * @throws ProvostError `not-an-agent` for a value that `createAgent` did not make.
 */
export function resolvedAgentOf(agent: Spawnable): ResolvedAgent {
  const plan = plans.get(agent)
  if (plan) return plan()
  throw new ProvostError('not-an-agent', 'This object was not made by createAgent.', {
    hint: 'Pass the agent itself, not a copy, and install only one version of @provost/agent.',
  })
}
