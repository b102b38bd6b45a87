import type { Principal } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { isCode } from '../http/request-error.ts'
import type { CreateBody } from '../http/request-schema.ts'
import { createSchema } from '../http/request-schema.ts'
import { createdSchema } from '../http/response-schema.ts'
import { toHistory } from '../requests/request-decisions.ts'
import { isSessionId } from '../requests/session-id.ts'
import { ownership } from '../sessions/ownership.ts'
import type { OperationSetup } from './operation-setup.ts'

/** `PUT /api/agent/session/{id}` */
export function createOperation({ host, allow, accepting, allowProviderOptions }: OperationSetup): Operation {
  /** @returns undefined for an id without a session. @throws HttpError 409 for a session that is not this one. */
  async function existing(principal: Principal, id: string, agent: string | undefined): Promise<string | undefined> {
    const owner = await ownership(host.store, id)
    if (!owner) {
      for await (const _ of host.store.read(id)) throw taken()
      return undefined
    }
    const isIts = owner.principal?.id === principal.id && (agent === undefined || agent === owner.agent)
    if (isIts && host.agentNamed(owner.agent)) return owner.agent
    throw taken()
  }

  async function create(principal: Principal, id: string, { agent, messages }: CreateBody): Promise<boolean> {
    try {
      await host.begin(principal, { id, agent, messages: toHistory(messages, allowProviderOptions) })
      return true
    } catch (thrown) {
      // Another request created it meanwhile.
      if (!isCode(thrown, 'session-exists')) throw thrown
      return false
    }
  }

  return operation({
    method: 'put',
    path: '/api/agent/session/{id}',
    operationId: 'createSession',
    summary: 'Creates a session under an id of your choice. A repeated request has no further effect.',
    body: createSchema,
    success: 200,
    answer: createdSchema,
    async handle({ principal, id, body }) {
      accepting()
      if (!isSessionId(id)) throw invalidId()
      await allow(principal, { kind: 'run', ...(body.agent !== undefined && { agent: body.agent }) })
      const created = (await existing(principal, id, body.agent)) === undefined && (await create(principal, id, body))
      const agent = await existing(principal, id, body.agent)
      return Response.json({ sessionId: id, agent, created })
    },
  })
}

/** The same for every reason: the owner, the agent and the state of a foreign session stay unknown. */
function taken(): HttpError {
  return new HttpError(409, {
    code: 'session-exists',
    message: 'The id of the session is taken.',
    hint: 'Use another id, such as a UUID.',
  })
}

function invalidId(): HttpError {
  return new HttpError(400, {
    code: 'invalid-session-id',
    message: 'The id of the session is invalid.',
    hint: 'Use 8 to 128 letters, digits, hyphens, underscores and dots, beginning with a letter or digit; not the id of a chat.',
  })
}
