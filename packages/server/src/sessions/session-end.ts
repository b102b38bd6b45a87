import type { SessionState } from '@provost/agent'
import { logEvents } from '@provost/agent'
import type { SessionStore } from '@provost/core'

import { createClientRedaction } from '../http/public-errors.ts'
import type { Cursor } from '../stream/cursor.ts'
import { atBeginning, cursorAt } from '../stream/cursor.ts'
import type { EventPosition } from '../stream/event-position.ts'
import { compare, origin } from '../stream/event-position.ts'
import { readCursor } from '../stream/read-cursor.ts'
import { sessionTree } from './session-tree.ts'

/** Returns the present state of a session from its logs, and the cursor of a reader that has received all of it. */
export async function foldSession(
  store: SessionStore,
  id: string,
): Promise<{ readonly state: SessionState; readonly last: Cursor }> {
  const tree = sessionTree(store, id, createClientRedaction(true))
  const place = readCursor(id, atBeginning)
  for await (const _ of tree.read(place));
  return { state: tree.state, last: place.cursor }
}

/** Returns the cursor at the present end of a session's events. */
export async function endOf(store: SessionStore, id: string): Promise<Cursor> {
  return (await foldSession(store, id)).last
}

/** Whether the inbox has an answer for a suspended run that no process has resumed yet. */
export async function hasNews(store: SessionStore, id: string, waits: ReadonlyMap<string, unknown>): Promise<boolean> {
  for await (const { token } of store.inbox(id)) if (waits.has(token)) return true
  return false
}

/** Whether a run rests while children of it work elsewhere: it goes on when they have ended. */
export function worksElsewhere({ run, waits }: SessionState): boolean {
  if (run?.status !== 'suspended') return false
  const waiting = new Set([...waits.values()].map(({ child }) => child?.callId))
  return [...run.children.values()].some(
    ({ where, completion, callId }) => where === 'any' && !completion && !waiting.has(callId),
  )
}

/** Returns whether nothing has happened since a reader received `execute_complete`, and nothing is about to. */
export async function isOver(store: SessionStore, id: string, { root, isComplete }: Cursor): Promise<boolean> {
  if (!isComplete) return false
  const { state, last } = await foldSession(store, id)
  if (compare(last.root, root) > 0 || state.run?.status === 'running' || state.run?.yielded) return false
  if (worksElsewhere(state)) return false
  return !(await hasNews(store, id, state.waits))
}

/** Returns whether a cursor is at an entry that the log does not have. */
export async function isBeyond(store: SessionStore, id: string, { root }: Cursor): Promise<boolean> {
  if (root.offset === 0) return false
  for await (const _ of store.read(id, root.offset - 1)) return false
  return true
}

/** Returns whether a session has had a run. */
export async function hasRun(store: SessionStore, id: string): Promise<boolean> {
  for await (const { type } of store.read(id)) if (type === 'run') return true
  return false
}

/** Returns the cursor at which the input of a key entered a session, or the session's end if it is still queued; undefined for an unused key. */
export async function inputCursor(store: SessionStore, id: string, key: string): Promise<Cursor | undefined> {
  const token = `send/${key}`
  const log = logEvents(id)
  let last: EventPosition = origin
  for await (const entry of store.read(id)) {
    if (entry.type === 'resolved' && entry.token === token) return cursorAt(last)
    const logged = log.take(entry).at(-1)
    if (logged) last = { offset: logged.offset, n: logged.n, passing: false }
  }
  for await (const delivery of store.inbox(id)) if (delivery.token === token) return cursorAt(last)
  return undefined
}
