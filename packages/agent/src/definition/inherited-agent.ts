import type { Extension } from '@provost/core'
import { isPromise } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { initExtension } from './init-extension.ts'
import type { Initialised } from './init-extension.ts'
import { resolveAgent } from './resolved-agent.ts'

const replacements = new WeakSet<Extension>()

/**
 * Returns a policy that takes the place of each extension of its name in the agents of a session: in the first one, and in
 * those that work in its runs. Another process rebuilds a child from its own agents, so no child runs elsewhere under it.
 */
export function replacement(policy: Extension): Extension {
  const { portable: _, ...own } = policy
  const made: Extension = Object.freeze(own)
  replacements.add(made)
  return made
}

/** Fields of a plan that the host replaces. */
type Overlay = { readonly [K in keyof ResolvedAgent]?: ResolvedAgent[K] | undefined }

/**
 * Returns the plan of an agent that works in the run of another. It uses the host's store, and inherited extensions run
 * before its own. Delegation thus bypasses no policy. Where two extensions have the same name, both apply.
 *
 * @param host the agent that owns the run or spawns it.
 * @param inherited extensions to initialise for this agent.
 * @param added extensions that need no initialisation.
 * @param overlay further fields that the host replaces.
 */
export function inheritedAgent(
  host: ResolvedAgent,
  own: ResolvedAgent,
  inherited: readonly Extension[],
  added: readonly Extension[] = [],
  overlay: (agent: ResolvedAgent) => Overlay = () => ({}),
): ResolvedAgent {
  const all = [...added, ...inherited]
  const replaced = new Set(all.flatMap((one) => (replacements.has(one) ? [one.name] : [])))
  const stays = (one: Extension): boolean => replacements.has(one) || !replaced.has(one.name)
  const { extensions: its = [] } = own.options
  const given = its.filter(stays)
  const before = all.filter((extension) => stays(extension) && !given.includes(extension))
  const resolved =
    before.length === 0
      ? own
      : resolveAgent({
          ...own.options,
          extensions: [...before, ...given.map((one) => withUniqueName(own, one, before))],
        })
  const initialised: Initialised = new Set()
  let inits: { readonly done: Promise<void> } | undefined
  const governed: ResolvedAgent = Object.create(
    resolved,
    Object.getOwnPropertyDescriptors({
      // Lazy: created on first use.
      get store() {
        return host.store
      },
      leaseMs: host.leaseMs,
      stateKey: host.stateKey,
      prices: resolved.prices ?? host.prices,
      get initialised() {
        return new Set([...own.initialised, ...initialised])
      },
      ready() {
        if (inherited.length === 0) return own.ready()
        inits ??= { done: initialise(own, resolved, inherited, initialised) }
        // Retry a failed initialisation in the next run.
        inits.done.catch(() => (inits = undefined))
        return inits.done
      },
      ...overlay(resolved),
    }),
  )
  return governed
}

/** Initialises each inherited extension once for this agent. */
async function initialise(
  own: ResolvedAgent,
  { infos }: ResolvedAgent,
  inherited: readonly Extension[],
  initialised: Initialised,
): Promise<void> {
  const ready = own.ready()
  if (isPromise(ready)) await ready
  for (const one of inherited) await initExtension(one, { name: own.name, tools: infos }, initialised)
}

function withUniqueName({ name }: ResolvedAgent, extension: Extension, others: readonly Extension[]): Extension {
  return others.some((other) => other.name === extension.name)
    ? { ...extension, name: `${name}/${extension.name}` }
    : extension
}
