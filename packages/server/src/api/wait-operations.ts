import type { Principal, RunChange } from '@provost/core'
import { isRecord } from '@provost/core'

import { actionOf } from '../approvals/decision-service.ts'
import { questionOf } from '../approvals/pending-question.ts'
import type { InboxCursor } from '../approvals/wait-inbox.ts'
import { readInbox } from '../approvals/wait-inbox.ts'
import { notOperator, unknownSession } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import { acceptSchema, waitsQuery } from '../http/request-schema.ts'
import { acceptedChangeSchema, waitsSchema } from '../http/response-schema.ts'
import type { Action } from '../options/server-options.ts'
import { heldChange, shownChange } from '../sessions/held-change.ts'
import { ownership } from '../sessions/ownership.ts'
import { foldSession } from '../sessions/session-end.ts'
import type { OperationSetup } from './operation-setup.ts'

/** Returns the routes of the operators' inbox, and of the acceptance of a change. */
export function waitOperations(setup: OperationSetup): readonly Operation[] {
  const { host, allow, permits, approver, accepting } = setup
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
          async changeIn(info, requester, state) {
            const change = await shownChange(setup, info, state)
            if (change?.rule !== 'ask') return undefined
            return (await permits(principal, acceptance(info.id, requester, change))) ? change : undefined
          },
          releases: ({ id: sessionId }) => permits(principal, { kind: 'release', sessionId }),
        })
        return Response.json({ waits: page.waits, ...(page.next && { next: writeCursor(page.next) }) })
      },
    }),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/accept',
      operationId: 'acceptChange',
      summary: 'Resumes a run whose agent changed, under the rule `ask` of its agent. For operators.',
      body: acceptSchema,
      success: 200,
      answer: acceptedChangeSchema,
      async handle({ principal, id, body }) {
        accepting()
        if (!(await approver.isOperator(principal))) throw notOperator()
        const owner = await ownership(host.store, id)
        if (!owner) throw unknownSession(id)
        const { state } = await foldSession(host.store, id)
        const change = await heldChange(host, { id, agent: owner.agent }, state)
        if (!change) return Response.json({ sessionId: id, accepted: false })
        await allow(principal, acceptance(id, owner.principal, change))
        await host.accept(id, body.change)
        return Response.json({ sessionId: id, accepted: true })
      },
    }),
  ]
}

/** Returns what `authorize` is asked about the acceptance of a change. */
function acceptance(sessionId: string, requester: Principal | undefined, change: RunChange): Action {
  return { kind: 'accept', sessionId, ...(requester && { requester }), change }
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
