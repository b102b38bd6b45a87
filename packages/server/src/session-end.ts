import type { LogState } from '@provost/agent'
import { logEvents } from '@provost/agent'
import type { SessionStore } from '@provost/core'

import type { Position } from './position.ts'
import { origin } from './position.ts'

/** A session as its log tells it now, and where its last event stands. */
export async function foldSession(
  store: SessionStore,
  id: string,
): Promise<{ readonly state: LogState; readonly last: Position | undefined }> {
  const log = logEvents(id)
  let last: Position | undefined
  for await (const entry of store.read(id)) {
    const logged = log.take(entry).at(-1)
    if (logged) last = { offset: logged.offset, n: logged.n, passing: false }
  }
  const logged = log.end().at(-1)
  if (logged) last = { offset: logged.offset, n: logged.n, passing: false }
  return { state: log.state, last }
}

/** Where the last event of a session stands. */
export async function endOf(store: SessionStore, id: string): Promise<Position> {
  return (await foldSession(store, id)).last ?? origin
}

/** Where what was said under a key entered a session, or its end where it is still to; undefined where nobody said it. */
export async function whereSaid(store: SessionStore, id: string, key: string): Promise<Position | undefined> {
  const token = `send/${key}`
  const log = logEvents(id)
  let last = origin
  for await (const entry of store.read(id)) {
    if (entry.type === 'resolved' && entry.token === token) return last
    const logged = log.take(entry).at(-1)
    if (logged) last = { offset: logged.offset, n: logged.n, passing: false }
  }
  for await (const delivery of store.inbox(id)) if (delivery.token === token) return last
  return undefined
}
