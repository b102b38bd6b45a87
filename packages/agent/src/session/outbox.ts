import type { NewEntry, Scrubber, SessionStore } from '@provost/core'
import { scrubAnswer, toJson } from '@provost/core'

/** What a session object puts into the store's inbox. */
export interface Outbox {
  put(token: string, value: unknown): Promise<'accepted' | 'duplicate'>
  /** Puts what nobody waits for, and then does what is left to do. */
  send(token: string, value: unknown, then?: () => void | Promise<void>): void
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
        const said = await store.deliver(sessionId, entry.token, scrubAnswer(scrubber, entry.value), entry.by)
        if (said === 'accepted') accepted++
      }
      return accepted
    },
    watch,
    underway: () => (watched.size > 0 ? Promise.all(watched) : undefined),
    takeFault() {
      const thrown = fault
      fault = undefined
      return thrown
    },
  }
}
