import type { NewEntry, Scrubber, SessionStore } from '@provost/core'
import { scrubAnswer, toJson } from '@provost/core'

/** What a session object puts into the store's inbox. */
export interface Outbox {
  put(token: string, value: unknown): Promise<'accepted' | 'duplicate'>
  /** @returns how many decisions were the first. */
  decide(entries: readonly NewEntry[]): Promise<number>
  /** Keeps track of what nobody waits for. */
  watch(task: Promise<unknown>): void
  /** Resolves when all of that is done; undefined where nothing is under way. */
  underway(): Promise<unknown> | undefined
  /** What went wrong in it, once. */
  takeFault(): unknown
}

/**
 * Makes the outbox of a session object.
 *
 * @param by who says what goes out.
 */
export function createOutbox(store: SessionStore, sessionId: string, scrubber: Scrubber, by: string): Outbox {
  const watched = new Set<Promise<unknown>>()
  let fault: unknown
  return {
    put: (token, value) => store.deliver(sessionId, token, scrubber.tokenise(toJson(value)), by),
    async decide(entries) {
      let accepted = 0
      for (const entry of entries) {
        if (entry.type !== 'resolved') continue
        const said = await store.deliver(sessionId, entry.token, scrubAnswer(scrubber, entry.value), entry.by)
        if (said === 'accepted') accepted++
      }
      return accepted
    },
    watch(task) {
      const work = task.catch((thrown: unknown) => {
        fault = thrown
      })
      watched.add(work)
      void work.then(() => watched.delete(work))
    },
    underway: () => (watched.size > 0 ? Promise.all(watched) : undefined),
    takeFault() {
      const thrown = fault
      fault = undefined
      return thrown
    },
  }
}
