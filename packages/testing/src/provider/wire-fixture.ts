import type { ErrorResponse, Fixture, FixtureResponse, ResponseOverrides } from '@copilotkit/aimock'

import type { WireFailure, WireStep } from './wire-step.ts'

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

/** Converts a step to aimock's form. */
export function fixtureOf(step: WireStep): Omit<Fixture, 'match'> {
  return {
    response: step.failure ? failureOf(step.failure) : answerOf(step),
    ...(step.chunkSize !== undefined && { chunkSize: step.chunkSize }),
    ...(step.delayMs !== undefined && { latency: step.delayMs }),
    ...(step.cutAfterEvents !== undefined && { truncateAfterChunks: step.cutAfterEvents }),
  }
}
