import type { ModelSpec, Spawnable } from '@provost/core'

import { isAgent, registerAgent } from '../definition/agent-registry.ts'
import { resolveAgent } from '../definition/resolved-agent.ts'
import type { AgentOptions } from '../types/agent.ts'

/**
 * Who judges: the agent that was given, or one that is made of the model that was.
 *
 * @param made what the one that is made is told, and how it answers.
 */
export function judgeAgent(
  judge: Spawnable | ModelSpec,
  made: Pick<AgentOptions, 'instructions' | 'output'>,
): Spawnable {
  if (isSpawnable(judge)) return judge
  const agent: Spawnable = { name: 'judge' }
  const plan = resolveAgent({ name: 'judge', model: judge, ...made })
  registerAgent(agent, () => plan)
  return agent
}

function isSpawnable(judge: Spawnable | ModelSpec): judge is Spawnable {
  return isAgent(judge)
}
