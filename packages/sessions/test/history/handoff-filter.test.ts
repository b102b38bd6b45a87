import type { FilterDescriptor, Label, Message, Part } from '@provost/core'
import { joinLabels, textOf, trustedLabel } from '@provost/core'
import { applyFilter, filters } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const secret: Label = { ...trustedLabel, confidentiality: 'secret', sources: ['vault'] }
const open: Label = { ...trustedLabel, confidentiality: 'public' }

let count = 0
function say(role: Message['role'], content: string | readonly Part[], label: Label = trustedLabel): Message {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return { id: `m${++count}`, role, content: parts, label, createdAt: count }
}
function call(callId: string): Part {
  return { type: 'tool-call', callId, toolCallId: callId, toolName: 'look', input: {} }
}
function result(callId: string, value: string, label: Label = trustedLabel): Part {
  return { type: 'tool-result', callId, toolCallId: callId, toolName: 'look', output: { type: 'text', value }, label }
}
function texts(messages: readonly Message[]): readonly string[] {
  return messages.map(textOf)
}

const reasoning: Part = { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } }
const history: readonly Message[] = [
  say('system', 'You are the parent.'),
  say('user', 'one'),
  say('assistant', [reasoning, { type: 'text', text: 'looking' }, call('a'), call('b')]),
  say('tool', [result('a', 'found'), result('b', 'the password', secret)], secret),
  say('assistant', 'done', secret),
  say('user', 'two', open),
]

