import type { JSONValue, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'

import { finish, hear, modelOf } from './stream-model.ts'

const text = (id: string, ...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  ...deltas.map((delta) => ({ type: 'text-delta' as const, id, delta })),
  { type: 'text-end', id },
]

describe('the response of a model', () => {
  it('has its text, with start, deltas and end in their order', async () => {
    const { answer, pieces } = await hear(modelOf([...text('0', 'Hel', 'lo'), finish()]))
    expect(pieces).toEqual([
      { type: 'text-start', partId: '0' },
      { type: 'text-delta', partId: '0', delta: 'Hel' },
      { type: 'text-delta', partId: '0', delta: 'lo' },
      { type: 'text-end', partId: '0', text: 'Hello' },
    ])
    expect(answer).toEqual({
      ok: true,
      parts: [{ type: 'text', text: 'Hello' }],
      finishReason: 'stop',
      usage: { inputTokens: 12, outputTokens: 5, reasoningTokens: 4, cacheReadTokens: 7, cacheWriteTokens: 3 },
    })
  })

  it('names the model that the provider reports', async () => {
    const { answer } = await hear(modelOf([{ type: 'response-metadata', modelId: 'tiny-2026' }, finish()]))
    expect(answer).toMatchObject({ ok: true, responseModel: 'tiny-2026' })
  })

  it('omits unreported counters, and adds up itemised ones', async () => {
    const { answer } = await hear(
      modelOf([
        {
          type: 'finish',
          finishReason: { unified: 'stop', raw: undefined },
          usage: {
            inputTokens: { total: undefined, noCache: 4, cacheRead: 6, cacheWrite: undefined },
            outputTokens: { total: undefined, text: undefined, reasoning: undefined },
          },
        },
      ]),
    )
    expect(answer.usage).toEqual({ inputTokens: 10, cacheReadTokens: 6 })
  })

  it('keeps reasoning with the metadata of its last part', async () => {
    const signed = { anthropic: { signature: 'sig' } }
    const { answer } = await hear(
      modelOf([
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hmm.' },
        { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signed },
        { type: 'reasoning-end', id: '0' },
        ...text('0', 'Yes.'),
        finish(),
      ]),
    )
    expect(answer.parts).toEqual([
      { type: 'reasoning', text: 'Hmm.', providerOptions: signed },
      { type: 'text', text: 'Yes.' },
    ])
  })

  it('keeps redacted reasoning, which has no text', async () => {
    const redacted = { anthropic: { redactedData: 'xyz' } }
    const { answer } = await hear(
      modelOf([
        { type: 'reasoning-start', id: '0', providerMetadata: redacted },
        { type: 'reasoning-end', id: '0' },
        finish(),
      ]),
    )
    expect(answer.parts).toEqual([{ type: 'reasoning', text: '', providerOptions: redacted }])
  })

  it('keeps interleaved parts apart and in the order of their starts', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        { type: 'text-start', id: 'a' },
        { type: 'reasoning-start', id: 'a' },
        { type: 'text-delta', id: 'a', delta: 'A1' },
        { type: 'reasoning-delta', id: 'a', delta: 'R1' },
        { type: 'text-start', id: 'b' },
        { type: 'text-delta', id: 'b', delta: 'B1' },
        { type: 'text-delta', id: 'a', delta: 'A2' },
        { type: 'text-end', id: 'b' },
        { type: 'reasoning-end', id: 'a' },
        { type: 'text-end', id: 'a' },
        finish(),
      ]),
    )
    expect(answer.parts).toEqual([
      { type: 'text', text: 'A1A2' },
      { type: 'reasoning', text: 'R1' },
      { type: 'text', text: 'B1' },
    ])
    expect(new Set(pieces.flatMap((piece) => ('partId' in piece ? [piece.partId] : []))).size).toBe(3)
  })

  it('has two parts for an id that starts twice, ended or not', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        ...text('0', 'one'),
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'two' },
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'three' },
        finish(),
      ]),
    )
    expect(answer.parts.map((part) => 'text' in part && part.text)).toEqual(['one', 'two', 'three'])
    const one = ['text-start', 'text-delta', 'text-end']
    expect(pieces.map((piece) => piece.type)).toEqual([...one, ...one, ...one])
  })

  it('opens a part for deltas without a start', async () => {
    const { answer, pieces } = await hear(modelOf([{ type: 'text-delta', id: '9', delta: 'Hi' }, finish()]))
    expect(answer.parts).toEqual([{ type: 'text', text: 'Hi' }])
    expect(pieces.map((piece) => piece.type)).toEqual(['text-start', 'text-delta', 'text-end'])
  })

  it('omits empty text', async () => {
    const { answer } = await hear(modelOf([...text('0', ''), finish()]))
    expect(answer.parts).toEqual([])
  })

  it('has files as base64 or as their URL', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
        { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://a.test/b.png') } },
        finish(),
      ]),
    )
    expect(answer.parts).toEqual([
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url: 'https://a.test/b.png' } },
    ])
    expect(pieces.map((piece) => piece.type)).toEqual(['file', 'file'])
  })

  it('emits sources, and keeps provider-specific content in the parts only', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        { type: 'source', sourceType: 'url', id: '1', url: 'https://a.test', title: 'A' },
        { type: 'source', sourceType: 'document', id: '2', mediaType: 'application/pdf', title: 'B' },
        { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'x' } } },
        finish(),
      ]),
    )
    expect(pieces).toEqual([
      { type: 'source', url: 'https://a.test', title: 'A' },
      { type: 'source', mediaType: 'application/pdf', title: 'B' },
    ])
    expect(answer.parts).toEqual([
      { type: 'custom', kind: 'openai.compaction', providerOptions: { openai: { itemId: 'x' } } },
    ])
  })

  it('ends with an error when it exceeds its limit', async () => {
    const delta = 'x'.repeat(8 * 1024 * 1024)
    const endless = Array.from({ length: 10 }, (): LanguageModelV4StreamPart => ({
      type: 'text-delta',
      id: '0',
      delta,
    }))
    const { answer } = await hear(modelOf([...endless, finish()]))
    expect(answer).toMatchObject({ ok: false, error: { code: 'answer-too-large' } })
  })

  const million = 'x'.repeat(1024 * 1024)
  it.each<readonly [string, (n: number) => LanguageModelV4StreamPart[]]>([
    [
      'results of its own tools',
      (n) => [{ type: 'tool-result', toolCallId: `${n}`, toolName: 'web_search', result: { text: million } }],
    ],
    [
      'redacted reasoning',
      (n) => [
        { type: 'reasoning-start', id: `${n}`, providerMetadata: { anthropic: { redactedData: million } } },
        { type: 'reasoning-end', id: `${n}` },
      ],
    ],
    ['ids', (n) => [{ type: 'tool-input-start', id: `${n}${million}`, toolName: 'look' }]],
    ['sources', (n) => [{ type: 'source', sourceType: 'url', id: `${n}`, url: `https://example.com/${million}` }]],
    [
      'summaries of the history',
      (n) => [
        { type: 'text-start', id: `${n}`, providerMetadata: { anthropic: { type: 'compaction' } } },
        { type: 'text-delta', id: `${n}`, delta: million },
      ],
    ],
    [
      'metadata of summaries',
      (n) => [{ type: 'text-start', id: `${n}`, providerMetadata: { anthropic: { type: 'compaction', million } } }],
    ],
  ])('ends with an error when it exceeds its limit by %s', async (_, parts) => {
    const endless = Array.from({ length: 70 }, (_none, n) => parts(n)).flat()
    const { answer } = await hear(modelOf([...endless, finish()]))
    expect(answer).toMatchObject({ ok: false, error: { code: 'answer-too-large' } })
  })

  it('has a known finish reason, whatever the provider calls it', async () => {
    const hostile = JSON.parse('{"unified":"<b>\\u0007","raw":"x"}') as LanguageModelV4FinishReason
    const { answer } = await hear(modelOf([{ ...finish(), finishReason: hostile } as LanguageModelV4StreamPart]))
    expect(answer).toMatchObject({ ok: true, finishReason: 'other' })
  })
})

