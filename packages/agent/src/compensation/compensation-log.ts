import { standaloneLog } from '../standalone/run-standalone.ts'

export const compensationName = 'compensate'

/** All compensations of a session have one log, so that only one is made at a time. */
export const same = null

const ending = standaloneLog({ id: '' }, compensationName, same)

/** Returns the log of the compensations of a session. */
export function compensationLog(sessionId: string): string {
  return `${sessionId}${ending}`
}

/** Returns the session whose compensations have this log; undefined for any other log. */
export function compensatedSession(log: string): string | undefined {
  return log.endsWith(ending) && log.length > ending.length ? log.slice(0, -ending.length) : undefined
}
