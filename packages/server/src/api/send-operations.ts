import type { Principal } from '@provost/core'

import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import type { DecisionsBody } from '../http/request-schema.ts'
import { abortSchema, decisionsSchema, sendSchema, toolResultsSchema } from '../http/request-schema.ts'
import { acceptedSchema } from '../http/response-schema.ts'
import { bindKey, decideOnce, keyHeader, keyOf, keyToken } from '../requests/idempotency.ts'
import { decisionsOf, toInput } from '../requests/request-decisions.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { OperationSetup } from './operation-setup.ts'

/** Returns the routes that send input, decisions or an abort to a session. */
export function sendOperations({ host, allow, accepting, decisionService }: OperationSetup): readonly Operation[] {
  async function accepted(live: LiveSession): Promise<Response> {
    return Response.json({ sessionId: live.id, status: live.session.status }, { status: 202 })
  }

  const sendOperation = (mode: 'steer' | 'queue', path: string, operationId: string, summary: string): Operation =>
    operation({
      method: 'post',
      path,
      operationId,
      summary,
      headers: keyHeader,
      body: sendSchema,
      success: 202,
      answer: acceptedSchema,
      async handle({ principal, id, body, request }) {
        accepting()
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'send', sessionId: id })
        const key = keyOf(request)
        if (key !== undefined) await bindKey(host.store, id, { principal, key, body: { operationId, body } }, 'say')
        await host.send(live, toInput(body.input), {
          mode,
          key: key === undefined ? key : keyToken(principal, key),
          to: body.to,
        })
        return accepted(live)
      },
    })

  async function decided(principal: Principal, id: string, given: DecisionsBody, request: Request): Promise<Response> {
    accepting()
    const wanted = decisionsOf(given, principal)
    if (!wanted) throw badRequest('Give `approvals`, `batches`, `toolResults`, `uncertain` or `inputs`.')
    const reached = await decisionService.openToDecide(principal, id)
    const decisions = await decisionService.check(principal, reached, wanted, 'http')
    const { live } = reached
    const key = keyOf(request)
    if (key === undefined) await host.decide(live, decisions)
    else await decideOnce({ host, live, principal, key }, decisions)
    return accepted(live)
  }

  return [
    sendOperation(
      'steer',
      '/api/agent/session/{id}/steer',
      'steer',
      'Sends input that the run receives before its next model call.',
    ),
    sendOperation(
      'queue',
      '/api/agent/session/{id}/follow-up',
      'followUp',
      'Sends input that the run receives when it would end.',
    ),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/abort',
      operationId: 'abort',
      summary:
        'Aborts the active or suspended run, in any process. Operators of the role `operate` abort runs of others, too.',
      body: abortSchema,
      success: 202,
      answer: acceptedSchema,
      async handle({ principal, id, body: { drain, graceMs, onPendingApprovals } }) {
        const { live, requester } = await decisionService.openToAbort(principal, id)
        const foreign = requester?.id === principal.id ? undefined : requester
        await allow(principal, { kind: 'abort', sessionId: id, ...(foreign && { requester: foreign }) })
        const options = {
          ...(drain !== undefined && { drain }),
          ...(graceMs !== undefined && { graceMs }),
          ...(onPendingApprovals && { onPendingApprovals }),
        }
        await live.session.abort(options)
        return accepted(live)
      },
    }),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/approvals',
      operationId: 'decide',
      summary: 'Answers pending approvals, remote calls, uncertain calls and questions of tools.',
      headers: keyHeader,
      body: decisionsSchema,
      success: 202,
      answer: acceptedSchema,
      handle: ({ principal, id, body, request }) => decided(principal, id, body, request),
    }),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/tool-results',
      operationId: 'giveToolResults',
      summary: 'Delivers the results of remote tools.',
      headers: keyHeader,
      body: toolResultsSchema,
      success: 202,
      answer: acceptedSchema,
      handle: ({ principal, id, body, request }) => decided(principal, id, body, request),
    }),
  ]
}
