import type { LanguageModelV3, LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'

import type { Confidentiality } from '../values/label.ts'

export type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'

/** How much a step may cost: requested by tools and strategies, resolved by the agent's `model`. */
export type Tier = 'fast' | 'balanced' | 'smart'

/** An AI SDK model, or `'provider/model'` naming an installed `@ai-sdk/<provider>`. */
export type NamedModel = LanguageModelV4 | LanguageModelV3 | (string & {}) | `${string}/${string}`

/**
 * A model with a limit on confidentiality. A call with content more confidential than the model accepts is refused before
 * the request is sent.
 *
 * @example
 * const model: ClearedModel = { model: 'openai/gpt-5', accepts: ['public', 'internal'] }
 */
export interface ClearedModel {
  readonly model: NamedModel
  /** The listed levels, and all less confidential ones. An empty list accepts nothing. */
  readonly accepts: readonly Confidentiality[]
}

/** One model. Without a list of what it accepts it is cleared for everything. */
export type OneModel = NamedModel | ClearedModel

/** One model, or one for each tier. */
export type ModelSpec = OneModel | Partial<Record<Tier, OneModel>>

/** Parameters of model calls. Unless stated otherwise, the defaults are the provider's. */
export interface ModelSettings {
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly providerOptions?: SharedV4ProviderOptions
  /** `off` omits the markers that tell a provider to cache the beginning of the prompt. Default `auto`. */
  readonly promptCaching?: 'auto' | 'off'
  /** Attempts after the first, on transient failures. Default 2. */
  readonly maxRetries?: number
  /** Milliseconds without any part of the response before an attempt fails. Default 120,000. */
  readonly stallMs?: number
  /** Milliseconds for one whole attempt. Default 600,000. */
  readonly timeoutMs?: number
}

/**
 * The provider of the stub model of a run that calls no model, such as a fan-out outside of any agent:
 * `provost-relay/fan_out`. Counters of model calls skip it.
 */
export const relayProvider = 'provost-relay'
