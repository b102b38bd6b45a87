import type { Message, Part, Role } from '@provost/core'
import { trustedLabel } from '@provost/core'
import { repairHistory } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** Few ids, so that they collide. */
const callId = fc.constantFrom('a', 'b', 'c', 'a/2', '')
const part: fc.Arbitrary<Part> = fc.oneof<fc.Arbitrary<Part>[]>(
  fc.record({ type: fc.constant('text' as const), text: fc.constantFrom('', 'hello') }),
  fc.record({ type: fc.constant('reasoning' as const), text: fc.constant('hm') }),
  fc
    .tuple(callId, fc.boolean())
    .map(([id, byProvider]) => ({ ...callOf(id), ...(byProvider && { providerExecuted: true }) })),
  callId.map(callOf),
  callId.map(resultOf),
  callId.map(resultOf),
)
const role = fc.constantFrom<Role[]>(
  'system',
  'user',
  'assistant',
  'assistant',
  'tool',
  'tool',
  'error',
  'aborted',
  'custom:note',
)
const message: fc.Arbitrary<Message> = fc
  .record({
    role,
    content: fc.array(part, { maxLength: 4 }),
    labelled: fc.boolean(),
    partial: fc.boolean(),
    error: fc.boolean(),
  })
  .map(({ role: one, content, labelled, partial, error }) => ({
    id: 'm',
    role: one,
    content,
    createdAt: 1,
    ...(labelled && { label: trustedLabel }),
    ...(partial && { partial: true }),
    ...(error && { error: { code: 'x', message: 'y' } }),
  }))
const history = fc
  .array(message, { maxLength: 10 })
  .map((messages) => messages.map((one, at) => ({ ...one, id: `m${at}` })))

function callOf(id: string): Extract<Part, { type: 'tool-call' }> {
  return { type: 'tool-call', callId: id, toolCallId: 'wire', toolName: 'look', input: {} }
}

function resultOf(id: string): Extract<Part, { type: 'tool-result' }> {
  return {
    type: 'tool-result',
    callId: id,
    toolCallId: 'wire',
    toolName: 'look',
    output: { type: 'text', value: 'seen' },
  }
}

const text = (words: string): Part => ({ type: 'text', text: words })

function messageOf(one: Role, ...content: readonly (Part | string)[]): Message {
  const parts = content.map((item) => (typeof item === 'string' ? text(item) : item))
  return { id: '', role: one, content: parts, createdAt: 1, label: trustedLabel }
}

function numbered(messages: readonly Message[]): readonly Message[] {
  return messages.map((one, at) => ({ ...one, id: `m${at}` }))
}

/** Returns a history with a line for each message. */
function lines(messages: readonly Message[]): readonly string[] {
  return messages.map(
    ({ role: one, content }) =>
      `${one}: ${content
        .map((item) => {
          if (item.type === 'tool-call') return `call ${item.callId}`
          if (item.type !== 'tool-result') return 'text' in item ? item.text : item.type
          return `${item.output.type === 'text' ? 'result' : 'error'} ${item.callId}`
        })
        .join(', ')}`,
  )
}

describe('a repaired history', () => {
  test('is well formed for any input', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const before = structuredClone(messages)
        const { messages: repaired } = repairHistory(messages, 'desk')
        assertWellFormed(repaired)
        expect(messages).toEqual(before)
      }),
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 5_000 : 200 },
    )
  })

  test('needs no further repair: well-formed messages stay the same objects', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const once = repairHistory(messages, 'desk').messages
        const { messages: twice, repairs } = repairHistory(once, 'desk')
        expect(repairs).toEqual([])
        expect(twice).toHaveLength(once.length)
        expect(twice.every((one, at) => one === once[at])).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('of a well-formed history reports no repairs', () => {
    const fine = numbered([
      messageOf('system', 'Be kind.'),
      messageOf('user', 'Look.'),
      messageOf('assistant', 'Looking.', callOf('a'), callOf('b')),
      messageOf('custom:note', 'aside'),
      messageOf('tool', resultOf('b')),
      messageOf('tool', resultOf('a')),
      messageOf('assistant', 'Searching.', { ...callOf('c'), providerExecuted: true }),
      messageOf('assistant', resultOf('c'), 'Found.'),
      messageOf('user', 'And?'),
      messageOf('user', 'Well?'),
    ])
    assertWellFormed(fine)
    expect(repairHistory(fine, 'desk')).toEqual({ messages: fine, repairs: [] })
  })

  test('keeps all text of the user and of the assistant', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const words = (list: readonly Message[]): number =>
          list.flatMap(({ content }) => content).filter((item) => item.type === 'text' && item.text === 'hello').length
        expect(words(repairHistory(messages, 'desk').messages)).toBe(words(messages))
      }),
    )
  })
})

