import { setTimeout as sleep } from 'node:timers/promises'

import { runBatch } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

interface Job {
  readonly id: number
  readonly mode: 'parallel' | 'sequential'
  readonly ticks: number
}

const jobs = fc
  .array(fc.record({ mode: fc.constantFrom('parallel' as const, 'sequential' as const), ticks: fc.nat(4) }), {
    maxLength: 24,
  })
  .map((all): readonly Job[] => all.map((job, id) => ({ ...job, id })))

test('a batch runs at most maxParallel calls, sequential ones alone, in the order of their starts', async () => {
  await fc.assert(
    fc.asyncProperty(jobs, fc.integer({ min: 1, max: 6 }), async (calls, maxParallel) => {
      const started: number[] = []
      const running = new Set<Job>()
      await runBatch(calls, {
        maxParallel,
        mode: (job) => job.mode,
        async run(job) {
          running.add(job)
          started.push(job.id)
          expect(running.size).toBeLessThanOrEqual(maxParallel)
          const sequential = [...running].some(({ mode }) => mode === 'sequential')
          expect(sequential && running.size > 1).toBe(false)
          for (let tick = 0; tick < job.ticks; tick++) await Promise.resolve()
          running.delete(job)
        },
      })
      expect(running.size).toBe(0)
      expect(started).toEqual(calls.map(({ id }) => id))
    }),
  )
})

test('parallel calls overlap', async () => {
  let running = 0
  let most = 0
  await runBatch([1, 2, 3, 4], {
    maxParallel: 3,
    mode: () => 'parallel',
    async run() {
      most = Math.max(most, ++running)
      await sleep(1)
      running--
    },
  })
  expect(most).toBe(3)
})

test('the first error ends the batch after the running calls have ended', async () => {
  const ended: number[] = []
  const batch = runBatch([1, 2, 3], {
    maxParallel: 2,
    mode: () => 'parallel',
    async run(n) {
      if (n === 1) throw new Error('first')
      await sleep(1)
      ended.push(n)
    },
  })
  await expect(batch).rejects.toThrow('first')
  expect(ended).toEqual([2])
})
