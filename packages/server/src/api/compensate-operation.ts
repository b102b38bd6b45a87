import { toJson } from '@provost/core'

import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { compensateSchema } from '../http/request-schema.ts'
import { compensationSchema } from '../http/response-schema.ts'
import { decisionsOf } from '../requests/request-decisions.ts'
import type { OperationSetup } from './operation-setup.ts'

/** `POST /api/agent/session/{id}/compensate` */
export function compensateOperation({ host, allow, accepting, decisionService }: OperationSetup): Operation {
  return operation({
    method: 'post',
    path: '/api/agent/session/{id}/compensate',
    operationId: 'compensate',
    summary: 'Undoes effects of a session after an approval, or continues to. Responds when it has ended or waits.',
    body: compensateSchema,
    success: 200,
    answer: compensationSchema,
    async handle({ principal, id, body: { since, ...given } }) {
      accepting()
      const live = await host.open(principal, id)
      await allow(principal, { kind: 'compensate', sessionId: id })
      const wanted = decisionsOf(given, principal)
      const decisions =
        wanted && (await decisionService.check(principal, { live, requester: principal }, wanted, 'http'))
      const admitted = host.admit(principal)
      try {
        const result = await host.compensate(live, {
          since: typeof since === 'object' ? new Date(since.time) : since,
          ...(decisions && { decisions }),
        })
        return Response.json(toJson(host.redaction.compensation(result)))
      } finally {
        admitted()
      }
    },
  })
}
