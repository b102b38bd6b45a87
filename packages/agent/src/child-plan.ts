import type { Extension } from '@provost/core'
import { isPromise } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import { planAgent } from './agent-plan.ts'
import { grants } from './grant.ts'

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
  const { extensions: given = [] } = own.options
  const inherited = parent.extensions.filter(
    (extension) => extension.scope === 'tree' && !own.extensions.includes(extension),
  )
  const before = [grants(), ...inherited].filter((extension) => !given.includes(extension))
  const plan = planAgent({
    ...own.options,
    extensions: [...before, ...given.map((extension) => apart(own, extension, before))],
  })
  const value = (one: unknown): PropertyDescriptor => ({ value: one, enumerable: true })
  let inits: { readonly done: Promise<void> } | undefined
  const child: AgentPlan = Object.create(plan, {
    store: { get: () => parent.store, enumerable: true },
    leaseMs: value(parent.leaseMs),
    stateKey: value(parent.stateKey),
    prices: value(plan.prices ?? parent.prices),
    ready: value(() => {
      if (inherited.length === 0) return own.ready()
      inits ??= { done: initialise(own, plan, inherited) }
      // What failed once may be tried again.
      inits.done.catch(() => (inits = undefined))
      return inits.done
    }),
  })
  return child
}

/** Each extension meets each agent once. */
async function initialise(own: AgentPlan, { infos }: AgentPlan, inherited: readonly Extension[]): Promise<void> {
  const ready = own.ready()
  if (isPromise(ready)) await ready
  for (const { init } of inherited) await init?.({ name: own.name, tools: infos })
}

/** Nobody escapes a policy by delegating, nor does a child lose its own: where two have one name, both hold. */
function apart({ name }: AgentPlan, extension: Extension, others: readonly Extension[]): Extension {
  return others.some((other) => other.name === extension.name)
    ? { ...extension, name: `${name}/${extension.name}` }
    : extension
}
