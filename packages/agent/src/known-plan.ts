import type { Spawnable } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import type { Agent } from './agent.ts'

const plans = new WeakMap<object, () => AgentPlan>()

/** Ties a plan to the agent that users hold; agents that hand over to each other are planned when both are there. */
export function keepPlan(agent: object, plan: () => AgentPlan): void {
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
export function planOf(agent: Spawnable): AgentPlan {
  const plan = plans.get(agent)
  if (plan) return plan()
  throw new ProvostError('not-an-agent', 'This object was not made by createAgent.', {
    hint: 'Pass the agent itself, not a copy, and make sure that one version of @provost/agent is installed.',
  })
}
