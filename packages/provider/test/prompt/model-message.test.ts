import type { Message, ModelMessage, Part } from '@provost/core'
import { fromModelMessages, toModelMessages } from '@provost/provider'
import { convertToModelMessages, modelMessageSchema } from 'ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { partsOf, wellNamed } from './arbitrary.ts'

const named = (content: readonly Part[]): Message => ({ id: 'm', role: 'assistant', content, createdAt: 0 })

describe('messages of the AI SDK', () => {
  it('become parts: text, bytes in every form, images, URLs', () => {
    const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1)
    const messages: ModelMessage[] = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'image', image: bytes },
          { type: 'image', image: new URL('https://a.test/b.png'), mediaType: 'image/png' },
          { type: 'file', data: 'AQID', mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: 'https://a.test/c.pdf', mediaType: 'application/pdf' },
          { type: 'file', data: { type: 'data', data: bytes.slice().buffer }, mediaType: 'application/pdf' },
          { type: 'file', data: { type: 'text', text: 'Hi' }, mediaType: 'text/plain' },
          { type: 'file', data: { openai: 'file-1' }, mediaType: 'application/pdf' },
        ],
      },
    ]
    expect(fromModelMessages(messages)).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'file', data: { type: 'data', data: 'AQID' }, mediaType: 'image' },
          { type: 'file', data: { type: 'url', url: 'https://a.test/b.png' }, mediaType: 'image/png' },
          { type: 'file', data: { type: 'data', data: 'AQID' }, mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: { type: 'url', url: 'https://a.test/c.pdf' }, mediaType: 'application/pdf' },
          { type: 'file', data: { type: 'data', data: 'AQID' }, mediaType: 'application/pdf' },
          { type: 'file', data: { type: 'text', text: 'Hi' }, mediaType: 'text/plain' },
          { type: 'file', data: { type: 'reference', reference: { openai: 'file-1' } }, mediaType: 'application/pdf' },
        ],
      },
    ])
  })

  it('keep the options of a whole message on its last part', () => {
    const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const [imported] = fromModelMessages([
      {
        role: 'user',
        providerOptions: cached,
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    expect(imported?.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', providerOptions: cached },
    ])
  })

  it('get a call id of their own if the provider repeats its ids', () => {
    const call = { type: 'tool-call', toolCallId: 'call_0', toolName: 'look', input: {} } as const
    const result = {
      type: 'tool-result',
      toolCallId: 'call_0',
      toolName: 'look',
      output: { type: 'text', value: '' },
    } as const
    const imported = fromModelMessages([
      { role: 'assistant', content: [call, call] },
      { role: 'tool', content: [result, result] },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [result] },
    ])
    expect(imported.map(({ content }) => content.map((part) => 'callId' in part && part.callId))).toEqual([
      ['call_0', 'call_0~2'],
      ['call_0', 'call_0~2'],
      ['call_0~3'],
      ['call_0~3'],
    ])
  })

  it('lose approvals, which the log holds', () => {
    const imported = fromModelMessages([
      { role: 'assistant', content: [{ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'x' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a', approved: true }] },
    ])
    expect(imported.map(({ content }) => content)).toEqual([[], []])
  })

  it('update older forms of rich tool output, and keep provider-specific parts', () => {
    const [imported] = fromModelMessages([
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
                { type: 'image-data', data: 'AQID', mediaType: 'image/png' },
                { type: 'file-url', url: 'https://a.test/b.pdf', mediaType: 'application/pdf' },
                { type: 'file-id', fileId: { openai: 'file-1' } },
                { type: 'custom', providerOptions: { anthropic: { type: 'tool-reference' } } },
              ],
            },
          },
        ],
      },
    ])
    expect(imported?.content).toMatchObject([
      {
        output: {
          value: [
            { type: 'file', data: { type: 'data', data: 'AQID' }, mediaType: 'image/png' },
            { type: 'file', data: { type: 'url', url: 'https://a.test/b.pdf' } },
            { type: 'file', data: { type: 'reference', reference: { openai: 'file-1' } } },
            { type: 'text', text: '', providerOptions: { anthropic: { type: 'tool-reference' } } },
          ],
        },
      },
    ])
    const [back] = toModelMessages([{ ...named(imported?.content ?? []), role: 'tool' }])
    expect(back).toMatchObject({ content: [{ output: { value: [{}, {}, {}, { type: 'custom' }] } }] })
  })

  it('survive a round trip unchanged', () => {
    const roles = ['system', 'user', 'assistant', 'tool'] as const
    const history = fc.array(
      fc.constantFrom(...roles).chain((role) => partsOf[role].map((content) => ({ role, content }))),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(history, (messages) => {
        const there = toModelMessages(wellNamed(messages).map(({ role, content }) => ({ ...named(content), role })))
        for (const one of there) expect(modelMessageSchema.safeParse(one).error).toBeUndefined()
        const back = fromModelMessages(there)
        const again = toModelMessages(back.map(({ role, content }) => ({ ...named(content), role })))
        expect(again).toEqual(there)
      }),
    )
  })

  it('can come from UI messages', async () => {
    const converted = await convertToModelMessages([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Hi' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' },
        ],
      },
    ])
    expect(fromModelMessages(converted)).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'file', mediaType: 'image/png' },
        ],
      },
    ])
  })
})

describe('Provost messages for the AI SDK', () => {
  it('omit roles that no model knows, and fields for policies and users', () => {
    const label = { integrity: 'untrusted', confidentiality: 'internal', sources: ['look'] } as const
    const result: Part = {
      type: 'tool-result',
      callId: 'c',
      toolCallId: 'x',
      toolName: 'look',
      output: { type: 'json', value: { a: 1 } },
      fields: { '/a': label },
      details: { for: 'people' },
      label,
    }
    expect(
      toModelMessages([
        { ...named([{ type: 'text', text: 'half' }]), role: 'aborted' },
        { ...named([result]), role: 'tool' },
      ]),
    ).toEqual([
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'x', toolName: 'look', output: { type: 'json', value: { a: 1 } } },
        ],
      },
    ])
  })

  it('keep tool input as the model wrote it, JSON or not', () => {
    const call: Part = { type: 'tool-call', callId: 'c', toolCallId: 'x', toolName: 'look', input: '{"broken' }
    expect(toModelMessages([named([call])])).toMatchObject([{ content: [{ input: '{"broken' }] }])
  })
})
