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
