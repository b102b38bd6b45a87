import type { ModelSpec, Spawnable } from '@provost/core'

import { isAgent, registerAgent } from '../definition/agent-registry.ts'
import { resolveAgent } from '../definition/resolved-agent.ts'
import type { AgentOptions } from '../types/agent.ts'

/**
 * Returns the judge: the given agent, or a new agent with the given model.
 *
 * @param made instructions and output of a new agent.
 */
export function judgeAgent(
  judge: Spawnable | ModelSpec,
  made: Pick<AgentOptions, 'instructions' | 'output'>,
): Spawnable {
  if (isSpawnable(judge)) return judge
  const agent: Spawnable = { name: 'judge' }
  const resolved = resolveAgent({ name: 'judge', model: judge, ...made })
  registerAgent(agent, () => resolved, resolved)
  return agent
}

function isSpawnable(judge: Spawnable | ModelSpec): judge is Spawnable {
  return isAgent(judge)
}
