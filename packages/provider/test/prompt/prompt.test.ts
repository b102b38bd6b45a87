import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { FilePart, Json, Message, Part, Role, ToolCallPart, ToolResultPart } from '@provost/core'
import { createPrompt, toModelMessages } from '@provost/provider'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'

import { message as anyMessage, wellNamed } from './arbitrary.ts'

let made = 0
function message(role: Role, ...content: (Part | string)[]): Message {
  made += 1
  return {
    id: `m${made}`,
    role,
    createdAt: 0,
    content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  }
}
function call(callId: string, toolCallId: string, input: Json = {}): ToolCallPart {
  return { type: 'tool-call', callId, toolCallId, toolName: 'look', input }
}
function result(callId: string, toolCallId: string, value = 'ok'): ToolResultPart {
  return { type: 'tool-result', callId, toolCallId, toolName: 'look', output: { type: 'text', value } }
}
function promptOf(...messages: Message[]): LanguageModelV4Prompt {
  const prompt = createPrompt()
  for (const one of messages) prompt.append(one)
  return prompt.build()
}
/** The wire ids of calls and results, in order. */
function idsIn(prompt: LanguageModelV4Prompt): string[] {
  return prompt.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])),
  )
}

describe('a prompt', () => {
  it('holds what each role may say to a model', () => {
    const signed = { anthropic: { signature: 'sig' } }
    const prompt = promptOf(
      message('system', 'Be brief.'),
      message('user', 'Hi', { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } }),
      message(
        'assistant',
        { type: 'reasoning', text: 'Hmm.', providerOptions: signed },
        'Let me look.',
        call('c', 'x', { a: 1 }),
      ),
      message('tool', { ...result('c', 'x'), details: { secret: 1 }, fields: {} }),
    )
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hmm.', providerOptions: signed },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: { a: 1 } },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'x', toolName: 'look', output: { type: 'text', value: 'ok' } }],
      },
    ])
  })

  it('gives the options of a system text to its message', () => {
    const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    expect(promptOf(message('system', { type: 'text', text: 'Be brief.', providerOptions: cached }))).toEqual([
      { role: 'system', content: 'Be brief.', providerOptions: cached },
    ])
  })

  it('leaves out roles no model knows, and messages with nothing to say', () => {
    const prompt = promptOf(
      message('error', 'boom'),
      message('aborted', 'half'),
      message('custom:note', 'note'),
      message('user', ''),
      message('assistant'),
      message('user', 'Hi'),
    )
    expect(prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }])
  })

  it('hands out the same objects again, however it grows', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyMessage, fc.boolean()), { maxLength: 12 }), anyMessage, (steps, tail) => {
        const prompt = createPrompt()
        let before: LanguageModelV4Prompt = []
        let written = '[]'
        for (const [one, withTail] of steps) {
          prompt.append(one)
          const now = prompt.build(withTail ? [tail] : undefined)
          const prefix = now.slice(0, before.length)
          expect(prefix.every((entry, i) => entry === before[i])).toBe(true)
          expect(JSON.stringify(prefix)).toBe(written)
          before = prompt.build()
          written = JSON.stringify(before)
        }
      }),
    )
  })

  it('is the same for the same history, appended or reset', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        const appended = createPrompt()
        for (const one of messages) appended.append(one)
        const reset = createPrompt()
        reset.append(message('user', 'gone'))
        reset.reset(messages)
        expect(reset.build()).toEqual(appended.build())
      }),
    )
  })

  it('ends with the tail of a call, which the next one does not see', () => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    expect(prompt.build([message('user', 'By the way')])).toHaveLength(2)
    expect(prompt.build()).toHaveLength(1)
  })

  it('gives ids in the tail that the history does not know', () => {
    const prompt = createPrompt()
    const ids = idsIn(prompt.build([message('assistant', call('tail', 'x'))]))
    prompt.append(message('assistant', call('history', 'x')))
    expect([...ids, ...idsIn(prompt.build())]).toEqual(['x', 'x'])
  })

  it('starts over with everything, also with what may still be joined', () => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    prompt.append(message('assistant', call('a', '1')))
    prompt.build()
    prompt.reset([])
    prompt.append(message('tool', result('a', '1')))
    prompt.append(message('tool', result('b', '2')))
    expect(prompt.build()).toHaveLength(1)
  })

  it('is not changed by what is done to an array it handed out', () => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    prompt.build().length = 0
    expect(prompt.build()).toHaveLength(1)
  })

  it('puts the results of one step into one message', () => {
    const prompt = promptOf(
      message('assistant', call('a', '1'), call('b', '2')),
      message('tool', result('a', '1')),
      message('tool', result('b', '2')),
    )
    expect(prompt.map(({ role, content }) => [role, content.length])).toEqual([
      ['assistant', 2],
      ['tool', 2],
    ])
  })

  it('never joins a result to a message that was already sent', () => {
    const prompt = createPrompt()
    prompt.append(message('assistant', call('a', '1'), call('b', '2')))
    prompt.append(message('tool', result('a', '1')))
    const sent = prompt.build()
    prompt.append(message('tool', result('b', '2')))
    expect(prompt.build().slice(0, 2)).toEqual(sent)
    expect(prompt.build()).toHaveLength(3)
  })

  it('does not join results of the history with those of the tail', () => {
    const prompt = createPrompt()
    prompt.append(message('tool', result('a', '1')))
    expect(prompt.build([message('tool', result('b', '2'))])).toHaveLength(2)
    expect(prompt.build()).toEqual([{ role: 'tool', content: [expect.objectContaining({ toolCallId: '1' })] }])
  })

  it('sends an object where a model wrote arguments that are none', () => {
    const prompt = promptOf(message('assistant', call('a', '1', '{"broken'), call('b', '2', ['x'])))
    expect(prompt[0]?.content).toMatchObject([{ input: {} }, { input: {} }])
  })

  it('can leave out reasoning, and what refers to it', () => {
    const prompt = createPrompt({ reasoning: 'strip' })
    const item = { openai: { itemId: 'msg_1', phase: 'final' } }
    prompt.append(
      message('assistant', { type: 'reasoning', text: 'Hmm.' }, { type: 'text', text: 'Yes.', providerOptions: item }),
    )
    prompt.append(message('assistant', { type: 'text', text: 'And no.', providerOptions: item }))
    prompt.append(message('assistant', { type: 'reasoning', text: 'Only thought.' }))
    expect(prompt.build()).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.', providerOptions: { openai: { phase: 'final' } } }] },
      { role: 'assistant', content: [{ type: 'text', text: 'And no.', providerOptions: item }] },
    ])
  })
})

