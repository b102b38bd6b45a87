import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import { ProvostError, relayProvider } from '@provost/core'

/** Returns a model for a run without one. It calls the given tool once, and ends with its result. */
export function stubModel(toolName: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: relayProvider,
    modelId: toolName,
    supportedUrls: {},
    doGenerate: () =>
      Promise.reject(new ProvostError('not-a-model', 'The stub model cannot generate.', { hint: 'Call doStream.' })),
    doStream: ({ prompt }): Promise<LanguageModelV4StreamResult> =>
      Promise.resolve({ stream: streamOf(prompt.at(-1)?.role === 'tool' ? textParts() : toolCallParts(toolName)) }),
  }
}

function streamOf(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 0, text: 0, reasoning: undefined },
}

function toolCallParts(toolName: string): readonly LanguageModelV4StreamPart[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'tool-call', toolCallId: 'only', toolName, input: '{}' },
    { type: 'finish', usage, finishReason: { unified: 'tool-calls', raw: undefined } },
  ]
}

function textParts(): readonly LanguageModelV4StreamPart[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Done.' },
    { type: 'text-end', id: '0' },
    { type: 'finish', usage, finishReason: { unified: 'stop', raw: undefined } },
  ]
}
