import type { ModelSpec, Spawnable } from '@provost/core'

import type { AgentOptions } from './agent-options.ts'
import { planAgent } from './agent-plan.ts'
import { isAgent, keepPlan } from './known-plan.ts'

/**
 * Who judges: the agent that was given, or one that is made of the model that was.
 *
 * @param made what the one that is made is told, and how it answers.
 */
export function judgingAgent(
  judge: Spawnable | ModelSpec,
  made: Pick<AgentOptions, 'instructions' | 'output'>,
): Spawnable {
  if (isSpawnable(judge)) return judge
  const agent: Spawnable = { name: 'judge' }
  const plan = planAgent({ name: 'judge', model: judge, ...made })
  keepPlan(agent, () => plan)
  return agent
}

function isSpawnable(judge: Spawnable | ModelSpec): judge is Spawnable {
  return isAgent(judge)
}
