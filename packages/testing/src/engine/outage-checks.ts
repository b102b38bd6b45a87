import { until } from './log-state.ts'
import type { EngineDraft, StoreOutage } from './subject.ts'

/** Returns a check in which the store goes away while sessions run, wait for an answer, and wait for a deadline. */
function through(outage: StoreOutage, leases: number, what: string): EngineDraft {
  return {
    name: `sessions end although the store ${what}`,
    isSlow: true,
    outage,
    async run(bench) {
      const running = ['runs.1', 'runs.2', 'runs.3']
      for (const id of running) await bench.begin(id, [{ takesMs: 100 }, { takesMs: 100 }, {}])
      await bench.begin('asks', [{ asks: true }, {}])
      await bench.begin('expires', [{ asks: true, withinMs: bench.leaseMs }, {}])
      await bench.worker()
      await bench.worker()
      const token = await bench.question('asks')
      await until(
        () => bench.effects().length > 0,
        () => 'no session runs',
      )
      const giveBack = bench.place.takeStoreAway?.(outage)
      const answered = bench.store.deliver('asks', token, { decision: 'approve' }, 'boss')
      await new Promise((resolve) => setTimeout(resolve, leases * bench.leaseMs))
      giveBack?.()
      await answered
      await bench.ended(running, 9)
      await bench.ended(['asks'], 2)
      await bench.ended(['expires'], 1)
    },
  }
}

/** What happens while the store is away. */
export const outageChecks: readonly EngineDraft[] = [
  through('refused', 1 / 4, 'accepts no connections for a quarter of a lease'),
  through('refused', 2, 'accepts no connections for two leases'),
  through('silent', 2, 'answers nothing for two leases'),
]
