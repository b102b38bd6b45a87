import type { Extension, ForkOffers, HookContext, MaybePromise, Overrides } from '@provost/core'
import { ProvostError } from '@provost/core'

import { replacement } from '../definition/inherited-agent.ts'

/** The options that overrides replace. */
export interface Overridden {
  readonly instructions?: string | ((ctx: HookContext) => MaybePromise<string>)
  readonly extensions: readonly Extension[]
}

/**
 * Returns the options of an agent that a fork overrides. A policy takes the place of the extension of its name, or comes
 * first where the agent has none.
 *
 * @throws ProvostError `override-not-offered`: without it the fork would continue under another policy
 */
export function overriddenOptions(
  extensions: readonly Extension[],
  { policy: policyName, prompt: promptName, promptText }: Overrides = {},
  offers: ForkOffers = {},
): Overridden {
  const policy = policyName === undefined ? undefined : offered('policy', policyName, offers.policies)
  const named = promptName === undefined ? undefined : offered('prompt', promptName, offers.prompts)
  const instructions = promptText ?? named
  return {
    ...(instructions !== undefined && { instructions }),
    extensions: policy ? withPolicy(extensions, replacement(policy)) : extensions,
  }
}

function withPolicy(extensions: readonly Extension[], policy: Extension): readonly Extension[] {
  const at = extensions.findIndex(({ name }) => name === policy.name)
  return at < 0 ? [policy, ...extensions] : extensions.with(at, policy)
}

function offered<T>(kind: 'policy' | 'prompt', name: string, offers: Readonly<Record<string, T>> = {}): T {
  const found = Object.hasOwn(offers, name) ? offers[name] : undefined
  if (found !== undefined) return found
  const list = kind === 'policy' ? 'policies' : 'prompts'
  throw new ProvostError(
    'override-not-offered',
    `The fork has the ${kind} ${JSON.stringify(name.slice(0, 200))}, which this process does not offer.`,
    {
      hint: `Add it to "${list}" in "overrides" of resumeSession, or in "forks" of createServer and createWorker.`,
    },
  )
}
