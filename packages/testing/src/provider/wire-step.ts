import { checkOptions } from '@provost/core'
import type { FinishReason, KnownKeys, Usage } from '@provost/core'

import type { ScriptedToolCall } from '../model/scripted-step.ts'

/** A response that is an HTTP error. */
export interface WireFailure {
  readonly status: number
  /** Default: the status in words. */
  readonly message?: string
  /** The provider's own name for the error, such as `rate_limit_exceeded`. */
  readonly code?: string
  /** The `retry-after` header of a 429, in whole seconds. Default 1. */
  readonly retryAfterSeconds?: number
}

/** One response of the provider server, for any protocol. */
export interface WireStep {
  /** The text; for structured output, the JSON. */
  readonly text?: string
  /** Sent to reasoning models over the Responses and Anthropic protocols. */
  readonly reasoning?: string
  /** The signature of the reasoning, over the Anthropic protocol. */
  readonly signature?: string
  /** Queries of the provider's own web search, over the Responses protocol. */
  readonly webSearches?: readonly string[]
  /** Default ids are generated. */
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Input and output tokens; the server cannot report cached ones. Default: zero, or estimated by the server. */
  readonly usage?: Pick<Usage, 'inputTokens' | 'outputTokens'>
  readonly finishReason?: Extract<FinishReason, 'stop' | 'length' | 'content-filter' | 'tool-calls'>
  /** Sent instead of a response. */
  readonly failure?: WireFailure
  /** Characters in a piece of text or tool input. Default 20. */
  readonly chunkSize?: number
  /** Milliseconds before each server-sent event. Default 0. */
  readonly delayMs?: number
  /** Number of server-sent events after which the connection breaks, including events without text. */
  readonly cutAfterEvents?: number
}

const stepKeys = {
  text: true,
  reasoning: true,
  signature: true,
  webSearches: true,
  toolCalls: true,
  usage: true,
  finishReason: true,
  failure: true,
  chunkSize: true,
  delayMs: true,
  cutAfterEvents: true,
} satisfies KnownKeys<WireStep>

const failureKeys = {
  status: true,
  message: true,
  code: true,
  retryAfterSeconds: true,
} satisfies KnownKeys<WireFailure>

/** @throws ProvostError `unknown-option` for an unknown key in a step. */
export function checkWireSteps(steps: readonly WireStep[]): void {
  for (const step of steps) {
    checkOptions(step, stepKeys, 'a step of startAimock')
    checkOptions(step.failure, failureKeys, '"failure" of a step of startAimock')
  }
}
