import type { Extension } from '@provost/core'
import { isPromise } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import { planAgent } from './agent-plan.ts'

/** What of a plan is another's. */
type Overlay = { readonly [K in keyof AgentPlan]?: AgentPlan[K] | undefined }

/**
 * The plan of an agent that works in the run of another: in the store of that one, and governed by extensions of others,
 * which stand before its own. Nobody escapes a policy by delegating, nor does an agent lose its own: where two have one
 * name, both hold.
 *
 * @param host whose run it is, or who spawns its run.
 * @param inherited extensions that the agent has not met.
 * @param added extensions that need no meeting.
 * @param overlay what else is the host's.
 */
export function governedPlan(
  host: AgentPlan,
  own: AgentPlan,
  inherited: readonly Extension[],
  added: readonly Extension[] = [],
  overlay: (plan: AgentPlan) => Overlay = () => ({}),
): AgentPlan {
  const { extensions: given = [] } = own.options
  const before = [...added, ...inherited].filter((extension) => !given.includes(extension))
  const plan =
    before.length === 0
      ? own
      : planAgent({ ...own.options, extensions: [...before, ...given.map((one) => apart(own, one, before))] })
  let inits: { readonly done: Promise<void> } | undefined
  const governed: AgentPlan = Object.create(
    plan,
    Object.getOwnPropertyDescriptors({
      // Made when it is first used.
      get store() {
        return host.store
      },
      leaseMs: host.leaseMs,
      stateKey: host.stateKey,
      prices: plan.prices ?? host.prices,
      ready() {
        if (inherited.length === 0) return own.ready()
        inits ??= { done: initialise(own, plan, inherited) }
        // What failed once may be tried again.
        inits.done.catch(() => (inits = undefined))
        return inits.done
      },
      ...overlay(plan),
    }),
  )
  return governed
}

/** Each extension meets each agent once. */
async function initialise(own: AgentPlan, { infos }: AgentPlan, inherited: readonly Extension[]): Promise<void> {
  const ready = own.ready()
  if (isPromise(ready)) await ready
  for (const { init } of inherited) await init?.({ name: own.name, tools: infos })
}

function apart({ name }: AgentPlan, extension: Extension, others: readonly Extension[]): Extension {
  return others.some((other) => other.name === extension.name)
    ? { ...extension, name: `${name}/${extension.name}` }
    : extension
}
