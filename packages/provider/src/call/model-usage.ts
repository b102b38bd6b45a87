import type { LanguageModelV3Usage, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Usage } from '@provost/core'
import { isRecord } from '@provost/core'

import type { StreamPart } from './stream-part.ts'

/** Usage in our words; what the provider did not count, or cannot have counted, stays absent; what it only itemised is added up. */
export function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage | LanguageModelV3Usage): Usage {
  return usageOf(
    inputTokens.total ?? sum(inputTokens.noCache, inputTokens.cacheRead, inputTokens.cacheWrite),
    outputTokens.total ?? sum(outputTokens.text, outputTokens.reasoning),
    outputTokens.reasoning,
    inputTokens.cacheRead,
    inputTokens.cacheWrite,
  )
}

type CustomPart = Extract<StreamPart, { type: 'custom' }>

/** Returns whether a part is the usage that Anthropic reports at the start, which is no content. */
export function isEarlyUsage({ kind }: CustomPart): boolean {
  return kind === 'anthropic.message_start'
}

/** Returns the usage at the start, which is final if the response breaks off. */
export function earlyUsage(part: CustomPart): Usage {
  const usage = part.providerMetadata?.['anthropic']?.['usage']
  if (!isRecord(usage)) return {}
  const read = usage['cache_read_input_tokens']
  const write = usage['cache_creation_input_tokens']
  return usageOf(sum(usage['input_tokens'], read, write), usage['output_tokens'], undefined, read, write)
}

/** The data for the missing counters of a usage. */
export interface UsageEstimate {
  /** The response is complete. The output count of an incomplete one is only that of its start. */
  readonly isComplete: boolean
  inputTokens(): number
  outputTokens(): number
}

/**
 * Returns a usage with input and output counts: those of the provider, else estimates. A request is never empty and
 * text is never free, so 0 of either counts as missing.
 */
export function completeUsage(reported: Usage, { isComplete, inputTokens, outputTokens }: UsageEstimate): Usage {
  const { inputTokens: input = 0, outputTokens: output = 0 } = reported
  const written = isComplete && output > 0 ? output : Math.max(output, outputTokens())
  if (input > 0 && written === output) return reported
  return { ...reported, inputTokens: input > 0 ? input : inputTokens(), outputTokens: written, estimated: true }
}

function usageOf(input: unknown, output: unknown, reasoning: unknown, read: unknown, write: unknown): Usage {
  const usage: { -readonly [K in keyof Usage]: Usage[K] } = {}
  if (isCount(input)) usage.inputTokens = input
  if (isCount(output)) usage.outputTokens = output
  if (isCount(reasoning)) usage.reasoningTokens = reasoning
  if (isCount(read)) usage.cacheReadTokens = read
  if (isCount(write)) usage.cacheWriteTokens = write
  return usage
}

function sum(...counts: readonly unknown[]): number | undefined {
  let total: number | undefined
  for (const count of counts) if (isCount(count)) total = (total ?? 0) + count
  return total
}

/** More tokens than any model processes in one call. A higher count is an error. */
const mostTokens = 1_000_000_000

function isCount(count: unknown): count is number {
  return typeof count === 'number' && count >= 0 && count <= mostTokens
}
