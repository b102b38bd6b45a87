import assert from 'node:assert/strict'

import { entriesOf, until } from './log-state.ts'
import type { EngineDraft } from './subject.ts'

/** How much a process takes, and how it ends. */
export const roomChecks: readonly EngineDraft[] = [
  {
    name: 'a process never runs more sessions than it has room for',
    async run(bench) {
      const ids = Array.from({ length: 9 }, (_, n) => `room.${n}`)
      for (const id of ids) await bench.begin(id, [{ takesMs: 20 }])
      const worker = await bench.worker({ room: 3 })
      for (const id of ids) await worker.parts.engine?.wake(id)
      await bench.ended(ids, 9)
      assert.ok((worker.peaks.get('room') ?? 0) <= 3, `${worker.peaks.get('room')} sessions at once`)
    },
  },
  {
    name: 'a principal that always has more to do does not keep another one waiting for ever',
    async run(bench) {
      const many: string[] = []
      const more = async (): Promise<void> => {
        const id = `many.${many.length}`
        many.push(id)
        await bench.begin(id, [{ takesMs: 20 }], 'ann')
      }
      const effectsOf = (principal: 'ann' | 'bob'): number =>
        bench.effects().filter(({ sessionId }) => (sessionId === 'one') === (principal === 'bob')).length
      while (many.length < 4) await more()
      const worker = await bench.worker({ room: 2 })
      await until(
        () => worker.running > 0,
        () => 'no session runs',
      )
      await bench.begin('one', [{}], 'bob')
      await until(
        async () => {
          if (many.length - effectsOf('ann') < 4) await more()
          return effectsOf('bob') > 0
        },
        () => `bob waits while ann has ended ${effectsOf('ann')} sessions`,
      )
      await bench.ended([...many, 'one'], many.length + 1)
    },
  },
  {
    name: 'a process that drains aborts no run, and another one continues what it left',
    async run(bench) {
      const ids = Array.from({ length: 4 }, (_, n) => `drained.${n}`)
      for (const id of ids) await bench.begin(id, [{ takesMs: 30 }, { takesMs: 30 }, {}])
      const worker = await bench.worker()
      await until(
        () => bench.effects().length > 0,
        () => 'no session runs',
      )
      await worker.close({ graceMs: 5_000 })
      assert.equal(worker.running, 0)
      const before = bench.effects().length
      await bench.begin('after', [{}])
      assert.deepEqual(
        (await entriesOf(bench.store, 'after')).filter(({ type }) => type === 'run'),
        [],
      )
      assert.equal(bench.effects().length, before)
      await bench.worker()
      await bench.ended([...ids, 'after'], 13)
    },
  },
]
