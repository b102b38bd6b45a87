import { isRecord } from '@provost/core'

import { actionOf } from '../approvals/decision-service.ts'
import { questionOf } from '../approvals/pending-question.ts'
import type { InboxCursor } from '../approvals/wait-inbox.ts'
import { readInbox } from '../approvals/wait-inbox.ts'
import { notOperator } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import { waitsQuery } from '../http/request-schema.ts'
import { waitsSchema } from '../http/response-schema.ts'
import type { OperationSetup } from './operation-setup.ts'

/** Returns the route of the operators' inbox. */
export function waitOperations({ host, allow, permits, approver }: OperationSetup): readonly Operation[] {
  return [
    operation({
      method: 'get',
      path: '/api/waits',
      operationId: 'listWaits',
      summary:
        'For operators: pending decisions of all sessions, with their evidence. `next` is the `after` of the next page.',
      query: waitsQuery,
      success: 200,
      answer: waitsSchema,
      async handle({ principal, query: { after, limit = 20 } }) {
        if (!(await approver.isOperator(principal))) throw notOperator()
        await allow(principal, { kind: 'waits' })
        const page = await readInbox({
          store: host.store,
          from: after === undefined ? undefined : readCursor(after),
          limit,
          shows: async ({ id, agent: name }, requester, waiting) => {
            const agent = host.agentNamed(name)
            // Another server over the same store has this agent.
            if (!agent) return false
            const place = { live: { id, agent }, requester, via: 'http' } as const
            return permits(principal, actionOf(waiting, questionOf(place, waiting)))
          },
          releases: ({ id: sessionId }) => permits(principal, { kind: 'release', sessionId }),
        })
        return Response.json({ waits: page.waits, ...(page.next && { next: writeCursor(page.next) }) })
      },
    }),
  ]
}

function writeCursor(cursor: InboxCursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

function readCursor(text: string): InboxCursor {
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!isRecord(cursor)) throw badRequest('')
    const { status, after, wait } = cursor
    if (status !== 'quarantined' && status !== 'suspended' && status !== 'running') throw badRequest('')
    return {
      status,
      ...(typeof after === 'string' && { after }),
      ...(typeof wait === 'string' && { wait }),
    }
  } catch {
    throw badRequest('`after` is not a `next` of this list.')
  }
}
