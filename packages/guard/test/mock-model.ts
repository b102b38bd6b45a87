import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

/** An answer of the model: calls with ids, or a text. */
export interface Answer {
  readonly text?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** Returns a model of the AI SDK that gives these answers. */
export function answering(answers: readonly Answer[]): MockLanguageModelV4 {
  let at = 0
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const { text, calls = [] } = answers[at++] ?? { text: 'Done.' }
      return {
        content: [
          ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
          ...calls.map(({ id, name, input }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: name,
            input: JSON.stringify(input),
          })),
        ],
        finishReason: finishReason(calls.length),
        usage,
        warnings: [],
      }
    },
    doStream: async () => {
      const { text, calls = [] } = answers[at++] ?? { text: 'Done.' }
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start' as const, warnings: [] },
            ...(text === undefined
              ? []
              : [
                  { type: 'text-start' as const, id: 't' },
                  { type: 'text-delta' as const, id: 't', delta: text },
                  { type: 'text-end' as const, id: 't' },
                ]),
            ...calls.map(({ id, name, input }) => ({
              type: 'tool-call' as const,
              toolCallId: id,
              toolName: name,
              input: JSON.stringify(input),
            })),
            { type: 'finish' as const, usage, finishReason: finishReason(calls.length) },
          ],
        }),
      }
    },
  })
}

const finishReason = (calls: number) => ({
  unified: calls > 0 ? ('tool-calls' as const) : ('stop' as const),
  raw: undefined,
})
