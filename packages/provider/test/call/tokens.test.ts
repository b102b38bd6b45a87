import type { Message, Part } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'
import * as fc from 'fast-check'
import { estimateTokenCount } from 'tokenx'
import { describe, expect, it } from 'vitest'

const message = (...content: Part[]): Message => ({ id: 'm', role: 'assistant', createdAt: 0, content })

describe('the token estimate', () => {
  it('is close to the count of models, in prose, code, numbers and other scripts', () => {
    // The counts of the o200k_base tokenizer.
    const counted: [string, number][] = [
      ['The quick brown fox jumps over the lazy dog and runs away from the bear.', 16],
      ['const total = items.reduce((sum, item) => sum + item.price * item.count, 0)', 22],
      ['今日は天気がいいので、公園を散歩しました。', 13],
      ['Die Bestellung wurde gestern verschickt und kommt voraussichtlich am Freitag an.', 15],
      ['{"orderId":"A-1047","items":[{"sku":"X1","count":2}],"total":80.5}', 28],
    ]
    for (const [text, tokens] of counted) {
      expect(estimateTokens(text)).toBeGreaterThan(tokens * 0.7)
      expect(estimateTokens(text)).toBeLessThan(tokens * 1.4)
    }
    expect(estimateTokens('')).toBe(0)
  })

  it('equals that of tokenx in ASCII, and is close to it elsewhere', () => {
    const word = fc.oneof(fc.stringMatching(/^[a-z]{1,12}$/), fc.stringMatching(/^\d{1,9}$/), fc.string())
    const between = fc.stringMatching(/^[ \n\t.,:"{}-]{0,5}$/)
    const prose = fc.array(fc.tuple(word, between)).map((all) => all.flat().join(''))
    fc.assert(
      fc.property(prose, (text) => {
        expect(estimateTokens(text)).toBe(estimateTokenCount(text))
      }),
    )
    const any = fc.string({ unit: fc.oneof(fc.constantFrom(' ', '\n', 'a', '.', '日', '、', 'é', '👍'), fc.string()) })
    fc.assert(
      fc.property(any, (text) => {
        const library = estimateTokenCount(text)
        expect(Math.abs(estimateTokens(text) - library)).toBeLessThanOrEqual(2 + library / 2)
      }),
    )
  })

  it('grows linearly, also beyond one window', () => {
    const sentence = 'The order was shipped on Monday. '
    const one = estimateTokens(sentence.repeat(1000))
    expect(estimateTokens(sentence.repeat(10_000)) / one).toBeCloseTo(10, 1)
  })

  it('is linear for hostile text', () => {
    const most = process.env['PROVOST_TEST_FULL'] === '1' ? 1e6 : 1e5
    for (const text of [
      ' '.repeat(most),
      '"'.repeat(most),
      'a'.repeat(most),
      '👩‍👩‍👧‍👦'.repeat(most / 10),
      '\n \n'.repeat(most / 3),
      'é'.repeat(most),
    ])
      expect(estimateTokens(text)).toBeLessThanOrEqual(text.length * 2)
  })

  it('of a message covers all its parts', () => {
    const parts: Part[] = [
      { type: 'text', text: 'Hello there' },
      { type: 'reasoning', text: 'Hmm, let me see' },
      { type: 'tool-call', callId: 'c', toolCallId: 'x', toolName: 'look', input: { order: 17 } },
      {
        type: 'tool-result',
        callId: 'c',
        toolCallId: 'x',
        toolName: 'look',
        output: { type: 'json', value: { status: 'shipped' } },
      },
      {
        type: 'tool-result',
        callId: 'c',
        toolCallId: 'x',
        toolName: 'look',
        output: { type: 'error-text', value: 'no such order' },
      },
      {
        type: 'tool-result',
        callId: 'c',
        toolCallId: 'x',
        toolName: 'look',
        output: { type: 'execution-denied', reason: 'not today' },
      },
    ]
    let before = messageTokens(message())
    for (let count = 1; count <= parts.length; count += 1) {
      const now = messageTokens(message(...parts.slice(0, count)))
      expect(now).toBeGreaterThan(before)
      before = now
    }
  })

  it('of a file does not depend on its bytes, unless it is text', () => {
    const file = (data: string): Part => ({ type: 'file', mediaType: 'image/png', data: { type: 'data', data } })
    expect(messageTokens(message(file('A'.repeat(1e6))))).toBe(messageTokens(message(file('A'))))
    const text = (one: string): Part => ({ type: 'file', mediaType: 'text/plain', data: { type: 'text', text: one } })
    expect(messageTokens(message(text('word '.repeat(5000))))).toBeGreaterThan(4000)
    const rich: Part = {
      type: 'tool-result',
      callId: 'c',
      toolCallId: 'x',
      toolName: 'look',
      output: { type: 'content', value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A' } }] },
    }
    expect(messageTokens(message(rich))).toBeGreaterThan(1000)
  })

  it('of a message is computed once', () => {
    let reads = 0
    const one = {
      ...message(),
      get content(): readonly Part[] {
        reads += 1
        return []
      },
    }
    messageTokens(one)
    messageTokens(one)
    expect(reads).toBe(1)
  })
})
