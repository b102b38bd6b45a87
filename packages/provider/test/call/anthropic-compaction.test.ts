import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Message, Part } from '@provost/core'
import type { Writer } from '@provost/provider'
import { createPrompt, messageTokens } from '@provost/provider'
import { expect, it } from 'vitest'

import { finish, hear, modelOf } from './stream-model.ts'

const mark = { anthropic: { type: 'compaction', signature: 'sig' } }
function summary(...deltas: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: 'text-start', id: '0', providerMetadata: mark },
    ...deltas.map((delta) => ({ type: 'text-delta' as const, id: '0', delta })),
  ]
}
const end: LanguageModelV4StreamPart = { type: 'text-end', id: '0' }
const text: readonly LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hi.' },
  { type: 'text-end', id: '1' },
]
const part: Part = {
  type: 'custom',
  kind: 'anthropic.compaction',
  providerOptions: { anthropic: { type: 'compaction', signature: 'sig', content: 'They spoke.' } },
}

it('a compaction summary of Anthropic is stored as its own part, not as text of the response', async () => {
  const { answer, pieces } = await hear(modelOf([...summary('They ', 'spoke.'), end, ...text, finish()]))
  expect(pieces.map((piece) => ('delta' in piece ? piece.delta : piece.type))).toEqual([
    'text-start',
    'Hi.',
    'text-end',
  ])
  expect(answer).toMatchObject({ ok: true, parts: [part, { type: 'text', text: 'Hi.' }] })
})

it('an empty or incomplete summary is ignored', async () => {
  const empty = await hear(modelOf([...summary(), end, ...text, finish()]))
  expect(empty.answer.parts).toEqual([{ type: 'text', text: 'Hi.' }])
  const cut = await hear(modelOf([...summary('They '), ...text], { throws: new Error('gone') }))
  expect(cut.answer).toMatchObject({ ok: false, parts: [{ type: 'text', text: 'Hi.' }] })
})

it('a summary over the limit ends the call', async () => {
  const { answer } = await hear(
    modelOf([...summary(...Array.from({ length: 5 }, () => 'x'.repeat(1_000_000))), finish()]),
  )
  expect(answer).toMatchObject({ ok: false, error: { code: 'answer-too-large' } })
})

it('a summary is sent back unchanged, other providers get it as text, and its tokens count', () => {
  const message: Message = { id: 'm', role: 'assistant', createdAt: 0, content: [part, { type: 'text', text: 'Hi.' }] }
  const sent = (writer: Writer): unknown => {
    const prompt = createPrompt({ writer: () => writer })
    prompt.append(message)
    return prompt.build()[0]?.content
  }
  expect(sent('self')).toEqual([
    { type: 'text', text: 'They spoke.', providerOptions: mark },
    { type: 'text', text: 'Hi.' },
  ])
  expect(sent('stranger')).toMatchObject([{ text: expect.stringContaining('They spoke.') }, { text: 'Hi.' }])
  const long: Part = { ...part, providerOptions: { anthropic: { content: 'word '.repeat(100) } } }
  expect(messageTokens({ ...message, content: [long] })).toBeGreaterThan(90)
})
