import { addUsage, positionId, textOf, uuidv7 } from '@provost/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { message } from '../arbitrary.ts'

test('textOf joins the text parts of a message and ignores other parts', () => {
  expect(textOf({ content: 'hello' })).toBe('hello')
  fc.assert(
    fc.property(message, (one) => {
      const texts = one.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      expect(textOf(one)).toBe(texts.join(''))
    }),
  )
})

test('addUsage adds the counters and leaves an unreported counter absent', () => {
  expect(addUsage({}, {})).toStrictEqual({})
  expect(addUsage({ inputTokens: 2 }, { inputTokens: 3, outputTokens: 1 })).toStrictEqual({
    inputTokens: 5,
    outputTokens: 1,
  })
  expect(addUsage({ cacheReadTokens: 0 }, {})).toStrictEqual({ cacheReadTokens: 0 })
})

test('an id follows from its position, and session ids sort by time', () => {
  expect(positionId('run', 2, 'call', 0)).toBe('run/2/call/0')
  const ids = Array.from({ length: 200 }, uuidv7)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
