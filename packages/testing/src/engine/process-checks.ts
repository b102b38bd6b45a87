import type { EngineMoment } from './engine-desk.ts'
import { until } from './log-state.ts'
import type { EngineDraft } from './subject.ts'

const moments: readonly EngineMoment[] = ['in a model call', 'before an effect', 'after an effect']

/** What is left when processes die. */
export const processChecks: readonly EngineDraft[] = [
  ...moments.map((moment): EngineDraft => ({
    name: `a worker killed ${moment} loses no session and repeats no effect`,
    isSlow: true,
    async run(bench) {
      await bench.begin('session', [{}, {}])
      const victim = await bench.distantWorker(moment)
      await victim.reached
      victim.signal('SIGKILL')
      await victim.ended()
      await bench.worker()
      await bench.ended(['session'], 2)
    },
  })),
  {
    name: 'the deadline of a wait is kept when the process that set it is killed',
    isSlow: true,
    async run(bench) {
      await bench.begin('session', [{ asks: true, withinMs: 2_000 }, {}])
      const victim = await bench.distantWorker()
      await bench.question('session')
      victim.signal('SIGKILL')
      await victim.ended()
      await bench.worker()
      await bench.ended(['session'], 1)
    },
  },
  {
    name: 'a worker that stalls beyond its lease and then continues changes nothing',
    isSlow: true,
    async run(bench) {
      await bench.begin('session', [{}, {}])
      // It has paid, and records it only when it continues.
      const stalled = await bench.distantWorker('after an effect')
      await stalled.reached
      stalled.signal('SIGSTOP')
      await until(
        async () => (await bench.store.leaseState('session')).holder === 'lapsed',
        () => 'the lease does not expire',
      )
      await bench.worker()
      await bench.ended(['session'], 2)
      stalled.signal('SIGCONT')
      await bench.begin('other', [{}])
      await bench.ended(['other'], 1)
      await bench.ended(['session'], 2)
    },
  },
  {
    name: 'sessions end although the server of the engine is killed, also those that become due while it is away',
    isSlow: true,
    async run(bench) {
      const ids = Array.from({ length: 6 }, (_, n) => `session.${n}`)
      for (const id of ids) await bench.begin(id, [{ takesMs: 200 }, { asks: true }])
      const { engine } = (await bench.worker()).parts
      for (const id of ids) await engine?.wake(id)
      const [first = '', ...others] = ids
      const approve = async (id: string): Promise<void> => {
        await bench.store.deliver(id, await bench.question(id), { decision: 'approve' }, 'boss')
      }
      await bench.question(first)
      const startAgain = await bench.place.killServer?.()
      await approve(first)
      await bench.begin('late', [{}])
      // As a process does that delivers: a wake is a hint, which may be lost.
      await engine?.wake('late').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 2 * bench.leaseMs))
      await startAgain?.()
      for (const id of others) await approve(id)
      await bench.ended([...ids, 'late'], 13)
    },
  },
]
