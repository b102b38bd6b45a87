import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { ModelAnswer, ModelCall, StreamChunk } from '@provost/provider'
import { callModel } from '@provost/provider'

export const ask: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]

export const usage: LanguageModelV4Usage = {
  inputTokens: { total: 12, noCache: 2, cacheRead: 7, cacheWrite: 3 },
  outputTokens: { total: 5, text: 1, reasoning: 4 },
}

export function finish(unified: LanguageModelV4FinishReason['unified'] = 'stop'): LanguageModelV4StreamPart {
  return { type: 'finish', usage, finishReason: { unified, raw: unified } }
}

/** Returns a stream of parts. `throws` fails it at the end, `hang` leaves it open. */
export function streamOf<Part = LanguageModelV4StreamPart>(
  parts: readonly Part[],
  end: 'close' | 'hang' | { readonly throws: unknown } = 'close',
): ReadableStream<Part> {
  let next = 0
  return new ReadableStream({
    pull(controller) {
      const part = parts[next]
      next += 1
      if (part) controller.enqueue(part)
      else if (end === 'close') controller.close()
      else if (end === 'hang') return new Promise<void>(() => {})
      else controller.error(end.throws)
      return undefined
    },
  })
}

/** Returns a model that responds to each call with the stream of `doStream`. */
export function streamModel(
  doStream: (options: LanguageModelV4CallOptions) => PromiseLike<ReadableStream<LanguageModelV4StreamPart>>,
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'test.chat',
    modelId: 'tiny',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('streams only')),
    doStream: async (options) => ({ stream: await doStream(options) }),
  }
}

export function modelOf(
  parts: readonly LanguageModelV4StreamPart[],
  end?: 'close' | 'hang' | { readonly throws: unknown },
): LanguageModelV4 {
  return streamModel(() => Promise.resolve(streamOf(parts, end)))
}

/** Calls a model and keeps the pieces of its response. */
export async function hear(
  model: ModelCall['model'],
  more: Partial<ModelCall> = {},
): Promise<{ answer: ModelAnswer; pieces: StreamChunk[] }> {
  const pieces: StreamChunk[] = []
  const answer = await callModel({ model, prompt: ask, callId: (index) => `c${index}`, ...more }, (piece) => {
    pieces.push(piece)
  })
  return { answer, pieces }
}
