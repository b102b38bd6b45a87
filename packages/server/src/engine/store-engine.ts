import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import type { DueSession, EngineService, Rest, SessionStore } from '@provost/core'
import { clockOf, isRecord, uuidv7 } from '@provost/core'

import { claimByList } from './claim-by-list.ts'
import { createProbation } from './probation.ts'

/** What the sweeper of a store needs of its process. */
export interface SweeperSetup {
  readonly store: SessionStore
  /** Milliseconds between looks at the store, with up to a fifth more or less. */
  readonly pollMs: number
  /** Returns the sessions with an active run in this process, those of requests included, or that are being opened. */
  occupied(): number
  /** Whether a session has an active run in this process. */
  isRunning(sessionId: string): boolean
  /** Hands a claimed session to an engine. Where that fails, and after the death of its writer, this process advances it. */
  wake?(session: DueSession): Promise<void>
  /** Asks the oldest run of a principal to rest at its next step. */
  yieldOne(principal: string | undefined): void
  report(thrown: unknown, sessionId?: string): void
}

/** Milliseconds for which a claim hides a session: within them this process takes its lease. */
const hiddenMs = 5_000
/** Milliseconds that the event loop may be late before this process takes no further work. */
const mostLagMs = 200
const firstDelayMs = 5_000
const longestDelayMs = 300_000
const mostDelays = 10_000
/** Codes after which the store makes the session due by itself. */
const settled = ['session-busy', 'session-quarantined', 'shutting-down', 'fenced']

/**
 * Serves the sessions that the store's wake index finds: the engine `none`, and the backstop of every other.
 *
 * It claims as many sessions as there is room for. A principal with half of the room leaves the next place to others, and
 * makes one at the next step of its oldest run. A session that cannot be advanced is claimed again after a delay.
 */
