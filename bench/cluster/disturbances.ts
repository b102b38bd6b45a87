import { setTimeout as sleep } from 'node:timers/promises'

import type { Follower } from './follow.ts'
import type { Cluster, WorkerProcess } from './machines.ts'
import { wasRunning } from './takeovers.ts'
import type { Kill } from './takeovers.ts'

/** What disturbs a cluster, one thing at a time. */
export interface Trouble {
  readonly kills: readonly Kill[]
  say(text: string): void
  /** Waits until so many more sessions have ended. */
  ended(count: number): Promise<void>
  /**
   * Kills a worker that runs sessions and starts another one.
   *
   * @param settled waits until that has started, and the sessions run elsewhere.
   */
  kill(settled: boolean): Promise<void>
  /** Waits until all processes that replace others have started. */
  replaced(): Promise<void>
  restartRestate(): Promise<void>
  /** @param how default: the store accepts no connections. */
  takeStoreAway(ms: number, how?: 'refuse' | 'swallow'): Promise<void>
  drain(): Promise<void>
}

export type Disturbance = (trouble: Trouble) => Promise<void>

/** Longest wait for a disturbance to have something to disturb, or for its effects to pass. */
const patienceMs = 60_000

const inOrder: readonly Disturbance[] = [
  (trouble) => trouble.kill(true),
  (trouble) => trouble.kill(true),
  (trouble) => trouble.restartRestate(),
  (trouble) => trouble.takeStoreAway(2_000),
  (trouble) => trouble.kill(true),
  (trouble) => trouble.drain(),
]

/** The disturbances of the demo: each one comes while sessions run, and after the one before it has been settled. */
export const demoDisturbances: readonly Disturbance[] = inOrder.flatMap((one) => [(trouble) => trouble.ended(12), one])

/** Kills at random moments, also while the sessions of earlier victims still wait for their next process. */
export const randomKills = (count: number): readonly Disturbance[] => [
  ...Array.from({ length: count }, () => async (trouble: Trouble) => {
    // Runs complete steps between kills: one that completes none in five processes is quarantined.
    await trouble.ended(3)
    await sleep(Math.random() * 1_000)
    await trouble.kill(false)
  }),
  (trouble) => trouble.replaced(),
]

/**
 * Creates the disturbances of a cluster.
 *
 * @param spared a worker that is neither killed nor drained.
 */
export function createTrouble(
  cluster: Cluster,
  follower: Follower,
  say: (text: string) => void,
  spared?: WorkerProcess,
): Trouble {
  const kills: Kill[] = []
  const starting: Promise<unknown>[] = []

  async function until(isOver: () => boolean): Promise<void> {
    for (const end = performance.now() + patienceMs; !isOver() && performance.now() < end;) await sleep(10)
  }

  const endedSessions = (): number => follower.sessions.size - follower.unfinished().length

  /** Returns the sessions that a worker runs, as far as their logs have been read. */
  const runBy = (worker: WorkerProcess): readonly string[] =>
    cluster.leasedBy(worker).filter((id) => wasRunning(follower.sessions.get(id)?.turns ?? [], Date.now()))

  function busyWorker(): WorkerProcess | undefined {
    const busy = [...cluster.workers].filter((worker) => worker !== spared && runBy(worker).length > 0)
    return busy[Math.floor(Math.random() * busy.length)]
  }

  /** The spared worker may run all that there is. */
  function idleWorker(): WorkerProcess | undefined {
    return spared && [...cluster.workers].find((worker) => worker !== spared)
  }

  return {
    kills,
    say,
    async ended(count) {
      const before = endedSessions()
      await until(() => endedSessions() >= before + count)
    },
    async kill(settled) {
      await until(() => busyWorker() !== undefined)
      const victim = busyWorker() ?? idleWorker()
      if (!victim) throw new Error('No worker runs a session: there is none to kill.')
      const at = Date.now()
      const logs = await cluster.end(victim, 'SIGKILL')
      const leased = logs.filter((log) => follower.sessions.has(log))
      const kill = { at, goneAt: Date.now(), leased }
      kills.push(kill)
      say(`worker ${victim.pid} killed, which ran ${leased.length} sessions; ${endedSessions()} have ended`)
      const replacement = cluster.startWorker()
      if (!settled) {
        // Reported by `replaced`.
        replacement.catch(() => {})
        starting.push(replacement)
        return
      }
      await replacement
      const isTaken = (id: string): boolean => {
        const turns = follower.sessions.get(id)?.turns ?? []
        return !wasRunning(turns, kill.goneAt) || turns.some((turn) => turn.at > kill.goneAt)
      }
      await until(() => leased.every(isTaken))
    },
    async replaced() {
      await Promise.all(starting.splice(0))
    },
    async restartRestate() {
      const { restate } = cluster
      if (!restate) return
      await restate.kill()
      say('Restate server killed')
      await sleep(500)
      await restate.restart()
      say('Restate server started again')
    },
    async takeStoreAway(ms, how = 'refuse') {
      const { database } = cluster
      if (!database) return
      database[how]()
      say(how === 'refuse' ? 'store away' : 'store silent')
      await sleep(ms)
      database.carry()
      say('store back')
    },
    async drain() {
      await until(() => busyWorker() !== undefined)
      const worker = busyWorker() ?? idleWorker()
      if (!worker) throw new Error('No worker runs a session: there is none to drain.')
      await Promise.all([cluster.startWorker(), cluster.end(worker, 'SIGTERM')])
      say(`worker ${worker.pid} drained`)
    },
  }
}
