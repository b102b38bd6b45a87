import type { Entry, SessionStore } from '@provost/core'
import { auditLogOf, parentLogOf } from '@provost/sessions'

import { HttpError } from '../http/http-error.ts'

/** Levels of children that a log may be below its session. */
const deepest = 64

/** Returns the first entry after an offset; undefined at the end of the log. */
export async function entryAfter(store: SessionStore, log: string, offset: number): Promise<Entry | undefined> {
  for await (const entry of store.read(log, offset)) return entry
  return undefined
}

/**
 * Checks that a log is the main log of a session, that of one of its children, or its audit log of exports.
 *
 * @returns the log.
 * @throws HttpError 404 `unknown-log`
 */
export async function checkLog(store: SessionStore, sessionId: string, log: string = sessionId): Promise<string> {
  if (log === auditLogOf(sessionId)) return log
  let name = log
  for (let depth = 0; name !== sessionId; depth++) {
    const first = depth < deepest ? await entryAfter(store, name, 0) : undefined
    const parent = parentLogOf(first)
    if (parent === undefined) throw unknownLog(sessionId, log)
    name = parent
  }
  return log
}

function unknownLog(sessionId: string, log: string): HttpError {
  return new HttpError(404, {
    code: 'unknown-log',
    message: `Session ${sessionId.slice(0, 200)} has no log ${log.slice(0, 200)}.`,
    hint: 'Use a log from the index of the session.',
  })
}
