import { ProvostError } from '@provost/core'

import { isLedgerName } from './effect-ledger.ts'

/**
 * Returns a session id that the store can use.
 *
 * @throws ProvostError `invalid-session-id`
 */
export function checkSessionId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw new ProvostError('invalid-session-id', 'The session id is not a string, or it is empty.', {
      hint: 'Pass a non-empty string, or omit the id to generate one.',
    })
  }
  // Input of such a session would be written to the ledger of effects.
  if (isLedgerName(id)) {
    throw new ProvostError('invalid-session-id', `The session id ${JSON.stringify(id.slice(0, 80))} is reserved.`, {
      hint: 'Session ids do not start with "effect:" or "effects:".',
    })
  }
  return id
}
