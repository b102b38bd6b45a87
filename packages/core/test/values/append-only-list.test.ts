import { append, emptyList } from '@provost/core'
import type { AppendOnlyList } from '@provost/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const seen = ({ items, length }: AppendOnlyList<string>): readonly string[] => items.slice(0, length)

test('an append-only list stays unchanged when others grow from it', () => {
  const steps = fc.array(fc.record({ from: fc.nat(30), key: fc.constantFrom('a', 'b', 'c', 'd') }), { maxLength: 40 })
  fc.assert(
    fc.property(steps, (grown) => {
      const lists: AppendOnlyList<string>[] = [emptyList]
      const plain: (readonly string[])[] = [[]]
      for (const { from, key } of grown) {
        const at = from % lists.length
        lists.push(append(lists[at] ?? emptyList, key))
        plain.push([...(plain[at] ?? []), key])
      }
      expect(lists.map(seen)).toEqual(plain)
    }),
    { numRuns: 60 },
  )
})

test('appending an item copies nothing', () => {
  let list: AppendOnlyList<number> = emptyList
  list = append(list, 0)
  const { items } = list
  for (let n = 1; n < 1000; n++) list = append(list, n)
  expect(list.items).toBe(items)
  expect(list.length).toBe(1000)
})
