import { ProvostError } from '../values/error.ts'

/**
 * How many times in a row a session may be taken over from a writer that died, with no step completed in between. The
 * next takeover is refused, and the store quarantines the session.
 */
export const mostTakeovers = 5

/**
 * Returns the error for a session in quarantine: its run makes each process that takes it over die or stall.
 *
 * @returns ProvostError `session-quarantined`
 */
export function sessionQuarantined(sessionId: string): ProvostError {
  return new ProvostError(
    'session-quarantined',
    `Session ${sessionId.slice(0, 200)} is in quarantine: ${mostTakeovers} processes in a row took it over and failed before they completed a step.`,
    { hint: 'Read it with exportSession, find the cause, then call store.releaseQuarantine(sessionId).' },
  )
}
