import type { DurableEngine, NewEntry, SessionStore } from '@provost/core'

/**
 * Wraps a store: a delivery wakes its session through an engine, and a run that suspends sets the engine's timer. The wakes
 * are hints, so a failing engine does not affect the store.
 *
 * @param inner a plain object: its methods are copied.
 */
export function wakingStore(
  inner: SessionStore,
  engine: DurableEngine,
  failed: (thrown: unknown) => void,
): SessionStore {
  const wake = (log: string, at?: number): void => {
    const options = at === undefined ? {} : { at, key: `${log}@${at}` }
    engine.wake(log, options).catch(failed)
  }
  return {
    ...inner,
    async deliver(log, token, value, by) {
      const outcome = await inner.deliver(log, token, value, by)
      if (outcome === 'accepted' && !isInternal(log)) wake(log)
      return outcome
    },
    async append(log, entries, at) {
      const appended = await inner.append(log, entries, at)
      const due = dueOf(entries.at(-1))
      if (due !== undefined) wake(log, due)
      return appended
    },
  }
}

/** Whether a log is no session: that of a child, or a ledger. Their deliveries are read by the run above. */
function isInternal(log: string): boolean {
  return /^effects?:|\/child\//u.test(log)
}

function dueOf(entry: NewEntry | undefined): number | undefined {
  return entry?.type === 'run' && entry.op === 'suspended' ? entry.due : undefined
}
