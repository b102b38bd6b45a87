import type { Json, UsageReport } from '@provost/core'

/** An item of a response. */
export type ResponseItem = { readonly id: string; readonly type: string } & { readonly [key: string]: Json }

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'incomplete'

/** What a response repeats of its request. */
export interface ResponseRequest {
  readonly id: string
  readonly sessionId: string
  /** Name of the agent. */
  readonly model: string
  readonly previous: string | null
  readonly instructions: string | null
  readonly background: boolean
  readonly metadata: { readonly [key: string]: string }
  readonly tools: readonly Json[]
}

/** The course of a response. */
export interface ResponseCourse {
  readonly status: ResponseStatus
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly completedAt: number | null
  readonly output: readonly ResponseItem[]
  readonly error: { readonly code: string; readonly message: string } | null
  readonly reason: string | null
  readonly usage: Json
}

/** Returns a response as Open Responses describes it. Fields that an agent decides have their default values. */
export function responseResource(
  { id, sessionId, model, previous, instructions, background, metadata, tools }: ResponseRequest,
  { status, createdAt, completedAt, output, error, reason, usage }: ResponseCourse,
): { readonly [key: string]: Json } {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: completedAt,
    status,
    incomplete_details: reason === null ? null : { reason },
    model,
    previous_response_id: previous,
    instructions,
    output: [...output],
    error: error && { ...error },
    tools: [...tools],
    tool_choice: 'auto',
    truncation: 'disabled',
    parallel_tool_calls: true,
    text: { format: { type: 'text' } },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    reasoning: null,
    usage,
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background,
    service_tier: 'default',
    metadata,
    safety_identifier: null,
    prompt_cache_key: null,
    conversation: { id: sessionId },
  }
}

export function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  reasoningTokens = 0,
}: UsageReport): Json {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