describe('what a filter lets across', () => {
  test('full: all but system prompts, reasoning, and what a provider attached', () => {
    const crossed = applyFilter(filters.full(), history)
    expect(crossed.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    expect(JSON.stringify(crossed)).not.toMatch(/parent|hm|signature/)
    // What is not changed is the object itself.
    expect(crossed[0]).toBe(history[1])
    assertWellFormed(crossed)
  })

  test('lastN: the last ones, without results whose calls they leave behind', () => {
    expect(texts(applyFilter(filters.lastN(2), history))).toEqual(['done', 'two'])
    expect(applyFilter(filters.lastN(3), history).map(({ role }) => role)).toEqual(['assistant', 'user'])
    expect(applyFilter(filters.lastN(4), history)).toHaveLength(4)
    expect(applyFilter(filters.lastN(0), history)).toEqual([])
  })

  test('lastUser: what the user said last', () => {
    expect(texts(applyFilter(filters.lastUser(), history))).toEqual(['two'])
    expect(texts(applyFilter(filters.lastUser(), [...history, say('user', 'three'), say('assistant', 'ok')]))).toEqual([
      'two',
      'three',
    ])
    expect(applyFilter(filters.lastUser(), [say('assistant', 'ok')])).toEqual([])
  })

  test('lastUser: never what the runtime said in the user’s place', () => {
    const note: Message = { ...say('user', 'handed over'), purpose: 'handoff-note' }
    const repair: Message = { ...say('user', 'does not fit'), purpose: 'output-repair' }
    expect(texts(applyFilter(filters.lastUser(), [...history, note, repair]))).toEqual(['two'])
  })

  test.each([
    'run/3/call/0/note',
    'run/3/message/output',
    'run/3/saying/1.1',
    'a/opening',
    'a/summary',
    'a/view/b/1/0',
  ])('lastUser: what the user said, even if the message has the id %s', (id) => {
    const own: Message = { ...say('user', 'three'), id }
    expect(texts(applyFilter(filters.lastUser(), [...history, say('assistant', 'ok'), own]))).toEqual(['three'])
  })

  test('stripToolCalls: what was said, without calls and results', () => {
    expect(texts(applyFilter(filters.stripToolCalls(), history))).toEqual(['one', 'looking', 'done', 'two'])
  })

  test('stripSensitiveOutputs: a word in place of what is secret, and the pair stays', () => {
    const crossed = applyFilter(filters.stripSensitiveOutputs(), history)
    expect(JSON.stringify(crossed)).not.toContain('password')
    expect(JSON.stringify(crossed)).toContain('found')
    expect(crossed[2]?.label?.confidentiality).toBe('internal')
    assertWellFormed(crossed)
  })

  test('stripSensitiveOutputs: a secret field makes the result secret, and its details go too', () => {
    const part: Part = {
      type: 'tool-result',
      callId: 'a',
      toolCallId: 'a',
      toolName: 'look',
      output: { type: 'json', value: { pin: '1234' } },
      label: trustedLabel,
      fields: { '/pin': { ...trustedLabel, confidentiality: 'secret' } },
      details: { pin: '1234' },
    }
    const crossed = applyFilter(filters.stripSensitiveOutputs(), [
      say('user', 'pin?'),
      say('assistant', [call('a')]),
      say('tool', [part]),
    ])
    expect(JSON.stringify(crossed)).not.toContain('1234')
  })

  test('bySensitivity: keep and drop say how confidential things may be, and pairs go together', () => {
    const crossed = applyFilter(filters.bySensitivity({ drop: 'secret' }), history)
    expect(crossed.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(JSON.stringify(crossed)).not.toMatch(/password|"callId":"b"|done/)
    expect(crossed).toEqual(applyFilter(filters.bySensitivity({ keep: 'internal' }), history))
    expect(texts(applyFilter(filters.bySensitivity({ keep: 'public' }), history))).toEqual(['two'])
    expect(texts(applyFilter(filters.bySensitivity({ drop: 'internal' }), history))).toEqual(['two'])
  })

  test('bySensitivity: require refuses the whole', () => {
    const filter = filters.bySensitivity({ require: 'internal' })
    expect(() => applyFilter(filter, history)).toThrow(expect.objectContaining({ code: 'filter-refused' }))
    expect(texts(applyFilter(filters.compose(filters.lastUser(), filter), history))).toEqual(['two'])
  })

  test('summary: one message in place of all, which says whose words it is and carries their labels', () => {
    expect(() => applyFilter(filters.summary(), history)).toThrow(
      expect.objectContaining({ code: 'summary-unwritten' }),
    )
    const [summary, ...rest] = applyFilter({ kind: 'summary', text: 'They talked.' }, history)
    expect(rest).toEqual([])
    expect(summary?.role).toBe('user')
    expect(summary && textOf(summary)).toMatch(/written by a model, not by the user:\nThey talked\./)
    expect(summary?.label).toMatchObject({ confidentiality: 'secret', sources: ['vault'] })
  })

  test('compose: one after the other', () => {
    const filter = filters.compose(
      filters.stripToolCalls(),
      filters.lastN(2),
      filters.bySensitivity({ drop: 'secret' }),
    )
    expect(texts(applyFilter(filter, history))).toEqual(['two'])
    expect(applyFilter(filters.compose(), history)).toEqual(applyFilter(filters.full(), history))
  })
})

describe('what is no filter', () => {
  test.each([
    ['a function', (messages: readonly Message[]) => messages],
    ['an unknown kind', { kind: 'all' }],
    ['null', null],
    ['a count that is none', { kind: 'lastN', n: Number.NaN }],
    ['a negative count', { kind: 'lastN', n: -1 }],
    ['two rules at once', { kind: 'bySensitivity', keep: 'public', drop: 'secret' }],
    ['an unknown level', { kind: 'bySensitivity', keep: 'top' }],
    ['a function inside', { kind: 'compose', filters: [() => []] }],
    ['a text that is none', { kind: 'summary', text: 7 }],
  ])('%s is refused', (_, filter) => {
    const given = filter as FilterDescriptor
    expect(() => applyFilter(given, history)).toThrow(expect.objectContaining({ code: 'invalid-filter' }))
  })

  test('so is one composed without end', () => {
    let filter: FilterDescriptor = { kind: 'full' }
    for (let i = 0; i < 50; i++) filter = { kind: 'compose', filters: [filter] }
    expect(() => applyFilter(filter, history)).toThrow(expect.objectContaining({ code: 'invalid-filter' }))
  })
})

// ── Any history ──

const level = fc.constantFrom<Label['confidentiality']>('public', 'internal', 'secret')
const label = fc.record({
  integrity: fc.constantFrom<Label['integrity']>('trusted', 'untrusted'),
  confidentiality: level,
  sources: fc.constantFrom<readonly string[]>([], ['mail'], ['web']),
})
const step = fc.record({
  text: fc.option(fc.string({ minLength: 1, maxLength: 5 })),
  thought: fc.boolean(),
  meta: fc.boolean(),
  results: fc.array(fc.tuple(label, fc.boolean()), { maxLength: 3 }),
  said: label,
  user: fc.option(label),
  system: fc.boolean(),
})

function historyFrom(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]): readonly Message[] {
  const messages: Message[] = [say('user', 'SAID begin')]
  for (const [index, { text, thought, meta, results, said, user, system }] of steps.entries()) {
    const providerOptions = { openai: { itemId: 'META' } }
    const content: Part[] = [
      ...(thought ? [{ type: 'reasoning', text: 'THOUGHT', providerOptions } as const] : []),
      { type: 'text', text: `SAID ${text ?? ''}`, ...(meta && { providerOptions }) },
      ...results.map((_, nth) => call(`c${index}.${nth}`)),
    ]
    messages.push(say('assistant', content, said))
    if (results.length > 0) {
      const parts = results.map(([own, whole], nth): Part =>
        whole
          ? result(`c${index}.${nth}`, `GAVE ${own.confidentiality}`, own)
          : { ...result(`c${index}.${nth}`, 'GAVE', own) },
      )
      messages.push(say('tool', parts, joinLabels(...results.map(([own]) => own))))
    }
    if (user) messages.push(say('user', 'SAID more', user))
    if (system) messages.unshift(say('system', 'PROMPT'))
  }
  return messages
}
const anyHistory = fc.array(step, { maxLength: 8 }).map(historyFrom)

const leaf: fc.Arbitrary<FilterDescriptor> = fc.oneof(
  fc.constantFrom(
    filters.full(),
    filters.lastUser(),
    filters.stripReasoning(),
    filters.stripSensitiveOutputs(),
    filters.stripToolCalls(),
  ),
  fc.nat(6).map(filters.lastN),
  fc.record({ kind: fc.constant('summary' as const), text: fc.string() }),
  level.map((keep) => filters.bySensitivity({ keep })),
  level.map((drop) => filters.bySensitivity({ drop })),
)
const anyFilter = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 4 }).map((parts) => filters.compose(...parts)),
)

