import type { SessionStore } from '@provost/core'
import { isRecord, uuidv7 } from '@provost/core'

import { isCode } from '../http/request-error.ts'
import type { LiveSession } from './live-session.ts'

/** What a recovery works with. */
export interface RecoverySetup {
  readonly store: SessionStore
  /** Whether this server has the agent of that name. */
  serves(agent: string): boolean
  /** Whether something goes on in the session here. */
  isRunning(id: string): Promise<boolean>
  /** Opens a session for whoever it belongs to. The store counts the takeover before anything of the log is read. */
  open(id: string): Promise<LiveSession>
  /** Resumes the run of a session. @param broken is told what broke it off before the log saw it end. */
  resume(live: LiveSession, broken: (thrown: unknown) => void): Promise<void>
  report(thrown: unknown, sessionId: string): void
}

/** Resumes runs whose process died. */
export interface Recovery {
  /** Looks once. Resolves when each run that it found was tried, but one on probation. */
  look(): Promise<void>
  /** Takes no further run. */
  stop(): void
}

/** Sessions that failed without a process dying of it, and when each may be tried again. */
interface Delay {
  readonly tries: number
  readonly until: number
}

const firstDelayMs = 5_000
const longestDelayMs = 300_000
const mostDelays = 10_000
/** How long a session on probation is alone, at most, by its takeovers without a step. */
const probationMs = (takeovers: number): number => Math.min(2_000 * 4 ** (takeovers - 1), 300_000)
const lookMs = 100
/** Another process has it, or the store has told of it. */
const harmless = ['session-busy', 'session-quarantined', 'shutting-down', 'unknown-session', 'fenced']

/**
 * Takes runs over in the order of their takeovers, the healthy ones at once. One whose last takeover brought no step is
 * on probation: the next of its kind waits until it has completed a step, rests, or its time is over. A run that brings
 * the process down therefore drags few others along, and those are not counted as often as it is.
 */
export function createRecovery(setup: RecoverySetup): Recovery {
  const { store, serves, isRunning, open, resume, report } = setup
  const delays = new Map<string, Delay>()
  let probation: Promise<void> | undefined
  const stopping = new AbortController()

  /** Sessions without a living writer, those with the fewest takeovers first. */
  async function abandoned(): Promise<readonly { readonly id: string; readonly takeovers: number }[]> {
    const found: { readonly id: string; readonly takeovers: number }[] = []
    for await (const { id, agent } of store.list({ status: 'running' })) {
      if (!serves(agent) || (delays.get(id)?.until ?? 0) > Date.now() || (await isRunning(id))) continue
      const { holder, takeovers } = await store.leaseState(id)
      if (holder !== 'alive') found.push({ id, takeovers })
    }
    return found.toSorted((a, b) => a.takeovers - b.takeovers)
  }

  async function takeOver(id: string): Promise<LiveSession | undefined> {
    try {
      const live = await open(id)
      await resume(live, (thrown) => void failed(id, thrown).catch((failure: unknown) => report(failure, id)))
      return live
    } catch (thrown) {
      await failed(id, thrown)
      return undefined
    }
  }

  /** A run that cannot begin is counted like one that killed its writer, unless the remedy may come by itself. */
  async function failed(id: string, thrown: unknown): Promise<void> {
    if (harmless.some((code) => isCode(thrown, code))) return
    report(thrown, id)
    const tries = (delays.get(id)?.tries ?? 0) + 1
    delays.delete(id)
    delays.set(id, { tries, until: Date.now() + Math.min(firstDelayMs * 2 ** (tries - 1), longestDelayMs) })
    for (const oldest of delays.keys()) {
      if (delays.size <= mostDelays) break
      delays.delete(oldest)
    }
    // A lease that nobody keeps counts as that of a writer that died.
    if (isRetryable(thrown)) return
    try {
      await store.lease(id, `failed/${uuidv7()}`, 1)
    } catch (refused) {
      if (!isCode(refused, 'session-quarantined')) throw refused
    }
  }

  /** Leaves a session alone with the process until it has shown what it does. */
  async function watch(live: LiveSession, takeovers: number): Promise<void> {
    for (const end = performance.now() + probationMs(takeovers); performance.now() < end && !stopping.signal.aborted;) {
      if (!live.idle || (await store.leaseState(live.id)).takeovers === 0) return
      await new Promise((resolve) => setTimeout(resolve, lookMs).unref())
    }
  }

  async function look(): Promise<void> {
    for (const { id, takeovers } of await abandoned()) {
      if (stopping.signal.aborted) return
      if (takeovers === 0) await takeOver(id)
      else if (!probation) {
        const live = await takeOver(id)
        if (!live?.idle) continue
        probation = watch(live, takeovers)
          .catch((thrown: unknown) => report(thrown, id))
          .finally(() => (probation = undefined))
      }
    }
  }

  return {
    look,
    stop() {
      stopping.abort()
    },
  }
}

function isRetryable(thrown: unknown): boolean {
  return isRecord(thrown) && thrown['retryable'] === true
}
