import type { Principal } from '@provost/core'
import { clockOf, ProvostError, uuidv7 } from '@provost/core'
import { forkSession } from '@provost/sessions'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest, busy } from '../http/request-error.ts'
import { bindKey, idFor, keyHeader, keyOf } from '../requests/idempotency.ts'
import { toHistory } from '../requests/request-decisions.ts'
import { isSessionId } from '../requests/session-id.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import type { BegunTurn } from '../turns/begin-turn.ts'
import { beginTurn, continueTurn } from '../turns/begin-turn.ts'
import { checkSession, openOrBegin } from '../turns/open-session.ts'
import { streamedTurn, waitForTurn } from '../turns/read-turn.ts'
import { userMessage } from '../turns/user-message.ts'
import { keepRequest, readResponse, requestOf } from './read-response.ts'
import { readResponseId } from './response-id.ts'
import type { ResponseInput } from './response-input.ts'
import { readResponseInput, toolsOf } from './response-input.ts'
import { createResponseMapper } from './response-mapper.ts'
import { responseProtocol } from './response-protocol.ts'
import type { ResponseBody } from './response-schema.ts'
import { resourceSchema, responseSchema } from './response-schema.ts'

/** The session of a response. */
interface Place {
  readonly live: LiveSession
  readonly isNew: boolean
}

/** `POST /v1/responses` */
export function responseOperation(setup: OperationSetup): Operation {
  const { host, limits, connections, allow, accepting, allowProviderOptions, report } = setup

  /** Returns the session that continues a response: its own, or a fork that ends with the response. */
  async function after(principal: Principal, id: string, key: string | undefined): Promise<LiveSession> {
    const ref = readResponseId(id)
    const live = await host.open(principal, ref.sessionId)
    if (live.session.status === 'running') throw busy(live.id)
    const { isLast, lastMessageId } = await readResponse(host, ref)
    if (isLast || lastMessageId === undefined) return live
    await allow(principal, { kind: 'send', sessionId: live.id })
    const forked = key === undefined ? uuidv7() : idFor(principal, key)
    await forkSession(host.store, live.id, { at: lastMessageId, id: forked, principal })
    return host.open(principal, forked)
  }

  async function placeOf(
    principal: Principal,
    body: ResponseBody,
    input: ResponseInput,
    tools: readonly RemoteToolInit[],
    key: string | undefined,
  ): Promise<Place> {
    const { model: agent, previous_response_id: previous, conversation } = body
    const { history, answers, compacted } = input
    if (previous && conversation) throw badRequest('Give either previous_response_id or conversation.')
    const named = typeof conversation === 'string' ? conversation : conversation?.id
    const known = answers?.sessionId ?? (previous || named ? undefined : compacted)
    if (known !== undefined || previous) {
      const live =
        known === undefined && previous
          ? await after(principal, previous, key)
          : await host.open(principal, known ?? '')
      await checkSession(host, live, { agent, tools })
      return { live, isNew: false }
    }
    if (named !== undefined && !isSessionId(named)) {
      throw new ProvostError('invalid-session-id', 'The conversation has no valid id.', {
        hint: 'An id has 8 to 128 letters, digits, "-", "_" and ".", and begins with a letter or digit.',
      })
    }
    const id = named ?? (key === undefined ? uuidv7() : idFor(principal, key))
    const messages = history.length > 0 ? toHistory([...history], allowProviderOptions) : undefined
    const place = await openOrBegin(host, principal, { id, agent, messages, tools })
    if (!place.isNew) await checkSession(host, place.live, { agent, tools })
    return place
  }

  async function begin(
    principal: Principal,
    { live, isNew }: Place,
    body: ResponseBody,
    { parts, answers }: ResponseInput,
    key: string | undefined,
  ): Promise<BegunTurn & { readonly messageId?: string }> {
    if (answers) return continueTurn(setup, principal, live, answers.decisions)
    if (key !== undefined) await bindKey(host.store, live.id, { principal, key, body }, 'say')
    const messageId = key === undefined ? uuidv7() : idFor(principal, `message/${key}`)
    const message = await userMessage(messageId, parts, host.store)
    return { ...(await beginTurn(setup, live, message, key !== undefined && !isNew)), messageId }
  }

  return operation({
    method: 'post',
    path: '/v1/responses',
    operationId: 'createResponse',
    summary: 'Open Responses: runs the agent named by `model`, and returns or streams its response.',
    headers: keyHeader,
    body: responseSchema,
    mostBytes: limits.chatBytes,
    success: 200,
    answer: resourceSchema,
    async handle({ principal, body, request }) {
      accepting()
      const { model: agent, previous_response_id: previous, metadata, instructions } = body
      const input = readResponseInput(body, principal.id)
      if (input.parts.length === 0 && !input.answers) throw badRequest('input: it ends with no user message or answer.')
      host.agentOf(agent)
      await allow(principal, { kind: 'run', agent })
      const key = keyOf(request)
      const release = connections.take(principal.id)
      let admitted = (): void => {}
      let isNew: string | undefined
      try {
        admitted = host.admit(principal)
        const place = await placeOf(principal, body, input, toolsOf(body.tools ?? []), key)
        if (place.isNew) isNew = place.live.id
        const { live } = place
        if (!place.isNew) await allow(principal, { kind: 'send', sessionId: live.id })
        const { messageId, ...begun } = await begin(principal, place, body, input, key)
        const background = body.background === true
        const ref = { sessionId: live.id, after: begun.after.root, messageId }
        const kept = { previous: previous ?? null, instructions: instructions ?? null, background }
        await keepRequest(host, principal, ref, { ...kept, metadata: metadata ?? {} })
        const mapper = createResponseMapper(await requestOf(host, ref), clockOf(host.store).now)
        const reading = { setup, request, begun, aborts: !background, release }
        if (body.stream) return streamedTurn(reading, responseProtocol(mapper))
        if (background) release()
        else await waitForTurn(reading, mapper)
        return Response.json(mapper.resource(), { headers: { 'x-session-id': live.id } })
      } catch (thrown) {
        release()
        if (isNew !== undefined) await host.discard(isNew).catch((error: unknown) => report(error, { request }))
        throw thrown
      } finally {
        admitted()
      }
    },
  })
}
