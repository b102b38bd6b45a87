import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { describeSession } from './describe.ts'
import { createDesk, effectsOfSession, modelMs, steps } from './desk.ts'
import type { Disturbance, Trouble } from './disturbances.ts'
import { createTrouble } from './disturbances.ts'
import { followSessions, isOver, patiently } from './follow.ts'
import type { Cluster } from './machines.ts'
import { takeovers } from './takeovers.ts'
import type { Takeovers } from './takeovers.ts'

/** What a cluster has done under disturbances. */
export interface Outcome extends Takeovers {
  readonly sessions: number
  readonly completed: number
  /** Lines of the outside world, and different keys in them: fewer keys mean that an effect was repeated. */
  readonly effects: number
  readonly distinctEffects: number
  readonly killedWorkers: number
  /** Sessions of which six processes in a row were killed before they completed a step: released here, as operators do. */
  readonly quarantined: number
  readonly overheadMsPerStep: number
}

/** What a cluster has to do. */
export interface Work {
  /** Sessions at least: more are begun until the disturbances are over. */
  readonly sessions: number
  /** Sessions that have not ended, at most: fewer than one worker has places, so that no session waits for a place. */
  readonly atOnce: number
  readonly disturbances: readonly Disturbance[]
  say(text: string): void
}

/** Without progress for so long, what has not ended will not end. */
const stuckMs = 90_000

/** Runs sessions while the disturbances happen, one after the other, and waits until all have ended. */
export async function runWork(cluster: Cluster, { sessions, atOnce, disturbances, say }: Work): Promise<Outcome> {
  const { store, outside } = cluster
  const agent = createDesk(store, outside)
  const overheadMsPerStep = await overhead(cluster)
  const follower = followSessions(store, agent)
  const begun = performance.now()
  const trouble = createTrouble(cluster, follower, (text) =>
    say(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${text}`),
  )
  const calm = new AbortController()
  let failure: unknown
  const disturbing = disturb(trouble, disturbances)
    .catch((error: unknown) => (failure = error))
    .finally(() => calm.abort())

  const quarantined = new Set<string>()
  let progress = { at: performance.now(), mark: '' }
  for (let n = 0; ;) {
    if (failure !== undefined) throw failure
    while ((!calm.signal.aborted || n < sessions) && follower.unfinished().length < atOnce) {
      await follower.begin(`session-${n}`, `user-${n % 10}`)
      n++
    }
    await follower.look()
    const left = follower.unfinished()
    if (left.length === 0 && n >= sessions && calm.signal.aborted) break
    if (calm.signal.aborted)
      for (const id of left) if (await patiently(() => store.releaseQuarantine(id))) quarantined.add(id)
    const mark = [...follower.sessions.values()].map(({ turns }) => turns.length).join()
    if (mark !== progress.mark) progress = { at: performance.now(), mark }
    if (performance.now() - progress.at > stuckMs) break
    await sleep(20)
  }
  await disturbing

  const all = [...follower.sessions.values()]
  trouble.say(`${all.filter(({ status }) => isOver(status)).length} of ${all.length} sessions ended`)
  for (const { id, status } of all)
    if (status !== 'completed') process.stderr.write(`${await describeSession(cluster, agent, id)}\n`)
  const lines = existsSync(outside) ? readFileSync(outside, 'utf8').split('\n') : []
  const own = lines.filter((line) => line !== '' && !line.endsWith(' alone'))
  return {
    sessions: all.length,
    completed: all.filter(({ status }) => status === 'completed').length,
    effects: own.length,
    distinctEffects: new Set(own.map((line) => line.split(' ')[0])).size,
    killedWorkers: trouble.kills.length,
    quarantined: quarantined.size,
    // Those in quarantine wait for an operator, not for a process.
    ...takeovers(new Map([...follower.sessions].filter(([id]) => !quarantined.has(id))), trouble.kills),
    overheadMsPerStep,
  }
}

async function disturb(trouble: Trouble, disturbances: readonly Disturbance[]): Promise<void> {
  for (const one of disturbances) await one(trouble)
}

/** Returns what the cluster adds to the time of a model for a step, in milliseconds, measured with one session alone. */
async function overhead({ store, outside }: Cluster): Promise<number> {
  const follower = followSessions(store, createDesk(store, outside))
  await follower.begin('alone', 'alone')
  const began = performance.now()
  while (follower.unfinished().length > 0) {
    await follower.look()
    await sleep(5)
  }
  return Math.round((performance.now() - began) / steps - modelMs)
}

/** How long takeovers may take, in milliseconds. */
export interface TakeoverLimits {
  readonly p50Ms: number
  readonly lastMs: number
}

/**
 * Returns what does not hold of an outcome.
 *
 * @param limits absent: takeovers may take any time.
 */
export function violations(outcome: Outcome, limits?: TakeoverLimits): readonly string[] {
  const { sessions, completed, effects, distinctEffects, takeoverMs, takeoverLastMs } = outcome
  return [
    ...(completed < sessions ? [`${sessions - completed} sessions did not complete`] : []),
    ...(distinctEffects < effects ? [`${effects - distinctEffects} effects were repeated`] : []),
    ...(distinctEffects !== sessions * effectsOfSession
      ? [`there are ${distinctEffects} effects, not ${sessions * effectsOfSession}`]
      : []),
    ...(limits && takeoverMs > limits.p50Ms ? [`half of the takeovers took more than ${limits.p50Ms} ms`] : []),
    ...(limits && takeoverLastMs > limits.lastMs ? [`the last takeover took more than ${limits.lastMs} ms`] : []),
  ]
}
