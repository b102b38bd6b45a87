import type { Extension, Spawnable } from '@provost/core'

import { agentBehind, isAgent, resolvedAgentOf } from '../definition/agent-registry.ts'
import { targetOf } from '../definition/handoff.ts'

/** A part of an agent that can request an approval. */
export interface Asker {
  readonly agent: string
  readonly kind: 'tool' | 'extension'
  readonly name: string
}

/**
 * Returns a part that can request an approval when the agent runs. This is a tool with `needsApproval`, `stage` or
 * `effectKey` (a call of a known effect with other arguments asks), or an extension without `asks: false` whose hook can
 * return `{ ask }` (`tool.call`, `model.response`, `handoff`). Handoff targets and agents offered as tools are searched, too.
 * Agents that a composite spawns are unknown before it runs.
 *
 * @returns undefined if no part can request an approval.
 */
export function whoAsks(agent: Spawnable): Asker | undefined {
  const seen = new Set<Spawnable>()
  const todo: Spawnable[] = [agent]
  for (let next = todo.pop(); next; next = todo.pop()) {
    if (seen.has(next) || !isAgent(next)) continue
    seen.add(next)
    const resolved = resolvedAgentOf(next)
    const extension = resolved.extensions.find(mayAsk)
    if (extension) return { agent: resolved.name, kind: 'extension', name: extension.name }
    for (const tool of resolved.tools.values()) {
      const { needsApproval, stage, effectKey } = tool['~tool']
      if (needsApproval || stage || effectKey) return { agent: resolved.name, kind: 'tool', name: tool.name }
      const child = agentBehind(tool)
      if (child) todo.push(child)
    }
    for (const handoff of resolved.handoffs.values()) todo.push(targetOf(handoff))
  }
  return undefined
}

function mayAsk({ asks, hooks }: Extension): boolean {
  return asks !== false && Boolean(hooks['tool.call'] ?? hooks['model.response'] ?? hooks.handoff)
}
