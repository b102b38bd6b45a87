import type { Entry, EntryReader, Json, SessionStore } from '@provost/core'
import { canonicalJson, toJson } from '@provost/core'

import { entriesOf } from '../text/entry-text.ts'
import type { Patience } from './patience.ts'

type Retried = Pick<
  SessionStore,
  'lease' | 'leaseState' | 'release' | 'append' | 'read' | 'deliver' | 'inbox' | 'blob' | 'putBlob'
>

/**
 * Returns the methods that runs need, repeated while the database is away. Each may be repeated after it took effect unheard:
 * the fence rejects a writer that was replaced, and known ids add no entry. Lists, claims and deletions fail at once.
 */
export function patientMethods(store: Retried, { run }: Patience): Retried {
  /** Yields the items of a reader. After a failure it reads on behind the last item that arrived. */
  async function* resumed<T>(open: (last: T | undefined) => AsyncIterable<T>): AsyncGenerator<T, void> {
    let last: T | undefined
    let reader = open(last)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await run((attempts) => {
          if (attempts > 0) reader = open(last)[Symbol.asyncIterator]()
          return reader.next()
        })
        if (next.done === true) return
        last = next.value
        yield next.value
      }
    } finally {
      await reader.return?.()
    }
  }

  const pagesOf = (log: string, after: number): AsyncIterable<readonly Entry[]> =>
    resumed<readonly Entry[]>((last) => {
      const reader = store.read(log, last?.at(-1)?.offset ?? after)
      return reader.pages ? reader.pages() : inPages(reader)
    })

  async function hasDelivered(log: string, token: string, value: Json, by: string): Promise<boolean> {
    const given = canonicalJson(toJson(value))
    for await (const delivery of store.inbox(log)) {
      if (delivery.token === token) return delivery.by === by && canonicalJson(toJson(delivery.value)) === given
    }
    return false
  }

  return {
    lease: (...request) => run(() => store.lease(...request)),
    leaseState: (log) => run(() => store.leaseState(log)),
    release: (...given) => run(() => store.release(...given)),
    append: (...given) => run(() => store.append(...given)),
    read: (log, after = 0): EntryReader => entriesOf(() => pagesOf(log, after)),
    inbox: (log, after) => resumed((last) => store.inbox(log, last?.id ?? after)),
    blob: (hash) => run(() => store.blob(hash)),
    putBlob: (bytes) => run(() => store.putBlob(bytes)),
    deliver: (log, token, value, by) =>
      run(async (attempts) => {
        const outcome = await store.deliver(log, token, value, by)
        // The first value may be this one, stored by an attempt whose answer was lost.
        if (outcome === 'accepted' || attempts === 0) return outcome
        return (await hasDelivered(log, token, value, by)) ? 'accepted' : 'duplicate'
      }),
  }
}

async function* inPages(entries: AsyncIterable<Entry>): AsyncIterable<readonly Entry[]> {
  for await (const entry of entries) yield [entry]
}