export function serveStore(
  setup: SweeperSetup,
  advance: (sessionId: string) => Promise<Rest>,
  { agents, room }: { readonly agents: readonly string[]; readonly room: number },
): EngineService {
  const { store, pollMs, occupied, isRunning, yieldOne, report } = setup
  const clock = clockOf(store)
  const claimDue = store.claimDue?.bind(store) ?? claimByList(store)
  const probation = createProbation(store)
  /** Claimed sessions that are not at rest, and their principals. */
  const taken = new Map<string, string | undefined>()
  /** A claimed session for which another one makes room. */
  let next: { readonly session: DueSession; readonly until: number } | undefined
  const tries = new Map<string, number>()
  const idle = new Set<() => void>()
  const share = Math.max(1, Math.floor(room / 2))
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let hasMore = false
  let stopped = false

  function free(): number {
    return room - occupied()
  }

  /** Returns the principals that have their share of the room. */
  function served(): readonly string[] {
    const counts = new Map<string, number>()
    for (const principal of taken.values()) {
      if (principal !== undefined) counts.set(principal, (counts.get(principal) ?? 0) + 1)
    }
    return [...counts].flatMap(([principal, count]) => (count >= share ? [principal] : []))
  }

  async function claim(limit: number): Promise<readonly DueSession[]> {
    const except = served()
    const found = await claimDue({ agents, limit, hiddenMs, except })
    if (except.length === 0 || found.length === limit) return found
    return [...found, ...(await claimDue({ agents, limit: limit - found.length, hiddenMs }))]
  }

  /** Claims a session of another principal while there is no room, and asks one with more than its share to rest. */
  async function makeRoom(): Promise<void> {
    if (next && next.until < clock.now()) next = undefined
    const except = served()
    if (next || except.length === 0 || room < 2) return
    const [session] = await claimDue({ agents, limit: 1, hiddenMs, except })
    if (!session || isRunning(session.id)) return
    next = { session, until: clock.now() + hiddenMs }
    yieldOne(except[0])
  }

  async function look(): Promise<void> {
    const limit = free()
    if (limit <= 0) return makeRoom()
    const found = await claim(limit)
    hasMore = found.length === limit
    // Those that have completed a step before their process died come first.
    for (const session of found.toSorted((a, b) => a.takeovers - b.takeovers)) {
      if (stopped) return
      if (!taken.has(session.id) && !isRunning(session.id)) start(session)
      await turn()
    }
  }

  function start(session: DueSession): void {
    const { id, principal } = session
    taken.set(id, principal)
    void serve(session)
      .catch((thrown: unknown) => report(thrown, id))
      .finally(() => {
        taken.delete(id)
        if (stopped) return settle()
        const waiting = next
        next = undefined
        if (waiting && free() > 0 && !taken.has(waiting.session.id)) start(waiting.session)
        else if (hasMore) lookIn(0)
      })
  }

  async function serve(session: DueSession): Promise<void> {
    const { id, takeovers } = session
    if (!probation.admits(takeovers)) return store.setDue?.(id, { at: probation.nextLook() })
    // Of a writer that stalls or is cut off, an engine may not know for a minute, and make the session wait for it.
    if (setup.wake && (await store.leaseState(id)).holder !== 'lapsed') {
      const isHandedOver = await setup.wake(session).then(
        () => true,
        () => false,
      )
      if (isHandedOver) return undefined
    }
    try {
      await probation.during(id, takeovers, advance(id))
      tries.delete(id)
    } catch (thrown) {
      await failed(id, thrown)
    }
  }

  /** Counts a run that cannot begin like one that killed its writer, unless the error is retryable. */
  async function failed(id: string, thrown: unknown): Promise<void> {
    const code = isRecord(thrown) ? thrown['code'] : undefined
    if (settled.some((known) => known === code)) return
    const isForeign = code === 'unknown-session' || code === 'agent-not-served' || code === 'override-not-offered'
    if (!isForeign) report(thrown, id)
    const before = tries.get(id) ?? 0
    tries.delete(id)
    tries.set(id, before + 1)
    for (const oldest of tries.keys()) {
      if (tries.size <= mostDelays) break
      tries.delete(oldest)
    }
    const isRetryable = isRecord(thrown) && thrown['retryable'] === true
    if (!isForeign && !isRetryable && (await isQuarantined(id))) return
    const delayMs = isForeign ? longestDelayMs : Math.min(firstDelayMs * 2 ** before, longestDelayMs)
    await store.setDue?.(id, { at: clock.now() + delayMs })
  }

  /** Leaves a lease behind, which counts as that of a dead writer. */
  async function isQuarantined(id: string): Promise<boolean> {
    try {
      await store.lease(id, `failed/${uuidv7()}`, 1)
    } catch (refused) {
      if (isRecord(refused) && refused['code'] === 'session-quarantined') return true
      throw refused
    }
    while ((await store.leaseState(id)).holder === 'alive') await sleep(2)
    return false
  }

  function lookIn(ms: number): void {
    if (stopped || looking) return
    clearTimeout(timer)
    const dueAt = performance.now() + ms
    timer = setTimeout(() => {
      // A late timer means a busy event loop: what runs here comes first.
      if (performance.now() - dueAt > mostLagMs) return lookIn(nextPoll())
      looking = true
      void look()
        .catch((thrown: unknown) => report(thrown))
        .finally(() => {
          looking = false
          lookIn(nextPoll())
        })
    }, ms).unref()
  }

  const nextPoll = (): number => pollMs * (0.8 + 0.4 * Math.random())

  function settle(): void {
    if (taken.size === 0) for (const resolve of idle) resolve()
  }

  // Runs that an earlier process left are resumed at once.
  if (room > 0) lookIn(0)
  return {
    async drain(ms) {
      stopped = true
      clearTimeout(timer)
      probation.stop()
      if (taken.size === 0) return
      const over = Promise.withResolvers<void>()
      idle.add(over.resolve)
      const grace = setTimeout(over.resolve, ms)
      await over.promise
      clearTimeout(grace)
    },
  }
}
