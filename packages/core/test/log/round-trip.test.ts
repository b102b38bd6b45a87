import { deepFreeze, eventFilter, eventTypes, eventTypesWith, hasTrait, isEventType, toJson } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { entryOf, entryTypes, eventOf, message } from '../arbitrary.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** Returns a value as a store, a socket or another process returns it. */
function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('a JSON round trip preserves', () => {
  test.for(eventTypes)('the event %s', (type) => {
    fc.assert(
      fc.property(eventOf(type), (event) => {
        expect(event.type).toBe(type)
        expect(sent(event)).toStrictEqual(event)
        expect(toJson(event)).toStrictEqual(event)
        expect(sent(deepFreeze(event))).toStrictEqual(event)
      }),
      { numRuns: full ? 100 : 8 },
    )
  })

  test.for(entryTypes)('the entry %s', (type) => {
    fc.assert(
      fc.property(entryOf(type), (entry) => {
        expect(entry.type).toBe(type)
        expect(sent(entry)).toStrictEqual(entry)
        expect(toJson(entry)).toStrictEqual(entry)
      }),
      { numRuns: full ? 100 : 15 },
    )
  })

  test('a message', () => {
    fc.assert(
      fc.property(message, (one) => {
        expect(sent(one)).toStrictEqual(one)
      }),
    )
  })
})

test('eventFilter accepts the events of its families, and hasTrait the events that have the trait', () => {
  const isAnswer = eventFilter('text', 'reasoning')
  const events = eventTypes.flatMap((type) => fc.sample(eventOf(type), { numRuns: 1, seed: 1 }))
  expect(events.filter(isAnswer).map(({ type }) => type)).toEqual([
    ...['text.start', 'text.delta', 'text.end', 'reasoning.start', 'reasoning.delta', 'reasoning.end'],
  ])
  expect(events.filter(eventFilter())).toEqual([])
  const ends = ['tool.execute.end', 'tool.execute.error', 'tool.skipped']
  expect(events.filter((event) => hasTrait(event, 'endsCall')).map(({ type }) => type)).toEqual(ends)
  expect([...eventTypesWith('endsCall')]).toEqual(ends)
})

test('eventTypes lists every event type once, and isEventType accepts no other', () => {
  expect(new Set(eventTypes).size).toBe(eventTypes.length)
  expect(eventTypes).toContain('agent.end')
  expect(isEventType('agent.end')).toBe(true)
  for (const stranger of ['', 'agent', 'toString', '__proto__', 'constructor'])
    expect(isEventType(stranger)).toBe(false)
})
