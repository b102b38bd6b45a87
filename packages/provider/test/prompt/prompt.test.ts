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
/** Returns the wire ids of calls and results, in order. */
function idsIn(prompt: LanguageModelV4Prompt): string[] {
  return prompt.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])),
  )
}

describe('a prompt', () => {
  it('has the content that each role may send to a model', () => {
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

  it('puts the options of a system text on its message', () => {
    const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    expect(promptOf(message('system', { type: 'text', text: 'Be brief.', providerOptions: cached }))).toEqual([
      { role: 'system', content: 'Be brief.', providerOptions: cached },
    ])
  })

  it('omits unknown roles and empty messages', () => {
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

  it('returns the same objects again as it grows', () => {
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

  it('is equal for equal histories, appended or reset', () => {
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

  it('ends with the tail of a call, which is absent from the next one', () => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    expect(prompt.build([message('user', 'By the way')])).toHaveLength(2)
    expect(prompt.build()).toHaveLength(1)
  })

  it('has ids in the tail that differ from those of the history', () => {
    const prompt = createPrompt()
    const ids = idsIn(prompt.build([message('assistant', call('tail', 'x'))]))
    prompt.append(message('assistant', call('history', 'x')))
    expect([...ids, ...idsIn(prompt.build())]).toEqual(['x', 'x'])
  })

  it('starts over after a reset, open tool messages included', () => {
    const prompt = createPrompt()
    prompt.append(message('user', 'Hi'))
    prompt.append(message('assistant', call('a', '1')))
    prompt.build()
    prompt.reset([])
    prompt.append(message('tool', result('a', '1')))
    prompt.append(message('tool', result('b', '2')))
    expect(prompt.build()).toHaveLength(1)
  })

  it('stays unchanged when a returned array is mutated', () => {
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

  it('adds no result to a message that was already sent', () => {
    const prompt = createPrompt()
    prompt.append(message('assistant', call('a', '1'), call('b', '2')))
    prompt.append(message('tool', result('a', '1')))
    const sent = prompt.build()
    prompt.append(message('tool', result('b', '2')))
    expect(prompt.build().slice(0, 2)).toEqual(sent)
    expect(prompt.build()).toHaveLength(3)
  })

  it('keeps results of the history apart from those of the tail', () => {
    const prompt = createPrompt()
    prompt.append(message('tool', result('a', '1')))
    expect(prompt.build([message('tool', result('b', '2'))])).toHaveLength(2)
    expect(prompt.build()).toEqual([{ role: 'tool', content: [expect.objectContaining({ toolCallId: '1' })] }])
  })

  it('sends an object in place of arguments that are not an object', () => {
    const prompt = promptOf(message('assistant', call('a', '1', '{"broken'), call('b', '2', ['x'])))
    expect(prompt[0]?.content).toMatchObject([{ input: {} }, { input: {} }])
  })

  it('can omit reasoning and references to it', () => {
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
  ] satisfies [FilePart['data'], unknown][])('with the data %j stay unchanged', (data, expected) => {
    expect(fileIn(data)).toMatchObject({ mediaType: 'text/plain', data: expected })
  })

  it.each([
    ['data:image/png;base64,AQID', 'image/png', 'AQID'],
    ['data:,Hi%20there', 'text/plain', 'SGkgdGhlcmU='],
  ])('at %s become bytes', (url, mediaType, data) => {
    expect(fileIn({ type: 'url', url })).toMatchObject({ mediaType, data: { type: 'data', data } })
  })

  it.each([
    ['A-_/', 'A+//'],
    ['AQID\r\nBAUG', 'AQIDBAUG'],
    ['AQ', 'AQ=='],
  ])('with the base64 %j are sent in standard base64', (data, standard) => {
    expect(fileIn({ type: 'data', data })).toMatchObject({ data: { type: 'data', data: standard } })
  })

  it.each([
    { type: 'data', data: '!!!' },
    { type: 'data', data: 'A' },
    { type: 'data', data: 'AQID====' },
    { type: 'data', data: 'AQ\ud800=' },
    { type: 'url', url: 'data:image/png;base64,%%%' },
  ] satisfies FilePart['data'][])('with the invalid base64 %j are replaced by a notice', (data) => {
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
  ] satisfies [FilePart['data'], string][])(
    'with the data %j are rejected, and the prompt stays unchanged',
    (data, code) => {
      const prompt = createPrompt()
      prompt.append(message('user', 'Hi'))
      expect(() => prompt.append(message('user', { type: 'file', mediaType: 'image/png', data }))).toThrow(
        expect.objectContaining({ code }),
      )
      expect(prompt.build()).toHaveLength(1)
    },
  )
})

describe('tool-call ids on the wire', () => {
  it('are the provider’s own if they are valid', () => {
    const prompt = promptOf(
      message('assistant', call('r/1/call/0', 'toolu_01A-b')),
      message('tool', result('r/1/call/0', 'toolu_01A-b')),
    )
    expect(idsIn(prompt)).toEqual(['toolu_01A-b', 'toolu_01A-b'])
  })

  it('are made unique if a provider repeats them, within a step and across steps', () => {
    const prompt = promptOf(
      message('assistant', call('a', 'call_0'), call('b', 'call_0')),
      message('tool', result('b', 'call_0'), result('a', 'call_0')),
      message('assistant', call('c', 'call_0')),
      message('tool', result('c', 'call_0')),
    )
    expect(idsIn(prompt)).toEqual(['call_0', 'call_0_2', 'call_0_2', 'call_0', 'call_0_3', 'call_0_3'])
  })

  it('do not collide with an id that looks generated', () => {
    for (const order of [
      ['x_2', 'x', 'x'],
      ['x', 'x_2', 'x'],
      ['x', 'x', 'x_2'],
    ]) {
      const calls = order.map((id, i) => call(`c${i}`, id))
      expect(new Set(idsIn(promptOf(message('assistant', ...calls)))).size).toBe(3)
    }
  })

  it('follow a call of an earlier response that the provider executed', () => {
    const prompt = promptOf(message('assistant', call('a', 'srv 1')), message('assistant', result('srv 1', 'srv 1')))
    expect(idsIn(prompt)).toEqual(['srv_1', 'srv_1'])
  })

  it('cost linear time for a thousand equal ids', () => {
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
  it('are valid for every provider, whatever the model wrote', () => {
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

describe('convertToModel', () => {
  it('replaces the default conversion, omits the message, or keeps the default', () => {
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

  it('converts each message once, also after a reset', () => {
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

  it('keeps calls and results together, even if the provider repeats its ids', () => {
    const prompt = createPrompt({ convert: (one) => toModelMessages([one]) })
    prompt.append(message('assistant', call('a', 'call 0'), call('b', 'call 0')))
    prompt.append(message('tool', result('b', 'call 0', 'second')))
    prompt.append(message('tool', result('a', 'call 0', 'first')))
    expect(idsIn(prompt.build())).toEqual(['call_0', 'call_0_2', 'call_0_2', 'call_0'])
  })
})
