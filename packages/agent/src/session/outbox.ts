import type { NewEntry, Scrubber, SessionStore } from '@provost/core'
import { scrubAnswer, toJson } from '@provost/core'

/** Puts items of a session object into the store's inbox. */
export interface Outbox {
  put(token: string, value: unknown): Promise<'accepted' | 'duplicate'>
  /** Puts an item in the background, then calls `then`. */
  send(token: string, value: unknown, then?: () => void | Promise<void>): void
  /** @returns how many decisions were accepted, as the first for their wait. */
  decide(entries: readonly NewEntry[]): Promise<number>
  /** Tracks a background task. */
  watch(task: Promise<unknown>): void
  /** Resolves when all background tasks have ended; undefined if there are none. */
  underway(): Promise<unknown> | undefined
  /** Returns the last error of a background task, once. */
  takeError(): unknown
}

/**
 * Creates the outbox of a session object.
 *
 * @param by the sender recorded with each item.
 */
export function createOutbox(store: SessionStore, sessionId: string, scrubber: Scrubber, by: string): Outbox {
  const watched = new Set<Promise<unknown>>()
  let fault: unknown
  const put: Outbox['put'] = (token, value) => store.deliver(sessionId, token, scrubber.tokenise(toJson(value)), by)

  function watch(task: Promise<unknown>): void {
    const work = task.catch((thrown: unknown) => {
      fault = thrown
    })
    watched.add(work)
    void work.then(() => watched.delete(work))
  }

  return {
    put,
    send: (token, value, then = () => {}) => watch(put(token, value).then(then)),
    async decide(entries) {
      let accepted = 0
      for (const entry of entries) {
        if (entry.type !== 'resolved') continue
        const outcome = await store.deliver(sessionId, entry.token, scrubAnswer(scrubber, entry.value), entry.by)
        if (outcome === 'accepted') accepted++
      }
      return accepted
    },
    watch,
    underway: () => (watched.size > 0 ? Promise.all(watched) : undefined),
    takeError() {
      const thrown = fault
      fault = undefined
      return thrown
    },
  }
}
