import { ProvostError } from '../values/error.ts'

/**
 * How often in a row a session is taken over from a writer that died, with no step completed in between. The next
 * takeover is refused, and the store sets the session aside: it is `quarantined`.
 */
export const mostTakeovers = 5

/**
 * For a session in quarantine: its run kills or stalls each process that takes it over.
 *
 * @returns ProvostError `session-quarantined`
 */
export function sessionQuarantined(sessionId: string): ProvostError {
  return new ProvostError(
    'session-quarantined',
    `Session ${sessionId.slice(0, 200)} is in quarantine: ${mostTakeovers} processes in a row took it over and died, or failed, before a step was complete.`,
    { hint: 'Read it with exportSession, find the cause, then call store.releaseQuarantine(sessionId).' },
  )
}
