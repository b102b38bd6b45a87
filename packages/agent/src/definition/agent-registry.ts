import type { Spawnable, Tool, ToolDefinition } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { Agent } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

const plans = new WeakMap<object, { readonly plan: () => ResolvedAgent; readonly first: ResolvedAgent }>()

/**
 * Registers the plan of an agent. Plans resolve lazily, so that two agents can hand over to each other.
 *
 * @param first the plan without lazy handoffs.
 */
export function registerAgent(agent: object, plan: () => ResolvedAgent, first: ResolvedAgent): void {
  plans.set(agent, { plan, first })
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
  return registered(agent).plan()
}

/**
 * Returns the plan of an agent without its lazy handoffs, whose targets may not exist yet.
 *
 * @throws ProvostError `not-an-agent` for a value that `createAgent` did not make.
 */
export function firstPlanOf(agent: Spawnable): ResolvedAgent {
  return registered(agent).first
}

function registered(agent: Spawnable): { readonly plan: () => ResolvedAgent; readonly first: ResolvedAgent } {
  const known = plans.get(agent)
  if (known) return known
  throw new ProvostError('not-an-agent', 'This object was not made by createAgent.', {
    hint: 'Pass the agent itself, not a copy, and install only one version of @provost/agent.',
  })
}

const offered = new WeakMap<ToolDefinition, Spawnable>()

/** Registers the agent that a tool runs. */
export function registerAgentTool(made: Pick<Tool, '~tool'>, agent: Spawnable): void {
  offered.set(made['~tool'], agent)
}

/** Returns the agent that a tool runs; undefined for any other tool. */
export function agentBehind(made: Pick<Tool, '~tool'>): Spawnable | undefined {
  return offered.get(made['~tool'])
}
