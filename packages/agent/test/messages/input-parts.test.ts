import type { Input } from '@provost/core'
import { describe, expect, it } from 'vitest'

import { world } from '../session/session-world.ts'

const png = 'iVBORw0KGgo='
const bytes = Uint8Array.from(Buffer.from(png, 'base64'))
const text = { type: 'text', text: 'What is this?' } as const
const inline = { type: 'data', data: png }
const linked = { type: 'url', url: 'https://example.com/a.png' }

describe('parts in the form of the AI SDK', () => {
  it.each<[string, Input, object]>([
    ['an image as bytes', [text, { type: 'image', image: bytes }], { data: inline }],
    ['an image as a Buffer', [text, { type: 'image', image: Buffer.from(bytes) }], { data: inline }],
    [
      'an image as base64',
      [text, { type: 'image', image: png, mediaType: 'image/png' }],
      { data: inline, mediaType: 'image/png' },
    ],
    ['an image as a URL', [text, { type: 'image', image: new URL(linked.url) }], { data: linked }],
    ['an image as the text of a URL', [text, { type: 'image', image: linked.url }], { data: linked }],
    [
      'a file as base64',
      [text, { type: 'file', data: png, mediaType: 'image/png' }],
      { data: inline, mediaType: 'image/png' },
    ],
    ['a file as bytes', [text, { type: 'file', data: bytes, mediaType: 'image/png' }], { data: inline }],
    [
      'parts of both forms',
      [
        { type: 'file', data: { type: 'data', data: png }, mediaType: 'image/png' },
        { type: 'image', image: bytes },
      ],
      { data: inline },
    ],
  ])('may be the input of a run or a session: %s', async (_, input, expected) => {
    const { agent, asked } = world([{ text: 'one' }, { text: 'two' }])
    const { status, messages } = await agent.run(input)
    expect(status).toBe('completed')
    expect(messages[0]).toMatchObject({ role: 'user', label: { integrity: 'trusted' } })
    expect(messages[0]?.content[1]).toMatchObject({ type: 'file', ...expected })
    expect(asked[0]?.messages.at(-1)).toMatchObject({ role: 'user', content: [{}, { type: 'file' }] })
    const session = await agent.createSession()
    session.send(input)
    await session.waitForIdle()
    expect(session.messages[0]?.content[1]).toMatchObject({ type: 'file', ...expected })
  })

  it.each<[string, unknown]>([
    ['an image without its image', [{ type: 'image' }]],
    ['a file without a media type', [{ type: 'file', data: png }]],
    ['a part of an unknown type', [text, { type: 'video', video: png }]],
    ['a text without its text', [{ type: 'text' }]],
    ['a number', [text, 1]],
  ])('are refused with the accepted forms: %s', async (_, input) => {
    const { agent } = world([])
    const { status, error } = await agent.run(input as Input)
    expect(status).toBe('failed')
    expect(error).toMatchObject({ code: 'invalid-input', hint: expect.stringContaining("{ type: 'image', image }") })
  })
})
