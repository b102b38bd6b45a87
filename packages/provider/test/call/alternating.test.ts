import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { callModel } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import { describe, expect, it } from 'vitest'

const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: 'rules' },
  { role: 'user', content: [{ type: 'text', text: 'a' }] },
  { role: 'user', content: [{ type: 'text', text: 'b' }], providerOptions: { x: { y: 1 } } },
  { role: 'assistant', content: [{ type: 'text', text: 'one' }] },
  { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'three' },
    ],
  },
  { role: 'user', content: [{ type: 'file', data: { type: 'data', data: 'AA==' }, mediaType: 'image/png' }] },
  { role: 'user', content: [{ type: 'text', text: 'c' }] },
]

async function sentTo(provider: string): Promise<LanguageModelV4Prompt | undefined> {
  let sent: LanguageModelV4Prompt | undefined
  const model = scriptedModel([{ text: 'ok' }])
  const { doStream } = model
  const named = {
    ...model,
    provider,
    doStream: (options: Parameters<typeof doStream>[0]) => {
      sent = options.prompt
      return doStream.call(model, options)
    },
  }
  await callModel({ model: named, prompt, callId: String }, () => {})
  return sent
}

describe('messages of one role in a row', () => {
  it.each(['perplexity', 'perplexity.chat'])('are one message for %s, with nothing lost', async (provider) => {
    const before = structuredClone(prompt)
    expect(await sentTo(provider)).toEqual([
      { role: 'system', content: 'rules' },
      { role: 'user', content: [{ type: 'text', text: 'a\n\nb' }], providerOptions: { x: { y: 1 } } },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'one\n\ntwo' },
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'three' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'file', data: { type: 'data', data: 'AA==' }, mediaType: 'image/png' },
          { type: 'text', text: 'c' },
        ],
      },
    ])
    expect(prompt).toEqual(before)
  })

  it('are sent unchanged to any other provider', async () => {
    expect(await sentTo('openai.responses')).toEqual(prompt)
  })
})