describe('files in a prompt', () => {
  const fileIn = (data: FilePart['data']): unknown =>
    promptOf(message('user', { type: 'file', mediaType: 'text/plain', data }))
      .at(0)
      ?.content.at(0)

  it.each([
    [
      { type: 'data', data: 'AQID' },
      { type: 'data', data: 'AQID' },
    ],
    [
      { type: 'text', text: 'Hi' },
      { type: 'text', text: 'Hi' },
    ],
    [
      { type: 'reference', reference: { openai: 'file-1' } },
      { type: 'reference', reference: { openai: 'file-1' } },
    ],
    [
      { type: 'url', url: 'https://a.test/b' },
      { type: 'url', url: new URL('https://a.test/b') },
    ],
    [
      { type: 'url', url: 'HTTPS://a.test' },
      { type: 'url', url: new URL('https://a.test'), originalUrl: 'HTTPS://a.test' },
    ],
  ] satisfies [FilePart['data'], unknown][])('%j go as they are', (data, expected) => {
    expect(fileIn(data)).toMatchObject({ mediaType: 'text/plain', data: expected })
  })

  it.each([
    ['data:image/png;base64,AQID', 'image/png', 'AQID'],
    ['data:,Hi%20there', 'text/plain', 'SGkgdGhlcmU='],
  ])('%s becomes bytes', (url, mediaType, data) => {
    expect(fileIn({ type: 'url', url })).toMatchObject({ mediaType, data: { type: 'data', data } })
  })

  it.each([
    ['A-_/', 'A+//'],
    ['AQID\r\nBAUG', 'AQIDBAUG'],
    ['AQ', 'AQ=='],
  ])('bytes written as %j are sent in the standard form', (data, standard) => {
    expect(fileIn({ type: 'data', data })).toMatchObject({ data: { type: 'data', data: standard } })
  })

  it.each([
    { type: 'data', data: '!!!' },
    { type: 'data', data: 'A' },
    { type: 'data', data: 'AQID====' },
    { type: 'data', data: 'AQ\ud800=' },
    { type: 'url', url: 'data:image/png;base64,%%%' },
  ] satisfies FilePart['data'][])('%j is no base64: the model reads so, and the history goes on', (data) => {
    const part = { type: 'file', mediaType: 'image/png', filename: 'a.png', data } as const
    const prompt = createPrompt()
    for (const role of ['user', 'assistant'] as const) prompt.append(message(role, part))
    const [said, answered] = prompt.build()
    const text = '[The file "a.png" cannot be read: its bytes are not base64.]'
    for (const one of [said, answered]) expect(one?.content).toEqual([{ type: 'text', text }])
  })

  it.each([
    [{ type: 'blob', hash: 'abc', bytes: 3 }, 'blob-not-loaded'],
    [{ type: 'url', url: 'not a url' }, 'invalid-file-url'],
    [{ type: 'url', url: 'data:nothing' }, 'invalid-file-url'],
  ] satisfies [FilePart['data'], string][])('%j are refused, and the prompt stays as it was', (data, code) => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    expect(() => prompt.append(message('user', { type: 'file', mediaType: 'image/png', data }))).toThrow(
      expect.objectContaining({ code }),
    )
    expect(prompt.build()).toHaveLength(1)
  })
})

