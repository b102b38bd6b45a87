import type { AgentPlan } from './agent-plan.ts'
import { governedPlan } from './governed-plan.ts'
import { grants } from './grant.ts'
import { hookTable } from './hook-table.ts'

/** The plan of an agent as a child of another: in the store of its parent, governed by what governs its parent. */
export function childPlan(parent: AgentPlan, own: AgentPlan): AgentPlan {
  const made = plans.get(parent) ?? new WeakMap<AgentPlan, AgentPlan>()
  plans.set(parent, made)
  const known = made.get(own)
  if (known) return known
  const plan = planChild(parent, own)
  made.set(own, plan)
  return plan
}

const plans = new WeakMap<AgentPlan, WeakMap<AgentPlan, AgentPlan>>()

function planChild(parent: AgentPlan, own: AgentPlan): AgentPlan {
  const inherited = parent.extensions.filter(
    (extension) => extension.scope === 'tree' && !own.extensions.includes(extension),
  )
  const judges = parent.listeners.filter(({ scope }) => scope === 'tree')
  return governedPlan(parent, own, inherited, [grants()], ({ extensions }) =>
    judges.length === 0 ? {} : { listeners: judges, hooks: hookTable([...extensions, ...judges]) },
  )
}
