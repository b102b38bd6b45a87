import type { Extension } from '@provost/core'
import { ProvostError } from '@provost/core'

/**
 * Rejects an approval request of an extension that declares `asks: false`: a server may have no approver for it.
 *
 * @throws ProvostError `invalid-answer`
 */
export function checkAsks({ name, asks }: Extension): void {
  if (asks !== false) return
  throw new ProvostError(
    'invalid-answer',
    `A hook of ${name} asked a human, but the extension declares \`asks: false\`.`,
    {
      hint: 'Remove `asks` from defineExtension, or return another answer.',
    },
  )
}
