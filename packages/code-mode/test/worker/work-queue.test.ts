import { setImmediate as turn } from 'node:timers/promises'

import fc from 'fast-check'
import { expect, it } from 'vitest'

import { workQueue } from '../../src/worker/work-queue.ts'

it('the queue starts work in order and within its limit, also after failures and aborts', async () => {
  const plan = fc.array(fc.record({ takes: fc.nat({ max: 3 }), fate: fc.constantFrom('ends', 'fails', 'aborted') }))
  await fc.assert(
    fc.asyncProperty(plan, fc.integer({ min: 1, max: 3 }), async (works, most) => {
      const queue = workQueue(most)
      const begun: number[] = []
      let running = 0
      let ran = 0
      const all = works.map(async ({ takes, fate }, n) => {
        const stop = new AbortController()
        const done = queue.take(async () => {
          begun.push(n)
          ran = Math.max(ran, ++running)
          for (let i = 0; i < takes; i++) await turn()
          running--
          if (fate === 'fails') throw new Error('failed')
        }, stop.signal)
        if (fate === 'aborted') stop.abort()
        await done.catch(() => {})
      })
      await Promise.all(all)
      expect(begun).toEqual(begun.toSorted((a, b) => a - b))
      expect(begun).toEqual(expect.arrayContaining(works.flatMap(({ fate }, n) => (fate === 'aborted' ? [] : [n]))))
      expect(ran).toBeLessThanOrEqual(most)
    }),
    { numRuns: 30 },
  )
})
