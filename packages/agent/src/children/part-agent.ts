import type { LentSecrets, PartOrigin, Spawnable } from '@provost/core'
import { ProvostError } from '@provost/core'
import type { SecretScope } from '@provost/tools'
import { childSecrets } from '@provost/tools'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { childAgent } from '../definition/child-agent.ts'
import { agentAt } from '../handoff/active-agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** An agent with the secrets that it has in the run of another. */
interface Governed {
  readonly agent: ResolvedAgent
  readonly secrets: SecretScope
}

/**
 * Returns the plan of an agent as a child whose parents run elsewhere: under their tree-scoped extensions, and with the
 * secrets that they lend it by name.
 *
 * @param agents those of this process, by name.
 * @throws ProvostError `agent-not-served` if an agent above is unknown here; `missing-extension` if one of the extensions is
 */
export function partAgent(
  own: ResolvedAgent,
  { levels, lent, extensions }: PartOrigin,
  agents: ReadonlyMap<string, Spawnable>,
): ResolvedAgent {
  let above: Governed | undefined
  for (const { agent: name, active, path, lent: its } of levels) {
    const served = agents.get(name)
    if (!served) throw agentNotServed(name)
    const begun = below(above, resolvedAgentOf(served), its)
    const agent = active === undefined ? begun.agent : agentAt(begun.agent, active, path)
    above =
      agent === begun.agent
        ? begun
        : { agent, secrets: childSecrets(begun.secrets, agent.secrets, { secrets: 'isolated' }) }
  }
  const { agent, secrets } = below(above, own, lent)
  const missing = extensions.filter((name) => agent.extensions.every((extension) => extension.name !== name))
  if (missing.length > 0) {
    throw new ProvostError(
      'missing-extension',
      `The session is governed by ${missing.join(', ')}, which agent ${own.name} lacks here.`,
      { hint: 'Give the agents of all workers the same tree-scoped extensions.' },
    )
  }
  const governed: ResolvedAgent = Object.create(agent, { secrets: { value: secrets, enumerable: true } })
  return governed
}

function below(above: Governed | undefined, own: ResolvedAgent, lent: LentSecrets = {}): Governed {
  if (!above) return { agent: own, secrets: own.secrets }
  return { agent: childAgent(above.agent, own), secrets: childSecrets(above.secrets, own.secrets, lent) }
}

/** Returns the error for an agent that this process does not serve. */
export function agentNotServed(name: string): ProvostError {
  return new ProvostError('agent-not-served', `Agent ${name.slice(0, 200)} is not among the agents of this process.`, {
    hint: 'List it, and the agents that call it, in `agents` of the server and of each worker.',
  })
}
