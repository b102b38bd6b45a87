import type { LanguageModelV4FinishReason } from '@ai-sdk/provider'

/** Tokens of one or more model calls. An unknown counter is absent, never 0. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Part of `outputTokens`. */
  readonly reasoningTokens?: number
  /** Part of `inputTokens`. */
  readonly cacheReadTokens?: number
  /** Part of `inputTokens`. */
  readonly cacheWriteTokens?: number
  /** At least one counter is an estimate: the provider reported none, or an impossible one. */
  readonly estimated?: true
}

/** The usage of one model; `discarded` is the share of failed attempts that were billed. */
export type ModelUsage = Usage & {
  /** US dollars; absent when the price is unknown. */
  readonly cost?: number
  readonly discarded?: Usage
}

/** Totals, and the same by model (`provider/model`). */
export interface UsageReport extends Usage {
  readonly byModel: Readonly<Record<string, ModelUsage>>
}

/** Why a model stopped, in the AI SDK's terms. */
export type FinishReason = LanguageModelV4FinishReason['unified']

/** The kind of a model call's failure. */
export type ErrorClass =
  | 'rate-limit'
  | 'capacity'
  | 'context-length'
  | 'network'
  | 'timeout'
  | 'auth'
  | 'invalid-request'
  | 'content-filter'
  | 'unknown'

/** What a run may spend: given at spawn, enforced while it runs. */
export interface Grant {
  readonly tokens?: number
  readonly toolCalls?: number
  /** US dollars. */
  readonly cost?: number
  readonly steps?: number
  readonly durationMs?: number
}

/** The amounts of a budget that can be spent and reserved, in each dimension. */
export interface Spending {
  readonly tokens: number
  readonly toolCalls: number
  /** US dollars. */
  readonly cost: number
  readonly steps: number
}

const counters = ['inputTokens', 'outputTokens', 'reasoningTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const

/**
 * Returns the sum of two usages. A counter is absent only where both lack it. The sum is an estimate where a part is one.
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {}
  for (const counter of counters) {
    const [left, right] = [a[counter], b[counter]]
    if (left !== undefined || right !== undefined) sum[counter] = (left ?? 0) + (right ?? 0)
  }
  if (a.estimated || b.estimated) sum.estimated = true
  return sum
}
