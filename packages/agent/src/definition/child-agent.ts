import { hookTable } from '../hooks/hook-table.ts'
import { budgetExtension } from '../tree/budget-extension.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { inheritedAgent } from './inherited-agent.ts'

/** Returns the plan of an agent as a child: in the parent's store, and under the parent's tree-scoped extensions. */
export function childAgent(parent: ResolvedAgent, own: ResolvedAgent): ResolvedAgent {
  const made = plans.get(parent) ?? new WeakMap<ResolvedAgent, ResolvedAgent>()
  plans.set(parent, made)
  const known = made.get(own)
  if (known) return known
  const agent = resolveChild(parent, own)
  made.set(own, agent)
  return agent
}

const plans = new WeakMap<ResolvedAgent, WeakMap<ResolvedAgent, ResolvedAgent>>()

function resolveChild(parent: ResolvedAgent, own: ResolvedAgent): ResolvedAgent {
  const inherited = parent.extensions.filter(
    (extension) => extension.scope === 'tree' && !own.extensions.includes(extension),
  )
  const judges = parent.listeners.filter(({ scope }) => scope === 'tree')
  return inheritedAgent(parent, own, inherited, [budgetExtension()], ({ extensions }) =>
    judges.length === 0 ? {} : { listeners: judges, hooks: hookTable([...extensions, ...judges]) },
  )
}
