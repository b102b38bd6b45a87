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

function said(one: Role, ...content: readonly (Part | string)[]): Message {
  const parts = content.map((item) => (typeof item === 'string' ? text(item) : item))
  return { id: '', role: one, content: parts, createdAt: 1, label: trustedLabel }
}

function numbered(messages: readonly Message[]): readonly Message[] {
  return messages.map((one, at) => ({ ...one, id: `m${at}` }))
}

/** A history in a line for each message. */
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
  test('is well formed, whatever it was', () => {
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

  test('is not repaired again: what is well formed stays as it is, each message the same object', () => {
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

  test('of one that was well formed says that nothing was done', () => {
    const fine = numbered([
      said('system', 'Be kind.'),
      said('user', 'Look.'),
      said('assistant', 'Looking.', callOf('a'), callOf('b')),
      said('custom:note', 'aside'),
      said('tool', resultOf('b')),
      said('tool', resultOf('a')),
      said('assistant', 'Searching.', { ...callOf('c'), providerExecuted: true }),
      said('assistant', resultOf('c'), 'Found.'),
      said('user', 'And?'),
      said('user', 'Well?'),
    ])
    assertWellFormed(fine)
    expect(repairHistory(fine, 'desk')).toEqual({ messages: fine, repairs: [] })
  })

  test('keeps all words of the user and of the assistant', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const words = (list: readonly Message[]): number =>
          list.flatMap(({ content }) => content).filter((item) => item.type === 'text' && item.text === 'hello').length
        expect(words(repairHistory(messages, 'desk').messages)).toBe(words(messages))
      }),
    )
  })
})

describe('repairs say where and what', () => {
  test.for<[string, readonly Message[], readonly string[], RegExp]>([
    [
      'a call without a result, at the end',
      [said('user', 'Look.'), said('assistant', callOf('a'))],
      ['user: Look.', 'assistant: call a', 'tool: error a'],
      /message 1: call a of look had no result/,
    ],
    [
      'one of several, before the next word',
      [
        said('user', 'Look.'),
        said('assistant', callOf('a'), callOf('b')),
        said('tool', resultOf('b')),
        said('user', 'And?'),
      ],
      ['user: Look.', 'assistant: call a, call b', 'tool: result b, error a', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a call before an aside stays with its result',
      [said('user', 'Look.'), said('assistant', callOf('a')), said('aborted'), said('user', 'And?')],
      ['user: Look.', 'assistant: call a', 'tool: error a', 'aborted: ', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a result without a call',
      [said('user', 'Look.'), said('tool', resultOf('a'))],
      ['user: Look.'],
      /message 1: result a of look had no call/,
    ],
    [
      'a second result',
      [said('user', 'Look.'), said('assistant', callOf('a')), said('tool', resultOf('a'), resultOf('a'))],
      ['user: Look.', 'assistant: call a', 'tool: result a'],
      /message 2: result a/,
    ],
    [
      'an id that was there before',
      [
        said('user', 'Look.'),
        said('assistant', callOf('a'), callOf('a')),
        said('tool', resultOf('a'), resultOf('a')),
        said('assistant', callOf('a')),
        said('tool', resultOf('a')),
      ],
      [
        'user: Look.',
        'assistant: call a, call a/2',
        'tool: result a, result a/2',
        'assistant: call a/3',
        'tool: result a/3',
      ],
      /message 1: the id of call a was there before/,
    ],
    [
      'a call that the provider ran and gave no result for',
      [
        said('user', 'Look.'),
        said('assistant', 'Hm.', { ...callOf('a'), providerExecuted: true }),
        said('user', 'And?'),
      ],
      ['user: Look.', 'assistant: Hm., call a, error a', 'user: And?'],
      /message 1: call a/,
    ],
    [
      'a system message in the middle',
      [said('user', 'Look.'), said('system', 'Be kind.')],
      ['system: Be kind.', 'user: Look.'],
      /message 1: a system message/,
    ],
    [
      'a beginning by the assistant',
      [said('custom:note', 'aside'), said('assistant', 'Hello.')],
      ['custom:note: aside', 'user: (The conversation begins with the assistant.)', 'assistant: Hello.'],
      /message 1: the conversation did not begin with the user/,
    ],
    [
      'an answer that says nothing',
      [said('user', 'Look.'), said('assistant', ''), said('user', 'And?')],
      ['user: Look.', 'user: And?'],
      /message 1: it said nothing/,
    ],
    [
      'reasoning that led to nothing',
      [said('user', 'Look.'), said('assistant', 'Hm.', { type: 'reasoning', text: 'why' })],
      ['user: Look.', 'assistant: Hm.'],
      /message 1: its reasoning/,
    ],
    [
      'a call in the mouth of the user',
      [said('user', 'Look.', callOf('a'))],
      ['user: Look.'],
      /message 0: a call of look stood in a message of the role user/,
    ],
  ])('%s', ([, messages, repaired, what]) => {
    const { messages: after, repairs } = repairHistory(numbered(messages), 'desk')
    assertWellFormed(after)
    expect(lines(after)).toEqual(repaired)
    expect(repairs.join('\n')).toMatch(what)
  })

  test('what is added is untrusted and belongs to the agent', () => {
    const { messages } = repairHistory(numbered([said('assistant', callOf('a'))]), 'desk')
    const strangers = messages.filter(({ role: one }) => one !== 'assistant')
    expect(strangers).toMatchObject([
      { role: 'user', agent: 'desk', label: { integrity: 'untrusted' } },
      { role: 'tool', agent: 'desk', label: { integrity: 'untrusted' } },
    ])
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
  })

  test('answers and errors without what they need get it', () => {
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

test('a hostile history of many calls with one id is repaired in time that grows with it', () => {
  const many = 20_000
  const calls = Array.from({ length: many }, () => callOf('a'))
  const results = Array.from({ length: many }, () => resultOf('a'))
  const { messages } = repairHistory(
    numbered([said('user', 'Go.'), said('assistant', ...calls), said('tool', ...results)]),
    'desk',
  )
  assertWellFormed(messages)
  expect(messages[2]?.content).toHaveLength(many)
})
