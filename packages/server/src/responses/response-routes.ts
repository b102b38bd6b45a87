import { clockOf, uuidv7 } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest, busy } from '../http/request-error.ts'
import { toHistory } from '../requests/request-decisions.ts'
import { cursorAt } from '../stream/cursor.ts'
import { streamedTurn } from '../turns/read-turn.ts'
import type { SessionTurn } from '../turns/session-turn.ts'
import { waitToken } from '../turns/wait-token.ts'
import { readResponse, requestOf } from './read-response.ts'
import { readResponseId } from './response-id.ts'
import { readResponseInput } from './response-input.ts'
import { createResponseMapper } from './response-mapper.ts'
import { responseOperation } from './response-operation.ts'
import { responseProtocol } from './response-protocol.ts'
import { usageOf } from './response-resource.ts'
import { compactionSchema, compactSchema, resourceSchema, retrieveQuery } from './response-schema.ts'

/** Returns the routes of Open Responses. */
export function responseRoutes(setup: OperationSetup): readonly Operation[] {
  const { host, limits, connections, allow, accepting, allowProviderOptions } = setup
  return [
    responseOperation(setup),
    operation({
      method: 'post',
      path: '/v1/responses/compact',
      operationId: 'compactResponse',
      summary: 'Compacts a conversation: returns an item that stands for it in the input of later responses.',
      body: compactSchema,
      mostBytes: limits.chatBytes,
      success: 200,
      answer: compactionSchema,
      async handle({ principal, body }) {
        accepting()
        const { model: agent, previous_response_id: previous } = body
        host.agentOf(agent)
        await allow(principal, { kind: 'run', agent })
        const { history, parts, answers } = readResponseInput(body, principal.id)
        if (answers || (previous && parts.length > 0)) {
          throw badRequest('Give either previous_response_id, or the messages of a conversation as input.')
        }
        const last = parts.length > 0 ? [{ role: 'user' as const, content: parts }] : []
        const messages = toHistory([...history, ...last], allowProviderOptions)
        const ref = previous ? readResponseId(previous) : undefined
        // A compaction calls the model, as a run does.
        const admitted = host.admit(principal)
        let isNew: string | undefined
        try {
          const live = ref
            ? await host.open(principal, ref.sessionId)
            : await host.begin(principal, { id: uuidv7(), agent, messages })
          if (!ref) isNew = live.id
          if (live.session.status === 'running') throw busy(live.id)
          if (ref) await allow(principal, { kind: 'send', sessionId: live.id })
          const before = live.session.usage
          await live.session.compact()
          const item = { id: waitToken('cmpi', { sessionId: live.id, id: uuidv7() }), type: 'compaction' }
          return Response.json({
            id: waitToken('cmpr', { sessionId: live.id, id: uuidv7() }),
            object: 'response.compaction',
            created_at: Math.floor(clockOf(host.store).now() / 1000),
            output: [{ ...item, encrypted_content: waitToken('cmp', { sessionId: live.id, id: '' }) }],
            usage: usageOf(before),
          })
        } catch (thrown) {
          if (isNew !== undefined) await host.discard(isNew)
          throw thrown
        } finally {
          admitted()
        }
      },
    }),
    operation({
      method: 'get',
      path: '/v1/responses/{id}',
      operationId: 'getResponse',
      summary: 'A response as far as it is; with `stream=true` its events from the first one.',
      query: retrieveQuery,
      success: 200,
      answer: resourceSchema,
      async handle({ principal, id, query, request }) {
        const ref = readResponseId(id)
        const live = await host.open(principal, ref.sessionId)
        await allow(principal, { kind: 'read', sessionId: live.id })
        const { mapper, turn } = await readResponse(host, ref)
        if (query.stream !== 'true') return Response.json(mapper.resource())
        accepting()
        if ('starting_after' in query)
          throw badRequest('starting_after: a stream of a response begins with its first event.')
        const isAsked = (one: SessionTurn): boolean =>
          ref.messageId === undefined ? one.id === turn?.id : one.messageIds.includes(ref.messageId)
        const begun = { live, after: cursorAt(ref.after), turn, isAsked }
        const streaming = createResponseMapper(await requestOf(host, ref), clockOf(host.store).now)
        const release = connections.take(principal.id)
        return streamedTurn({ setup, request, begun, aborts: false, release }, responseProtocol(streaming))
      },
    }),
    operation({
      method: 'post',
      path: '/v1/responses/{id}/cancel',
      operationId: 'cancelResponse',
      summary: 'Stops the run of a response. A response that has ended stays as it is.',
      success: 200,
      answer: resourceSchema,
      async handle({ principal, id }) {
        const ref = readResponseId(id)
        const live = await host.open(principal, ref.sessionId)
        await allow(principal, { kind: 'abort', sessionId: live.id })
        const { over, isLast } = await readResponse(host, ref)
        // A late cancel must not end the run of the next response. One that waits for the client is given up.
        if (isLast && (!over || live.session.status === 'suspended')) await live.session.abort()
        return Response.json((await readResponse(host, ref)).mapper.resource())
      },
    }),
  ]
}
