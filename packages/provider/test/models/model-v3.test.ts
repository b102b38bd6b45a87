import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { Message, Part } from '@provost/core'
import { createPrompt } from '@provost/provider'
import { describe, expect, it } from 'vitest'

import { hear, streamOf } from '../call/stream-model.ts'

function v3(parts: readonly LanguageModelV3StreamPart[], asked: LanguageModelV3CallOptions[] = []): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'older',
    modelId: 'one',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('streams only')),
    doStream: (options) => {
      asked.push(options)
      return Promise.resolve({ stream: streamOf(parts) })
    },
  }
}
const end: LanguageModelV3StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 2, text: 2, reasoning: undefined },
  },
}
const message = (role: Message['role'], ...content: Part[]): Message => ({ id: role, role, createdAt: 0, content })

describe('a model of specification v3', () => {
  it('responds like a newer one, files included', async () => {
    const { answer } = await hear(
      v3([
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'Hi' },
        { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
        { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: '{}' },
        end,
      ]),
    )
    expect(answer).toMatchObject({
      ok: true,
      usage: { inputTokens: 3, outputTokens: 2 },
      parts: [
        { type: 'text', text: 'Hi' },
        { type: 'file', data: { type: 'data', data: 'AQID' } },
        { type: 'tool-call', input: {} },
      ],
    })
  })

  it('receives the prompt in its own format', async () => {
    const asked: LanguageModelV3CallOptions[] = []
    const prompt = createPrompt()
    prompt.append(message('system', { type: 'text', text: 'Be brief.' }))
    prompt.append(
      message(
        'user',
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'Hi' } },
      ),
    )
    prompt.append(
      message(
        'assistant',
        { type: 'reasoning', text: 'Hmm' },
        { type: 'custom', kind: 'new.thing' },
        { type: 'tool-call', callId: 'c', toolCallId: 'x', toolName: 'look', input: {} },
      ),
    )
    prompt.append(
      message('tool', {
        type: 'tool-result',
        callId: 'c',
        toolCallId: 'x',
        toolName: 'look',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'See' },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
            { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://a.test/b.png' } },
          ],
        },
      }),
    )
    await hear(v3([end], asked), { prompt: prompt.build() })
    await hear(v3([end], asked), { prompt: prompt.build() })
    expect(asked[0]?.prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: 'AQID' },
          { type: 'file', mediaType: 'text/plain', data: 'SGk=' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hmm' },
          { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'x',
            toolName: 'look',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'See' },
                { type: 'file-data', mediaType: 'image/png', data: 'AQID' },
                { type: 'file-url', url: 'https://a.test/b.png' },
              ],
            },
          },
        ],
      },
    ])
    expect(asked[1]?.prompt.every((one, i) => one === asked[0]?.prompt[i])).toBe(true)
  })

  it('fails with a clear error for content that its format lacks', async () => {
    const prompt = createPrompt()
    prompt.append(
      message('user', { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { a: 'b' } } }),
    )
    const { answer } = await hear(v3([end]), { prompt: prompt.build() })
    expect(answer).toMatchObject({ ok: false, fault: { class: 'invalid-request', retryable: false } })
  })
})
