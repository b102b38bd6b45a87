import type { ErrorResponse, Fixture, FixtureResponse, ResponseOverrides } from '@copilotkit/aimock'
import type { FinishReason, Usage } from '@provost/core'

import type { ScriptedToolCall } from './scripted-step.ts'

/** An answer that is an HTTP error. */
export interface WireFailure {
  readonly status: number
  /** Default: the status in words. */
  readonly message?: string
  /** The provider's own name for the error, such as `rate_limit_exceeded`. */
  readonly code?: string
  /** The `retry-after` header of a 429, in whole seconds. Default 1. */
  readonly retryAfterSeconds?: number
}

/** One answer of the provider server, whatever protocol it is asked in. */
export interface WireStep {
  /** The text; for structured output, the JSON. */
  readonly text?: string
  /** Reaches models that reason, over the Responses and Anthropic protocols. */
  readonly reasoning?: string
  /** The signature of the reasoning, over the Anthropic protocol. */
  readonly signature?: string
  /** Queries of the provider's own web search, over the Responses protocol. */
  readonly webSearches?: readonly string[]
  /** Ids are made up where they are left out. */
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Input and output tokens; the server cannot report cached ones. Default: zero, or estimated by the server. */
  readonly usage?: Pick<Usage, 'inputTokens' | 'outputTokens'>
  readonly finishReason?: Extract<FinishReason, 'stop' | 'length' | 'content-filter' | 'tool-calls'>
  /** Instead of an answer. */
  readonly failure?: WireFailure
  /** Characters in a piece of text or tool input. Default 20. */
  readonly chunkSize?: number
  /** Milliseconds before each server-sent event. Default 0. */
  readonly delayMs?: number
  /** The connection breaks after so many server-sent events, those that carry no text included. */
  readonly cutAfterEvents?: number
}

function overridesOf({ usage, finishReason }: WireStep): ResponseOverrides {
  return {
    ...(usage && {
      usage: { prompt_tokens: usage.inputTokens ?? 0, completion_tokens: usage.outputTokens ?? 0 },
    }),
    ...(finishReason && { finishReason: finishReason.replace('-', '_') }),
  }
}

function failureOf({ status, message, code, retryAfterSeconds }: WireFailure): ErrorResponse {
  return {
    status,
    error: { message: message ?? `HTTP ${status}`, ...(code !== undefined && { type: code, code }) },
    ...(retryAfterSeconds !== undefined && { retryAfter: retryAfterSeconds }),
  }
}

function answerOf(step: WireStep): FixtureResponse {
  const reasoning = {
    ...(step.reasoning !== undefined && { reasoning: step.reasoning }),
    ...(step.signature !== undefined && { reasoningSignature: step.signature }),
    ...(step.webSearches && { webSearches: [...step.webSearches] }),
  }
  const shared = { ...reasoning, ...overridesOf(step) }
  const toolCalls = step.toolCalls?.map(({ name, input = {}, id }) => ({
    name,
    arguments: typeof input === 'string' ? input : JSON.stringify(input),
    ...(id !== undefined && { id }),
  }))
  if (toolCalls === undefined) return { content: step.text ?? '', ...shared }
  return step.text === undefined ? { toolCalls, ...shared } : { content: step.text, toolCalls, ...shared }
}

export function fixtureOf(step: WireStep): Omit<Fixture, 'match'> {
  return {
    response: step.failure ? failureOf(step.failure) : answerOf(step),
    ...(step.chunkSize !== undefined && { chunkSize: step.chunkSize }),
    ...(step.delayMs !== undefined && { latency: step.delayMs }),
    ...(step.cutAfterEvents !== undefined && { truncateAfterChunks: step.cutAfterEvents }),
  }
}
