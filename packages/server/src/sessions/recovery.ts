import type { SessionStore } from '@provost/core'
import { isRecord, uuidv7 } from '@provost/core'

import { isCode } from '../http/request-error.ts'
import type { LiveSession } from './live-session.ts'

/** Dependencies of a recovery. */
export interface RecoverySetup {
  readonly store: SessionStore
  /** Whether this server has an agent of that name. */
  serves(agent: string): boolean
  /** Whether the session has an active run in this process. */
  isRunning(id: string): Promise<boolean>
  /** Opens a session for its own principal. The store counts the takeover before the log is read. */
  open(id: string): Promise<LiveSession>
  /** Resumes the run of a session. @param broken receives an error that stops the run before its end is in the log. */
  resume(live: LiveSession, broken: (thrown: unknown) => void): Promise<void>
  report(thrown: unknown, sessionId: string): void
}

/** Resumes runs whose process died. */
export interface Recovery {
  /** Looks once for such runs. Resolves when each found run was tried, except one on probation. */
  scan(): Promise<void>
  /** Takes over no further run. */
  stop(): void
}

/** The backoff of a session whose recovery failed without killing the process. */
interface Delay {
  readonly tries: number
  readonly until: number
}

const firstDelayMs = 5_000
const longestDelayMs = 300_000
const mostDelays = 10_000
/** Returns the milliseconds of probation at most, by the number of takeovers without a completed step. */
const probationMs = (takeovers: number): number => Math.min(2_000 * 4 ** (takeovers - 1), 300_000)
const lookMs = 100
/** Codes that need no report: another process has the session, or the store has reported it. */
const harmless = ['session-busy', 'session-quarantined', 'shutting-down', 'unknown-session', 'fenced']

/**
 * Creates a recovery. It takes runs over in the order of their takeovers, the healthy ones at once.
 *
 * A run whose last takeover completed no step is on probation. The next such run waits until this one completes a step,
 * is idle, or its probation ends. A run that kills the process therefore interrupts few other runs, and their takeovers
 * grow more slowly than its own.
 */
export function createRecovery(setup: RecoverySetup): Recovery {
  const { store, serves, isRunning, open, resume, report } = setup
  const delays = new Map<string, Delay>()
  let probation: Promise<void> | undefined
  const stopping = new AbortController()

  /** Returns the sessions without a living writer, those with the fewest takeovers first. */
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

  /** Counts a run that cannot begin like one that killed its writer, unless the error is retryable. */
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
    // An unreleased lease counts as the lease of a dead writer.
    if (isRetryable(thrown)) return
    try {
      await store.lease(id, `failed/${uuidv7()}`, 1)
    } catch (refused) {
      if (!isCode(refused, 'session-quarantined')) throw refused
    }
  }

  /** Waits until a session on probation completes a step, is idle, or its probation ends. */
  async function watch(live: LiveSession, takeovers: number): Promise<void> {
    for (const end = performance.now() + probationMs(takeovers); performance.now() < end && !stopping.signal.aborted;) {
      if (!live.idle || (await store.leaseState(live.id)).takeovers === 0) return
      await new Promise((resolve) => setTimeout(resolve, lookMs).unref())
    }
  }

  async function scan(): Promise<void> {
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
    scan,
    stop() {
      stopping.abort()
    },
  }
}

function isRetryable(thrown: unknown): boolean {
  return isRecord(thrown) && thrown['retryable'] === true
}
