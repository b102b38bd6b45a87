import { setTimeout as sleep } from 'node:timers/promises'

import { createTrouble } from '../cluster/disturbances.ts'
import type { Trouble } from '../cluster/disturbances.ts'
import { followSessions, patiently } from '../cluster/follow.ts'
import type { Followed } from '../cluster/follow.ts'
import { hasPostgres, startCluster } from '../cluster/machines.ts'
import type { Memory } from '../cluster/machines.ts'
import { createDesk } from './desk.ts'
import type { SoakInput } from './desk.ts'
import { growth, memoryTrend } from './memory-trend.ts'
import type { MemoryTrend } from './memory-trend.ts'
import { planOf } from './plan.ts'
import { randomFrom } from './random.ts'
import { checkSessions } from './session-check.ts'
import type { Checked } from './session-check.ts'

/** A soak. */
export interface SoakOptions {
  /** How long sessions are begun, in milliseconds. */
  readonly ms: number
  readonly seed: number
  /** Sessions in progress. */
  readonly atOnce: number
  readonly workers: number
  /** `sqlite` although PostgreSQL is installed. */
  readonly store: string | undefined
  /** Folder for the exports of sessions for which something does not hold. */
  readonly logs: string | undefined
  say(text: string): void
  /** Begins no further sessions. */
  readonly stopping: AbortSignal
}

/** What a soak has done, and what does not hold. */
export interface SoakOutcome extends Checked, MemoryTrend {
  readonly seed: number
  readonly minutes: number
  readonly store: 'postgres' | 'sqlite'
  readonly atOnce: number
  readonly workers: number
  readonly killedWorkers: number
  readonly drains: number
  readonly outages: number
  /** Sessions of which six processes in a row were killed before they completed a step: released here, as operators do. */
  readonly quarantined: number
  /** Measurements of the memory. */
  readonly samples: number
}

const sampleMs = 10_000
/** Without progress for so long, what has not ended will not end. */
const stuckMs = 300_000

const numberOf = (id: string): number => Number(id.slice('soak-'.length))

/** Runs mixed sessions under disturbances, and checks them when all have ended. */
export async function soak(options: SoakOptions): Promise<SoakOutcome> {
  const { ms, seed, atOnce, store: wanted, logs, say, stopping } = options
  const kind = wanted === undefined && hasPostgres() ? 'postgres' : 'sqlite'
  const desk = new URL('desk.ts', import.meta.url)
  const cluster = await startCluster({ engine: 'none', store: kind, workers: options.workers, desk })
  try {
    const { store, outside } = cluster
    const [spared] = cluster.workers
    if (!spared) throw new Error('No worker has started.')
    const agent = createDesk(store, outside)
    const follower = followSessions(store, agent, {
      inputOf(id) {
        const { calls, fails } = planOf(seed, numberOf(id))
        return JSON.stringify({ id, calls, fails } satisfies SoakInput)
      },
      answerOf: (id) => planOf(seed, numberOf(id)).answer,
    })
    const begun = performance.now()
    const elapsed = (): number => performance.now() - begun
    const line = (text: string): void => say(`${(elapsed() / 1_000).toFixed(0).padStart(6)} s  ${text}`)
    const counts = { drains: 0, outages: 0 }
    const trouble = createTrouble(cluster, follower, () => {}, spared)
    const failures: string[] = []
    let isCalm = false
    const isOver = (): boolean => elapsed() >= ms || stopping.aborted || failures.length > 0
    const disturbing = disturb(trouble, randomFrom(seed), isOver, counts)
      .catch((error: unknown) => failures.push(`no further disturbances: ${String(error)}`))
      .finally(() => (isCalm = true))

    const begins = new Map<string, number>()
    const aborted = new Set<string>()
    const quarantined = new Set<string>()
    const samples: Memory[] = []
    let progress = { at: elapsed(), mark: '' }
    for (let nextSample = sampleMs; ;) {
      while (!isOver() && follower.unfinished().length < atOnce) {
        const id = `soak-${begins.size}`
        begins.set(id, elapsed())
        await follower.begin(id, `user-${begins.size % 10}`)
      }
      await follower.look()
      const left = follower.unfinished()
      for (const id of left) {
        const after = planOf(seed, numberOf(id)).abortAfterMs
        const runId = follower.sessions.get(id)?.runId
        if (after === undefined || !runId || aborted.has(id) || elapsed() - (begins.get(id) ?? 0) < after) continue
        aborted.add(id)
        await patiently(() => store.deliver(id, `abort/${id}`, { runId, options: { graceMs: 0 } }, 'operator'))
      }
      if (isCalm) for (const id of left) if (await patiently(() => store.releaseQuarantine(id))) quarantined.add(id)
      if (elapsed() >= nextSample) {
        nextSample += sampleMs
        const memory = await cluster.measure(spared)
        samples.push(memory)
        const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`
        line(
          `${begins.size} sessions, ${left.length} in progress, ${trouble.kills.length} kills, ${counts.outages} outages; ` +
            `heap ${megabytes(memory.heapUsed)}, process ${megabytes(memory.rss)}`,
        )
      }
      if (left.length === 0 && isOver() && isCalm) break
      const mark = [...follower.sessions.values()].map(({ turns }: Followed) => turns.length).join()
      if (mark !== progress.mark) progress = { at: elapsed(), mark }
      if (elapsed() - progress.at > stuckMs) break
      await sleep(20)
    }
    await disturbing

    line('checking')
    const checked = await checkSessions({ cluster, agent, seed, sessions: follower.sessions, aborted, logs })
    for (const worker of cluster.workers) await cluster.end(worker, 'SIGTERM')
    const trend = memoryTrend(samples)
    return {
      ...{ seed, minutes: Math.round(elapsed() / 6_000) / 10, store: kind, atOnce, workers: options.workers },
      ...checked,
      ...{ killedWorkers: trouble.kills.length, ...counts, quarantined: quarantined.size },
      ...{ samples: samples.length, ...trend },
      violations: [
        ...failures,
        ...checked.violations,
        ...growth(trend, samples.length),
        ...cluster.left.flatMap((open) =>
          open.length > 0 ? [`a process that has closed keeps ${open.join(', ')}`] : [],
        ),
        ...(cluster.left.length === 0 ? ['no process has ended by itself'] : []),
      ],
    }
  } finally {
    await cluster.stop()
  }
}

/** Disturbs a cluster at random until the time is over. */
async function disturb(
  trouble: Trouble,
  random: () => number,
  isOver: () => boolean,
  counts: { drains: number; outages: number },
): Promise<void> {
  const ending = over(isOver)
  for (;;) {
    // Runs complete steps between kills: one that completes none in five processes is quarantined.
    await Promise.race([trouble.ended(3), ending])
    await sleep(random() * 2_000)
    // The last sessions may have ended: then there is no worker to kill.
    if (isOver()) break
    const dice = random()
    if (dice < 0.75) {
      await trouble.kill(false)
    } else if (dice < 0.9) {
      counts.drains++
      await trouble.drain()
    } else {
      counts.outages++
      await trouble.takeStoreAway(500 + random() * 3_000, dice < 0.97 ? 'refuse' : 'swallow')
    }
  }
  await trouble.replaced()
}

/** Resolves when no further sessions are begun. */
async function over(isOver: () => boolean): Promise<void> {
  while (!isOver()) await sleep(100)
}
