import { checkOptions } from '@provost/core'
import type { FinishReason, KnownKeys, Usage } from '@provost/core'

import type { ScriptedToolCall } from '../model/scripted-step.ts'

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

/** @throws ProvostError `unknown-option` for a step that says something else than it seems. */
export function checkWireSteps(steps: readonly WireStep[]): void {
  for (const step of steps) {
    checkOptions(step, stepKeys, 'a step of startAimock')
    checkOptions(step.failure, failureKeys, '"failure" of a step of startAimock')
  }
}
