import { randomUUID } from 'node:crypto'

import type { SessionStore } from '@provost/core'

import { erasureChecks } from './erasure-checks.ts'
import { inboxChecks, watchChecks } from './inbox-checks.ts'
import { appendChecks, leaseChecks, readChecks, valueChecks } from './log-checks.ts'
import { transientChecks } from './passing-checks.ts'
import { processChecks } from './process-checks.ts'
import { reopenChecks } from './reopen-checks.ts'
import { blobChecks, deleteChecks, listChecks } from './session-checks.ts'
import type { Bench, CheckDraft, StoreCheck, StorePlace, StoreSubject } from './subject.ts'
import { summaryChecks } from './summary-checks.ts'
import { takeoverChecks } from './takeover-checks.ts'
import { wakeChecks } from './wake-checks.ts'

/** The checks for a kind of store, and the resources they share. */
export interface StoreConformance {
  readonly checks: readonly StoreCheck[]
  /** Closes and removes the shared resources. */
  close(): Promise<void>
}

const drafts: readonly CheckDraft[] = [
  ...leaseChecks,
  ...takeoverChecks,
  ...appendChecks,
  ...readChecks,
  ...valueChecks,
  ...inboxChecks,
  ...watchChecks,
  ...blobChecks,
  ...listChecks,
  ...deleteChecks,
  ...erasureChecks,
  ...reopenChecks,
  ...transientChecks,
  ...wakeChecks,
  ...summaryChecks,
  ...processChecks,
]

const levels: readonly StoreSubject['sharing'][] = ['memory', 'one', 'processes']

/**
 * Returns the requirements of every `SessionStore`, as checks with the names of tests. They cover leases and fences,
 * takeovers and quarantine, the wake index, summaries, appends with positions, hostile names and values, the inbox, watching, blobs, lists and
 * deletion. For a shared place they also cover other handles, other processes, and a killed writer. The checks need no
 * test framework.
 *
 * @example
 * const suite = storeConformance({ sharing: 'processes', place: () => placeIn(newFolder()) })
 * afterAll(suite.close)
 * test.each(suite.checks)('$name', async ({ run }) => { await expect(run()).resolves.toBeUndefined() })
 */
export function storeConformance(subject: StoreSubject): StoreConformance {
  let shared: Promise<{ place: StorePlace; store: SessionStore }> | undefined
  let names = 0
  const suite = randomUUID()

  async function openShared(): Promise<{ place: StorePlace; store: SessionStore }> {
    const place = await subject.place()
    return { place, store: await place.open() }
  }

  async function run(draft: CheckDraft): Promise<void> {
    const places: StorePlace[] = []
    const stores: SessionStore[] = []
    const bench: Bench = {
      subject,
      store: async () => (await (shared ??= openShared())).store,
      name: () => `${suite}-${++names}`,
      async place() {
        const place = await subject.place()
        places.push(place)
        return {
          ...place,
          async open() {
            const store = await place.open()
            stores.push(store)
            return store
          },
        }
      },
    }
    try {
      await draft.run(bench)
    } finally {
      for (const store of stores) await store.close()
      for (const place of places) await place.remove()
    }
  }

  return {
    checks: drafts
      .filter(({ sharing = 'memory' }) => levels.indexOf(sharing) <= levels.indexOf(subject.sharing))
      .map((draft) => ({ name: draft.name, run: () => run(draft) })),
    async close() {
      if (!shared) return
      const { place, store } = await shared
      await store.close()
      await place.remove()
    },
  }
}
