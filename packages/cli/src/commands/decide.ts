import { resolveWaits } from '@provost/agent'
import type { ApprovalVerdict, PendingApproval } from '@provost/core'
import { displayText, ProvostError, questionText } from '@provost/core'

import type { Invocation } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'
import { deciderOf } from '../session/decider.ts'
import { readSession } from '../session/recorded-session.ts'
import { continueRun } from '../session/resume-session.ts'
import { argumentText, batchesIn } from '../terminal/waits.ts'

/** `provost approve SESSION [ID]` */
export const approve = (given: Invocation): Promise<number> => decide(given, 'approve')

/** `provost deny SESSION [ID]` */
export const deny = (given: Invocation): Promise<number> => decide(given, 'deny')

async function decide(given: Invocation, decision: ApprovalVerdict): Promise<number> {
  const { terminal } = given
  const opened = openStore(given, 'existing')
  const { store } = opened
  try {
    const { id: sessionId, pending } = await readSession(store, given.argument('SESSION'))
    const rows = rowsOf(pending.approvals, given.value('ID'), sessionId)
    const reason = given.value('reason')
    const by = deciderOf(given)
    const approvals = rows.map(({ id }) => ({ id, decision, by, ...(reason !== undefined && { reason }) }))
    await resolveWaits(store, sessionId, { approvals })
    for (const row of rows) {
      if (terminal.json) terminal.print(displayText({ sessionId, id: row.id, decision, by }, { limit: Infinity }))
      else terminal.print(`${decision === 'approve' ? 'Approved' : 'Denied'}: ${questionText(row)}`)
    }
    return await continueRun(given, opened)
  } finally {
    await store.close()
  }
}

/** Returns the open questions that an id means: one, all of a batch, or the only one. */
function rowsOf(
  open: readonly PendingApproval[],
  id: string | undefined,
  sessionId: string,
): readonly PendingApproval[] {
  const session = displayText(sessionId, { limit: 200 })
  if (id !== undefined) {
    const found = open.filter((wait) => wait.id === id || wait.batch === id)
    if (found.length > 0) return found
    throw new ProvostError(
      'unknown-wait',
      `Session ${session} has no open question ${displayText(id, { limit: 300 })}.`,
      {
        hint: `See what waits with: provost show ${argumentText(sessionId)}`,
      },
    )
  }
  if (open.length === 1) return open
  const message = open.length === 0 ? 'has no open question' : `has ${open.length} open questions`
  throw new ProvostError('unknown-wait', `Session ${session} ${message}.`, {
    hint:
      open.length === 0
        ? 'See its state with: provost show SESSION'
        : [
            `Give the ID of one: ${open.map((wait) => displayText(wait.id, { limit: 300 })).join(', ')}`,
            ...batchesIn(open).map(
              ([batch, rows]) =>
                `or of all ${rows.length} that were asked together: ${displayText(batch, { limit: 300 })}`,
            ),
          ].join('; '),
  })
}
