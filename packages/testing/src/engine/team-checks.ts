import assert from 'node:assert/strict'

import type { EngineBench, EngineDraft } from './subject.ts'

/** Waits until a session and its children have ended, and checks their effects. */
async function teamEnded(bench: EngineBench, id: string, effects: number): Promise<void> {
  await bench.ended([id], 0)
  const children = await bench.childrenOf(id)
  await bench.ended(children, effects)
}

/** What the sessions of children do that may run on any worker. */
export const teamChecks: readonly EngineDraft[] = [
  {
    name: 'children run on any worker, each effect once, and their parent ends after them',
    async run(bench) {
      await bench.beginChief('chief', [{}, {}, {}, {}])
      await bench.worker({ room: 2 })
      await bench.worker({ room: 2 })
      await teamEnded(bench, 'chief', 4)
    },
  },
  {
    name: 'a question of a child is answered at its parent, also while no process lives',
    async run(bench) {
      await bench.beginChief('chief', [{ asks: true }, {}])
      const first = await bench.worker()
      const token = await bench.question('chief')
      await first.close({ graceMs: 1_000 })
      assert.equal(await bench.store.deliver('chief', token, { decision: 'approve' }, 'boss'), 'accepted')
      await bench.worker()
      await teamEnded(bench, 'chief', 2)
    },
  },
  {
    name: 'a worker killed in a child, or after it, loses no child and repeats no effect',
    isSlow: true,
    async run(bench) {
      await bench.beginChief('chief', [{}, {}, {}])
      for (const moment of ['in a model call', 'before an effect', 'after an effect'] as const) {
        const victim = await bench.distantWorker(moment)
        await victim.reached
        victim.signal('SIGKILL')
        await victim.ended()
      }
      await bench.worker()
      await teamEnded(bench, 'chief', 3)
    },
  },
]
