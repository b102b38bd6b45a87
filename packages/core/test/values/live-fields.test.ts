import { liveFields } from '@provost/core'
import { expect, test } from 'vitest'

interface Counter {
  count: number
}
const counted = liveFields<Counter, { readonly count: number; readonly shown: string }, { readonly unit: string }>({
  count: ({ count }) => count,
  shown: ({ count }, { unit }) => `${count} ${unit}`,
})

test('a live field is read on each access, in the object and in one that inherits from it', () => {
  const counter = { count: 1 }
  const live = counted({ unit: 'apples' }, counter)
  const above = Object.create(live, { unit: { value: 'pears' } })
  counter.count = 2
  expect(live.shown).toBe('2 apples')
  expect(above.shown).toBe('2 pears')
})

test('a copy has the values without their source', () => {
  const live = counted({ unit: 'apples' }, { count: 3 })
  expect(Reflect.ownKeys({ ...live })).toEqual(['unit', 'count', 'shown'])
  expect(JSON.parse(JSON.stringify(live))).toEqual({ unit: 'apples', count: 3, shown: '3 apples' })
})
