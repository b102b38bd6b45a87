import assert from 'node:assert/strict'

import type { Entry, SessionStore } from '@provost/core'

/** Milliseconds after which a state will not be reached. */
const patienceMs = 90_000

/** Waits for a state. @throws Error with what is missing. */
export async function until(isReached: () => Promise<boolean> | boolean, missing: () => string): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end;) {
    if (await isReached()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.fail(missing())
}

/** Returns the entries of a log. */
export async function entriesOf(store: SessionStore, id: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

/** Returns the tokens that a session waits for. */
export async function questionsIn(store: SessionStore, id: string): Promise<readonly string[]> {
  const open = new Set<string>()
  for (const entry of await entriesOf(store, id)) {
    if (entry.type === 'wait') open.add(entry.token)
    if (entry.type === 'resolved') open.delete(entry.token)
  }
  return [...open]
}

/** Waits until a session has ended, and checks that it ended once, with this status. */
export async function endOf(store: SessionStore, id: string, status: string): Promise<void> {
  let entries: readonly Entry[] = []
  const ends = (): readonly string[] =>
    entries.flatMap((entry) => (entry.type === 'run' && entry.op === 'ended' ? [entry.status] : []))
  await until(
    async () => {
      entries = await entriesOf(store, id)
      return ends().length > 0
    },
    () => `${id} has not ended; its last entries: ${JSON.stringify(entries.slice(-3)).slice(0, 1_000)}`,
  )
  assert.deepEqual(ends(), [status], `the ends of ${id}`)
}
