import type { Appended, Lease, NewEntry, SessionStore } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

/** A store that rejects the runs of this process on shutdown, so that they stop where another process can resume them. */
export interface DrainingStore {
  readonly store: SessionStore
  /** Stops runs before the next tool or run starts; running tools may still write their results. */
  drain(): void
  /** Rejects all further writes of runs. */
  stop(): void
}

/**
 * Wraps a store. A run whose append it rejects stays in the log as if its process had died there, and so does one whose
 * store is away for longer than it repeats the append.
 *
 * @param onRefused is called before the run receives the error.
 * @param before returns writes that must be in the store before an append to a log.
 * @param onQuarantined is called once for each session that the store quarantines.
 */
export function drainingStore(
  inner: SessionStore,
  onRefused: (log: string) => void,
  before: (log: string) => Promise<void> | undefined,
  onQuarantined: (sessionId: string, thrown: unknown) => void,
): DrainingStore {
  let phase: 'open' | 'draining' | 'stopped' = 'open'
  /** Logs whose writer was rejected once: no entry may follow, not even that the run failed. */
  const refused = new Set<string>()

  async function append(...[log, entries, at]: Parameters<SessionStore['append']>): Promise<Appended> {
    if (phase === 'stopped' || refused.has(log) || (phase === 'draining' && entries.some(isStart))) {
      refused.add(log)
      onRefused(log)
      throw closing()
    }
    const settling = before(log)
    if (settling) await settling
    try {
      return await inner.append(log, entries, at)
    } catch (thrown) {
      if (isRecord(thrown) && thrown['retryable'] === true) onRefused(log)
      throw thrown
    }
  }

  /** Reported sessions: each attempt to lease one fails, and only the first is reported. */
  const reported = new Set<string>()

  async function lease(...asked: Parameters<SessionStore['lease']>): Promise<Lease | 'busy'> {
    try {
      return await inner.lease(...asked)
    } catch (thrown) {
      const [log] = asked
      if (isRecord(thrown) && thrown['code'] === 'session-quarantined' && !reported.has(log)) {
        reported.add(log)
        onQuarantined(log, thrown)
      }
      throw thrown
    }
  }

  async function releaseQuarantine(sessionId: string): Promise<boolean> {
    reported.delete(sessionId)
    return inner.releaseQuarantine(sessionId)
  }

  return {
    store: { ...withAppend(inner, append), lease, releaseQuarantine },
    drain() {
      phase = 'draining'
    },
    stop() {
      phase = 'stopped'
    },
  }
}

/** Binds the methods to the wrapped store, since they may use `this`. */
function withAppend(inner: SessionStore, append: SessionStore['append']): SessionStore {
  return {
    ...(inner.ephemeral && { ephemeral: true as const }),
    ...(inner.private && { private: true as const }),
    ...(inner.clock && { clock: inner.clock }),
    ...(inner.transient && { transient: inner.transient }),
    ...(inner.summaries && { summaries: inner.summaries }),
    append,
    lease: (...args) => inner.lease(...args),
    release: (...args) => inner.release(...args),
    leaseState: (...args) => inner.leaseState(...args),
    releaseQuarantine: (...args) => inner.releaseQuarantine(...args),
    read: (...args) => inner.read(...args),
    deliver: (...args) => inner.deliver(...args),
    inbox: (...args) => inner.inbox(...args),
    watch: (...args) => inner.watch(...args),
    blob: (...args) => inner.blob(...args),
    putBlob: (...args) => inner.putBlob(...args),
    list: (...args) => inner.list(...args),
    delete: (...args) => inner.delete(...args),
    ...(inner.claimDue && { claimDue: inner.claimDue.bind(inner) }),
    ...(inner.setDue && { setDue: inner.setDue.bind(inner) }),
    close: () => inner.close(),
  }
}

function isStart(entry: NewEntry): boolean {
  return (entry.type === 'call' && entry.op === 'started') || (entry.type === 'run' && entry.op !== 'ended')
}

function closing(): ProvostError {
  return new ProvostError('shutting-down', 'This process is shutting down.', {
    hint: 'Another process resumes the run, or this one after a restart.',
    retryable: true,
  })
}
