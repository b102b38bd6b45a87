import type { Entry, SessionStore } from '@provost/core'
import { parentLogOf } from '@provost/sessions'

/** An entry with the name of its log. */
export interface WalkedEntry {
  readonly log: string
  readonly entry: Entry
}

/** Yields the entries of a session and its children, each child where its parent spawns it. */
export async function* walkLogs(store: SessionStore, sessionId: string): AsyncGenerator<WalkedEntry, void, undefined> {
  const frames = [{ log: sessionId, entries: store.read(sessionId)[Symbol.asyncIterator]() }]
  try {
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      const next = await frame.entries.next()
      if (next.done) {
        frames.pop()
        continue
      }
      const { log } = frame
      const entry = next.value
      // An entry may name a separate session as its child: its first entry names no parent.
      if (entry.offset === 1 && log !== sessionId && !isChild(entry)) {
        await frames.pop()?.entries.return?.()
        continue
      }
      yield { log, entry }
      if (entry.type === 'child' && entry.op === 'spawned') {
        frames.push({ log: entry.log, entries: store.read(entry.log)[Symbol.asyncIterator]() })
      }
    }
  } finally {
    for (const { entries } of frames) await entries.return?.()
  }
}

/** Whether the first entry of a log makes it the log of a child. */
export function isChild(entry: Entry): boolean {
  return parentLogOf(entry) !== undefined
}