describe('each repair names its message and its reason', () => {
  test.for<[string, readonly Message[], readonly string[], RegExp]>([
    [
      'a call without a result at the end',
      [messageOf('user', 'Look.'), messageOf('assistant', callOf('a'))],
      ['user: Look.', 'assistant: call a', 'tool: error a'],
      /message 1: call a of look had no result/,
    ],
    [
      'one of several calls without a result before the next user message',
      [
        messageOf('user', 'Look.'),
        messageOf('assistant', callOf('a'), callOf('b')),
        messageOf('tool', resultOf('b')),
        messageOf('user', 'And?'),
      ],
      ['user: Look.', 'assistant: call a, call b', 'tool: result b, error a', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a call before an aborted message keeps its result beside it',
      [
        messageOf('user', 'Look.'),
        messageOf('assistant', callOf('a')),
        messageOf('aborted'),
        messageOf('user', 'And?'),
      ],
      ['user: Look.', 'assistant: call a', 'tool: error a', 'aborted: ', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a result without a call',
      [messageOf('user', 'Look.'), messageOf('tool', resultOf('a'))],
      ['user: Look.'],
      /message 1: result a of look had no call/,
    ],
    [
      'a second result',
      [
        messageOf('user', 'Look.'),
        messageOf('assistant', callOf('a')),
        messageOf('tool', resultOf('a'), resultOf('a')),
      ],
      ['user: Look.', 'assistant: call a', 'tool: result a'],
      /message 2: result a/,
    ],
    [
      'a duplicate id',
      [
        messageOf('user', 'Look.'),
        messageOf('assistant', callOf('a'), callOf('a')),
        messageOf('tool', resultOf('a'), resultOf('a')),
        messageOf('assistant', callOf('a')),
        messageOf('tool', resultOf('a')),
      ],
      [
        'user: Look.',
        'assistant: call a, call a/2',
        'tool: result a, result a/2',
        'assistant: call a/3',
        'tool: result a/3',
      ],
      /message 1: the id of call a was a duplicate/,
    ],
    [
      'a provider-executed call without a result',
      [
        messageOf('user', 'Look.'),
        messageOf('assistant', 'Hm.', { ...callOf('a'), providerExecuted: true }),
        messageOf('user', 'And?'),
      ],
      ['user: Look.', 'assistant: Hm., call a, error a', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a system message in the middle',
      [messageOf('user', 'Look.'), messageOf('system', 'Be kind.')],
      ['system: Be kind.', 'user: Look.'],
      /message 1: a system message/,
    ],
    [
      'a first message by the assistant',
      [messageOf('custom:note', 'aside'), messageOf('assistant', 'Hello.')],
      ['custom:note: aside', 'user: (The conversation begins with the assistant.)', 'assistant: Hello.'],
      /message 1: the conversation did not begin with the user/,
    ],
    [
      'an empty response',
      [messageOf('user', 'Look.'), messageOf('assistant', ''), messageOf('user', 'And?')],
      ['user: Look.', 'user: And?'],
      /message 1: it was empty/,
    ],
    [
      'reasoning without a response',
      [messageOf('user', 'Look.'), messageOf('assistant', 'Hm.', { type: 'reasoning', text: 'why' })],
      ['user: Look.', 'assistant: Hm.'],
      /message 1: its reasoning/,
    ],
    [
      'a tool call in a user message',
      [messageOf('user', 'Look.', callOf('a'))],
      ['user: Look.'],
      /message 0: a message of the role user contained a call of look/,
    ],
  ])('%s', ([, messages, repaired, what]) => {
    const { messages: after, repairs } = repairHistory(numbered(messages), 'desk')
    assertWellFormed(after)
    expect(lines(after)).toEqual(repaired)
    expect(repairs.join('\n')).toMatch(what)
  })

  test('added messages are untrusted and belong to the agent', () => {
    const { messages } = repairHistory(numbered([messageOf('assistant', callOf('a'))]), 'desk')
    const strangers = messages.filter(({ role: one }) => one !== 'assistant')
    expect(strangers).toMatchObject([
      { role: 'user', agent: 'desk', label: { integrity: 'untrusted' } },
      { role: 'tool', agent: 'desk', label: { integrity: 'untrusted' } },
    ])
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
  })

  test('messages without required fields receive them', () => {
    const bare: readonly Message[] = numbered([
      { id: '', role: 'user', content: [text('a')], createdAt: 1 },
      { id: '', role: 'assistant', content: [text('b')], createdAt: 1 },
      { id: '', role: 'error', content: [], createdAt: 1 },
      { id: '', role: 'aborted', content: [text('c')], createdAt: 1 },
    ])
    const { messages } = repairHistory(bare, 'desk')
    expect(messages).toMatchObject([
      {},
      { label: { integrity: 'untrusted', sources: ['import'] } },
      { error: { code: 'unknown' } },
      { partial: true },
    ])
    expect(messages[0]).toBe(bare[0])
  })
})

test('a history of many calls with one id is repaired in linear time', () => {
  const many = 20_000
  const calls = Array.from({ length: many }, () => callOf('a'))
  const results = Array.from({ length: many }, () => resultOf('a'))
  const { messages } = repairHistory(
    numbered([messageOf('user', 'Go.'), messageOf('assistant', ...calls), messageOf('tool', ...results)]),
    'desk',
  )
  assertWellFormed(messages)
  expect(messages[2]?.content).toHaveLength(many)
})
