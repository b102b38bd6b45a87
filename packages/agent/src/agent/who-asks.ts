import type { Extension, Spawnable } from '@provost/core'

import { isAgent, resolvedAgentOf } from '../definition/agent-registry.ts'
import { targetOf } from '../definition/handoff.ts'
import { agentBehind } from './agent-tool.ts'

/** What of an agent may ask a human for an approval. */
export interface Asker {
  readonly agent: string
  readonly kind: 'tool' | 'extension'
  readonly name: string
}

/**
 * Returns something that may ask for an approval when the agent runs: a tool with `needsApproval`, or an extension with a
 * hook that can answer `{ ask }` (`tool.call`, `model.response`, `handoff`) and without `asks: false`. Targets of handoffs
 * and agents offered as tools are looked at too; agents that a composite spawns on its own are not known before it runs.
 *
 * @returns undefined where nothing can ask.
 */
export function whoAsks(agent: Spawnable): Asker | undefined {
  const seen = new Set<Spawnable>()
  const todo: Spawnable[] = [agent]
  for (let next = todo.pop(); next; next = todo.pop()) {
    if (seen.has(next) || !isAgent(next)) continue
    seen.add(next)
    const plan = resolvedAgentOf(next)
    const extension = plan.extensions.find(mayAsk)
    if (extension) return { agent: plan.name, kind: 'extension', name: extension.name }
    for (const tool of plan.tools.values()) {
      if (tool['~tool'].needsApproval) return { agent: plan.name, kind: 'tool', name: tool.name }
      const child = agentBehind(tool)
      if (child) todo.push(child)
    }
    for (const handoff of plan.handoffs.values()) todo.push(targetOf(handoff))
  }
  return undefined
}

function mayAsk({ asks, hooks }: Extension): boolean {
  return asks !== false && Boolean(hooks['tool.call'] ?? hooks['model.response'] ?? hooks.handoff)
}
