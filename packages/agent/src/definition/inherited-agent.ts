import type { Extension } from '@provost/core'
import { isPromise } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { initExtension } from './init-extension.ts'
import type { Initialised } from './init-extension.ts'
import { resolveAgent } from './resolved-agent.ts'

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
  const { extensions: given = [] } = own.options
  const before = [...added, ...inherited].filter((extension) => !given.includes(extension))
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
