import type { LanguageModelV3, LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'

import type { Confidentiality } from '../values/label.ts'

export type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'

/** How much a step may cost: a hint by tools and strategies, resolved by the agent's `model`. */
export type Tier = 'fast' | 'balanced' | 'smart'

/** An AI SDK model, or `'provider/model'` naming an installed `@ai-sdk/<provider>`. */
export type NamedModel = LanguageModelV4 | LanguageModelV3 | (string & {}) | `${string}/${string}`

/**
 * A model that may not learn everything: a call whose content is more confidential than all that it accepts is refused
 * before anything is sent.
 *
 * @example
 * const model: ClearedModel = { model: 'openai/gpt-5', accepts: ['public', 'internal'] }
 */
export interface ClearedModel {
  readonly model: NamedModel
  /** What is listed, and whatever is less confidential. An empty list accepts nothing. */
  readonly accepts: readonly Confidentiality[]
}

/** One model; without a list of what it accepts it is cleared for everything. */
export type OneModel = NamedModel | ClearedModel

/** One model, or one for each tier. */
export type ModelSpec = OneModel | Partial<Record<Tier, OneModel>>

/** How a model is asked. Everything has a default of the provider's unless said otherwise. */
export interface ModelSettings {
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly providerOptions?: SharedV4ProviderOptions
  /** `off` leaves out what tells a provider to cache the beginning of the prompt. Default `auto`. */
  readonly promptCaching?: 'auto' | 'off'
  /** Attempts after the first, on failures that may pass. Default 2. */
  readonly maxRetries?: number
  /** Milliseconds without any part of the answer before an attempt fails. Default 120,000. */
  readonly stallMs?: number
  /** Milliseconds for one whole attempt. Default 600,000. */
  readonly timeoutMs?: number
}

/**
 * The provider of what stands for a model where a run needs one and there is nothing to ask, as in a fan-out that no agent
 * called for: `provost-relay/fan_out`. Who counts model calls does not count its.
 */
export const relayProvider = 'provost-relay'