function pairsOf(messages: readonly Message[]): readonly [calls: readonly string[], results: readonly string[]] {
  const parts = messages.flatMap(({ content }) => content)
  return [
    parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])),
    parts.flatMap((part) => (part.type === 'tool-result' ? [part.callId] : [])),
  ]
}

describe('whatever the history and the filter', () => {
  test('reasoning, system prompts and provider data never cross, and calls cross with their results', () => {
    fc.assert(
      fc.property(anyHistory, anyFilter, (messages, filter) => {
        const crossed = applyFilter(filter, messages)
        expect(JSON.stringify(crossed)).not.toMatch(/THOUGHT|PROMPT|META/)
        const [calls, results] = pairsOf(crossed)
        expect(results).toEqual(calls)
        // What a filter may do to a history, beyond that, is begin in the middle of it.
        assertWellFormed([say('user', 'before'), ...crossed])
      }),
      { numRuns: full ? 200 : 30 },
    )
  })

  test('the descriptor as JSON gives the same bytes again, of the messages as JSON', () => {
    fc.assert(
      fc.property(anyHistory, anyFilter, (messages, filter) => {
        const once = JSON.stringify(applyFilter(filter, messages))
        const copy: FilterDescriptor = JSON.parse(JSON.stringify(filter))
        const again: readonly Message[] = JSON.parse(JSON.stringify(messages))
        expect(JSON.stringify(applyFilter(copy, again))).toBe(once)
      }),
    )
  })

  test('nothing crosses that is more confidential than the filter says, and no label is lowered on the way', () => {
    fc.assert(
      fc.property(anyHistory, level, (messages, keep) => {
        const order = ['public', 'internal', 'secret']
        const crossed = applyFilter(filters.bySensitivity({ keep }), messages)
        for (const message of crossed) {
          const confidentiality = message.label?.confidentiality ?? 'secret'
          expect(order.indexOf(confidentiality)).toBeLessThanOrEqual(order.indexOf(keep))
        }
        for (const message of applyFilter(filters.stripReasoning(), messages)) {
          expect(message.label).toEqual(messages.find(({ id }) => id === message.id)?.label)
        }
      }),
    )
  })

  test('a filter applied twice changes nothing more', () => {
    fc.assert(
      fc.property(anyHistory, leaf, (messages, filter) => {
        fc.pre(filter.kind !== 'summary')
        const once = applyFilter(filter, messages)
        expect(applyFilter(filter, once)).toEqual(once)
      }),
    )
  })
})
