import type { Extension } from '@provost/core'
import { isPromise } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { resolveAgent } from './resolved-agent.ts'

/** What of a plan is another's. */
type Overlay = { readonly [K in keyof ResolvedAgent]?: ResolvedAgent[K] | undefined }

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
export function inheritedAgent(
  host: ResolvedAgent,
  own: ResolvedAgent,
  inherited: readonly Extension[],
  added: readonly Extension[] = [],
  overlay: (plan: ResolvedAgent) => Overlay = () => ({}),
): ResolvedAgent {
  const { extensions: given = [] } = own.options
  const before = [...added, ...inherited].filter((extension) => !given.includes(extension))
  const plan =
    before.length === 0
      ? own
      : resolveAgent({ ...own.options, extensions: [...before, ...given.map((one) => apart(own, one, before))] })
  let inits: { readonly done: Promise<void> } | undefined
  const governed: ResolvedAgent = Object.create(
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
async function initialise(
  own: ResolvedAgent,
  { infos }: ResolvedAgent,
  inherited: readonly Extension[],
): Promise<void> {
  const ready = own.ready()
  if (isPromise(ready)) await ready
  for (const { init } of inherited) await init?.({ name: own.name, tools: infos })
}

function apart({ name }: ResolvedAgent, extension: Extension, others: readonly Extension[]): Extension {
  return others.some((other) => other.name === extension.name)
    ? { ...extension, name: `${name}/${extension.name}` }
    : extension
}