describe('tool calls of a response', () => {
  const call = (id: string, input: string, toolName = 'look'): LanguageModelV4StreamPart => ({
    type: 'tool-call',
    toolCallId: id,
    toolName,
    input,
  })
  const start = (id: string, toolName = 'look'): LanguageModelV4StreamPart => ({
    type: 'tool-input-start',
    id,
    toolName,
  })
  const delta = (id: string, part: string): LanguageModelV4StreamPart => ({ type: 'tool-input-delta', id, delta: part })
  const end = (id: string): LanguageModelV4StreamPart => ({ type: 'tool-input-end', id })

  it('stream their input under our call id', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        start('x'),
        delta('x', '{"a"'),
        delta('x', ':1}'),
        end('x'),
        call('x', '{"a":1}'),
        finish('tool-calls'),
      ]),
    )
    const named = { index: 0, callId: 'c0', toolName: 'look' }
    expect(pieces).toEqual([
      { type: 'tool-call-start', ...named },
      { type: 'tool-call-delta', ...named, delta: '{"a"' },
      { type: 'tool-call-delta', ...named, delta: ':1}' },
      { type: 'tool-call-end', ...named, input: { a: 1 } },
    ])
    expect(answer.parts).toEqual([
      { type: 'tool-call', callId: 'c0', toolCallId: 'x', toolName: 'look', input: { a: 1 } },
    ])
  })

  it('have a start and an end even if the provider sends only the call', async () => {
    const { pieces } = await hear(modelOf([call('x', '{}'), finish('tool-calls')]))
    expect(pieces.map((piece) => piece.type)).toEqual(['tool-call-start', 'tool-call-end'])
  })

  it('exist if their input arrived but the call part did not', async () => {
    const { answer, pieces } = await hear(
      modelOf([start('x'), delta('x', '{"a":1}'), end('x'), start('y'), delta('y', '{"b":2}'), finish('tool-calls')]),
    )
    expect(answer.parts).toMatchObject([{ input: { a: 1 } }, { input: { b: 2 } }])
    expect(pieces.filter((piece) => piece.type === 'tool-call-end')).toHaveLength(2)
  })

  it.each<readonly [string, LanguageModelV4StreamPart[]]>([
    ['before its input', [start('y', 'wipe')]],
    ['before its input, and closed by the provider', [start('y', 'wipe'), end('y'), call('y', '{}', 'wipe')]],
    ['before its input, and closed without a start', [call('y', '', 'wipe')]],
    ['within its input', [start('y', 'wipe'), delta('y', '{"older')]],
  ])('have no valid input if the response is cut %s', async (_, parts) => {
    const { answer } = await hear(modelOf([start('x'), call('x', '{}'), ...parts, finish('length')]))
    expect(answer.parts).toMatchObject([
      { toolName: 'look', input: {} },
      { toolName: 'wipe', input: expect.any(String) as string },
    ])
  })

  it('with text as their input are dropped if the response is cut within it', async () => {
    const raw = { type: 'tool-input-start', id: 'x', toolName: 'shell', inputEncoding: 'text' } as const
    const { answer } = await hear(modelOf([raw, delta('x', 'rm -r /tmp/'), finish('length')]))
    expect(answer).toMatchObject({ ok: true, finishReason: 'length', parts: [] })
    const whole = await hear(modelOf([raw, delta('x', 'rm -r /tmp/x'), finish('tool-calls')]))
    expect(whole.answer.parts).toMatchObject([{ input: 'rm -r /tmp/x' }])
  })

  it('are kept apart when they stream at the same time', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        start('x'),
        start('y', 'send'),
        delta('y', '{"b"'),
        delta('x', '{"a"'),
        delta('y', ':2}'),
        delta('x', ':1}'),
        call('y', '{"b":2}', 'send'),
        call('x', '{"a":1}'),
        finish('tool-calls'),
      ]),
    )
    expect(answer.parts).toMatchObject([
      { callId: 'c0', toolName: 'look', input: { a: 1 } },
      { callId: 'c1', toolName: 'send', input: { b: 2 } },
    ])
    expect(pieces).toContainEqual({ type: 'tool-call-delta', index: 1, callId: 'c1', toolName: 'send', delta: ':2}' })
  })

  it.each([
    ['the same', 'call_0'],
    ['an empty', ''],
  ])('are two calls if the provider gives both %s id', async (_, id) => {
    const { answer } = await hear(
      modelOf([
        start(id),
        delta(id, '{"n":1}'),
        end(id),
        call(id, '{"n":1}'),
        start(id),
        delta(id, '{"n":2}'),
        call(id, '{"n":2}'),
        call(id, '{"n":3}'),
        finish('tool-calls'),
      ]),
    )
    expect(answer.parts).toMatchObject([
      { callId: 'c0', toolCallId: id, input: { n: 1 } },
      { callId: 'c1', toolCallId: id, input: { n: 2 } },
      { callId: 'c2', toolCallId: id, input: { n: 3 } },
    ])
  })

  it('match in order if one id starts twice before the first call', async () => {
    const { answer } = await hear(
      modelOf([
        start('x'),
        start('x', 'send'),
        call('x', '{"n":1}'),
        call('x', '{"n":2}', 'send'),
        finish('tool-calls'),
      ]),
    )
    expect(answer.parts).toMatchObject([
      { callId: 'c0', toolName: 'look', input: { n: 1 } },
      { callId: 'c1', toolName: 'send', input: { n: 2 } },
    ])
  })

  it.each([
    ['invalid JSON', '{"a":', '{"a":'],
    ['nested too deeply', '['.repeat(5000) + ']'.repeat(5000), '['.repeat(5000) + ']'.repeat(5000)],
    ['with a __proto__ key', '{"__proto__":{"admin":true}}', '{"__proto__":{"admin":true}}'],
    ['with an escaped __proto__ key', '{"\\u005f_proto__":{}}', '{"\\u005f_proto__":{}}'],
    [
      'reaching for a constructor',
      '{"a":[{"constructor":{"prototype":{}}}]}',
      '{"a":[{"constructor":{"prototype":{}}}]}',
    ],
  ])('keep input as text that is %s', async (_, written, kept) => {
    const { answer } = await hear(modelOf([call('x', written), finish('tool-calls')]))
    expect(answer.parts).toMatchObject([{ input: kept }])
  })

  it('read empty input as no arguments, and brackets in strings as text', async () => {
    const brackets = JSON.stringify({ code: `\\"${'['.repeat(1000)}`, quote: '"\\' })
    const { answer } = await hear(modelOf([call('x', ''), call('y', brackets), finish('tool-calls')]))
    expect(answer.parts).toMatchObject([{ input: {} }, { input: JSON.parse(brackets) }])
  })

  it.each([
    ['is too deep', JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`) as NonNullable<JSONValue>],
    ['has a prototype key', JSON.parse('{"__proto__":{"isAdmin":true}}') as NonNullable<JSONValue>],
  ])('that the provider executes have their result as text if it %s', async (_, result) => {
    const { answer } = await hear(
      modelOf([{ type: 'tool-result', toolCallId: 's', toolName: 'web_search', result }, finish()]),
    )
    expect(answer.parts).toMatchObject([{ output: { type: 'text', value: JSON.stringify(result) } }])
  })

  it('that the provider executes have their results, which replace preliminary ones', async () => {
    const { answer, pieces } = await hear(
      modelOf([
        { type: 'tool-input-start', id: 's', toolName: 'web_search', providerExecuted: true },
        { type: 'tool-call', toolCallId: 's', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 's', toolName: 'web_search', result: { hits: 0 }, preliminary: true },
        {
          type: 'tool-result',
          toolCallId: 's',
          toolName: 'web_search',
          result: { hits: 3 },
          providerMetadata: { openai: { itemId: 'ws' } },
        },
        { type: 'tool-result', toolCallId: 'earlier', toolName: 'web_fetch', result: 'gone', isError: true },
        finish(),
      ]),
    )
    expect(answer.parts).toEqual([
      {
        type: 'tool-call',
        callId: 'c0',
        toolCallId: 's',
        toolName: 'web_search',
        input: { q: 'x' },
        providerExecuted: true,
      },
      {
        type: 'tool-result',
        callId: 'c0',
        toolCallId: 's',
        toolName: 'web_search',
        output: { type: 'json', value: { hits: 3 } },
        providerOptions: { openai: { itemId: 'ws' } },
      },
      {
        type: 'tool-result',
        callId: 'earlier',
        toolCallId: 'earlier',
        toolName: 'web_fetch',
        output: { type: 'error-json', value: 'gone' },
      },
    ])
    expect(pieces.at(-1)).toMatchObject({ type: 'tool-call-end', providerExecuted: true })
  })
})