describe('tool-call ids on the wire', () => {
  it('are the provider’s own where they are usable', () => {
    const prompt = promptOf(
      message('assistant', call('r/1/call/0', 'toolu_01A-b')),
      message('tool', result('r/1/call/0', 'toolu_01A-b')),
    )
    expect(idsIn(prompt)).toEqual(['toolu_01A-b', 'toolu_01A-b'])
  })

  it('are made unique where a provider repeats them, within a step and across steps', () => {
    const prompt = promptOf(
      message('assistant', call('a', 'call_0'), call('b', 'call_0')),
      message('tool', result('b', 'call_0'), result('a', 'call_0')),
      message('assistant', call('c', 'call_0')),
      message('tool', result('c', 'call_0')),
    )
    expect(idsIn(prompt)).toEqual(['call_0', 'call_0_2', 'call_0_2', 'call_0', 'call_0_3', 'call_0_3'])
  })

  it('do not collide with an id that looks like a made one', () => {
    for (const order of [
      ['x_2', 'x', 'x'],
      ['x', 'x_2', 'x'],
      ['x', 'x', 'x_2'],
    ]) {
      const calls = order.map((id, i) => call(`c${i}`, id))
      expect(new Set(idsIn(promptOf(message('assistant', ...calls)))).size).toBe(3)
    }
  })

  it('follow a call of an earlier answer that the provider ran', () => {
    const prompt = promptOf(message('assistant', call('a', 'srv 1')), message('assistant', result('srv 1', 'srv 1')))
    expect(idsIn(prompt)).toEqual(['srv_1', 'srv_1'])
  })

  it('stay linear for a thousand equal ids', () => {
    const calls = Array.from({ length: 1000 }, (_, i) => call(`c${i}`, ''))
    const ids = idsIn(promptOf(message('assistant', ...calls)))
    expect(new Set(ids).size).toBe(1000)
    expect(ids.at(-1)).toBe('call_1000')
  })

  it('are unique, fit every provider, and results have the id of their call', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (drawn) => {
        const messages = wellNamed(drawn)
        const wire = idsIn(promptOf(...messages))
        const ids = new Map<string, string>()
        const parts = messages
          .filter(({ role }) => role === 'assistant' || role === 'tool')
          .flatMap(({ content }) => content)
          .filter((part) => part.type === 'tool-call' || part.type === 'tool-result')
        for (const [i, { callId }] of parts.entries()) {
          const id = wire[i] ?? ''
          expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
          expect(ids.get(callId) ?? id).toBe(id)
          ids.set(callId, id)
        }
        const ofCalls = parts.filter((part) => part.type === 'tool-call').map(({ callId }) => ids.get(callId))
        expect(new Set(ofCalls).size).toBe(ofCalls.length)
      }),
    )
  })
})

describe('tool names on the wire', () => {
  it('fit every provider, whatever a model made up', () => {
    const odd = (toolName: string): Part => ({
      type: 'tool-call',
      callId: toolName,
      toolCallId: 'c',
      toolName,
      input: {},
    })
    const prompt = promptOf(message('assistant', odd('\u001b[2J rm'), odd(''), odd('look'), odd('x'.repeat(100))))
    const names = prompt.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.flatMap((part) => ('toolName' in part ? [part.toolName] : [])),
    )
    expect(names[2]).toBe('look')
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/)
    expect(new Set(names).size).toBe(4)
  })
})

describe('messages converted by hand', () => {
  it('replace the default, leave the message out, or leave it to the default', () => {
    const prompt = createPrompt({
      convert: ({ role, content }) => {
        if (role === 'custom:note') return { role: 'user', content: `Note: ${JSON.stringify(content)}` }
        return role === 'assistant' ? [] : undefined
      },
    })
    prompt.append(message('custom:note', 'rain'))
    prompt.append(message('assistant', 'gone'))
    prompt.append(message('user', 'Hi'))
    prompt.append(message('error', 'boom'))
    expect(prompt.build()).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Note: [{"type":"text","text":"rain"}]' }] },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ])
  })

  it('are converted once, also when the prompt starts over', () => {
    const convert = vi.fn<(one: Message) => undefined>()
    const own = vi.fn<(one: Message) => []>(() => [])
    const kept = message('user', 'Hi')
    for (const [prompt, mock] of [
      [createPrompt({ convert }), convert],
      [createPrompt({ convert: own }), own],
    ] as const) {
      prompt.append(kept)
      prompt.build()
      prompt.build()
      prompt.reset([kept])
      expect(mock).toHaveBeenCalledTimes(1)
    }
  })

  it('keep calls and results together, even when the provider repeats its ids', () => {
    const prompt = createPrompt({ convert: (one) => toModelMessages([one]) })
    prompt.append(message('assistant', call('a', 'call 0'), call('b', 'call 0')))
    prompt.append(message('tool', result('b', 'call 0', 'second')))
    prompt.append(message('tool', result('a', 'call 0', 'first')))
    expect(idsIn(prompt.build())).toEqual(['call_0', 'call_0_2', 'call_0_2', 'call_0'])
  })
})
