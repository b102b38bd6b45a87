import type { Appended, Lease, NewEntry, SessionStore } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

/** A store that can be closed to the runs of this process, so that they stop where another process can go on. */
export interface DrainingStore {
  readonly store: SessionStore
  /** From now on runs stop before the next tool or run starts; what is under way may still write its result. */
  drain(): void
  /** Nothing of runs is written any more. */
  stop(): void
}

/**
 * Wraps a store: what is in it is the same, and a run that it refuses is left as if its process had died there.
 *
 * @param onRefused is called before the run hears of it.
 * @param before what has to be in the store before more is appended to a log.
 * @param onQuarantined is told of each session that the store sets aside, once.
 */
export function drainingStore(
  inner: SessionStore,
  onRefused: (log: string) => void,
  before: (log: string) => Promise<void> | undefined,
  onQuarantined: (sessionId: string, thrown: unknown) => void,
): DrainingStore {
  let phase: 'open' | 'draining' | 'stopped' = 'open'
  /** Logs whose writer was refused once: nothing may follow, not even that it failed. */
  const refused = new Set<string>()

  async function append(...[log, entries, at]: Parameters<SessionStore['append']>): Promise<Appended> {
    if (phase === 'stopped' || refused.has(log) || (phase === 'draining' && entries.some(isStart))) {
      refused.add(log)
      onRefused(log)
      throw closing()
    }
    const settling = before(log)
    if (settling) await settling
    return inner.append(log, entries, at)
  }

  /** Sessions that were told of: each attempt to lease one fails likewise. */
  const told = new Set<string>()

  async function lease(...asked: Parameters<SessionStore['lease']>): Promise<Lease | 'busy'> {
    try {
      return await inner.lease(...asked)
    } catch (thrown) {
      const [log] = asked
      if (isRecord(thrown) && thrown['code'] === 'session-quarantined' && !told.has(log)) {
        told.add(log)
        onQuarantined(log, thrown)
      }
      throw thrown
    }
  }

  async function releaseQuarantine(sessionId: string): Promise<boolean> {
    told.delete(sessionId)
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

/** Methods of a store may rely on what they are called on. */
function withAppend(inner: SessionStore, append: SessionStore['append']): SessionStore {
  return {
    ...(inner.ephemeral && { ephemeral: true as const }),
    ...(inner.private && { private: true as const }),
    ...(inner.passing && { passing: inner.passing }),
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
    close: () => inner.close(),
  }
}

function isStart(entry: NewEntry): boolean {
  return (entry.type === 'call' && entry.op === 'started') || (entry.type === 'run' && entry.op !== 'ended')
}

function closing(): ProvostError {
  return new ProvostError('shutting-down', 'This process is shutting down.', {
    hint: 'The run goes on in another process, or when this one has started again.',
    retryable: true,
  })
}
