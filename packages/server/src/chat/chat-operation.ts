import type { Principal } from '@provost/core'
import { uuidv7 } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { beginOnce, keyHeader, keyOf } from '../requests/idempotency.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { BegunTurn } from '../turns/begin-turn.ts'
import { endNow } from '../turns/begin-turn.ts'
import { openOrBegin } from '../turns/open-session.ts'
import { streamedTurn } from '../turns/read-turn.ts'
import type { SessionTurn } from '../turns/session-turn.ts'
import { readTurns } from '../turns/session-turn.ts'
import type { ChatPlace } from './chat-place.ts'
import { placeBehind, placeOf } from './chat-place.ts'
import type { ChatBody, ChatRequest } from './chat-request.ts'
import { chatSchema, clientTools, contentHash, messageKey, messageOf, readChatRequest } from './chat-request.ts'
import type { Chat } from './chat-session.ts'
import { findChat, moveChat } from './chat-session.ts'
import { chatProtocol } from './chat-stream.ts'

type Answers = Extract<ChatRequest, { kind: 'answers' }>
/** A message whose id is known. */
type Asked = Extract<ChatRequest, { kind: 'input' }> & { readonly id: string }

/** `POST /api/chat`: what `useChat` of the AI SDK sends. */
export function chatOperation(setup: OperationSetup): Operation {
  const { host, limits, connections, allowProviderOptions, allow, accepting, decisionService, chat } = setup
  const { store } = host

  /** Delivers the answers of the page, and follows the turn that waited for them. */
  async function answer(
    principal: Principal,
    live: LiveSession,
    { approvals, toolResults }: Answers,
  ): Promise<BegunTurn> {
    const { last, end } = await readTurns(store, live.id)
    const { pending } = live.session
    const waiting = new Set(pending.approvals.map(({ id }) => id))
    const called = new Set(pending.remoteCalls.map(({ callId }) => callId))
    const by = principal.id
    const decisions = {
      // The page sends every approval response of the chat.
      approvals: approvals.filter(({ id }) => waiting.has(id)).map((one) => ({ ...one, by })),
      toolResults: toolResults.filter(({ callId }) => called.has(callId)).map((one) => ({ ...one, by })),
    }
    if (decisions.approvals.length + decisions.toolResults.length > 0) {
      await host.decide(live, await decisionService.check(principal, { live, requester: principal }, decisions, 'http'))
    }
    return { live, after: end, turn: last?.turn, isAsked: ({ id }) => id === last?.turn.id }
  }

  /** Sends a message once, however often the page repeats the request, and follows its turn. */
  async function say(
    principal: Principal,
    live: LiveSession,
    asked: Asked,
    key: string | undefined,
    body: ChatBody,
  ): Promise<BegunTurn> {
    const { id } = asked
    const isAsked = ({ messageIds }: SessionTurn): boolean => messageIds.includes(id)
    // A new message aborts a suspended run: its pending calls never start.
    const leave = async (): Promise<void> => {
      if (live.session.status === 'suspended') await live.session.abort()
    }
    const message = await messageOf(asked, store)
    if (key !== undefined) {
      const after = await beginOnce({ host, live, principal, key, body }, message, {}, leave)
      return { live, after, isAsked }
    }
    await leave()
    const after = await endNow(setup, live)
    await host.send(live, message, { mode: 'queue', key: messageKey(principal, id) })
    return { live, after, isAsked }
  }

  /** Sends a message where its page has it: at the end of the chat, or behind an earlier answer, in a session of its own. */
  async function ask(
    found: Chat,
    live: LiveSession,
    asked: Asked,
    key: string | undefined,
    body: ChatBody,
  ): Promise<BegunTurn> {
    const { principal } = found
    const { id, parts, replaces, shown } = asked
    if (key !== undefined) {
      // A key identifies the request, whatever the page says of its message. A repeated one finds its message in the chat.
      const keyed = { ...asked, id: messageKey(principal, key) }
      const behind = shown && (await placeBehind(store, found, keyed.id, shown))
      return say(principal, behind ? await moveChat(host, found, live, behind) : live, keyed, key, body)
    }
    const token = `${messageKey(principal, id)}/content`
    const hash = contentHash(parts)
    const move = async (place: ChatPlace): Promise<BegunTurn> => {
      const branch = await moveChat(host, found, live, place)
      await store.deliver(branch.id, token, hash, principal.id)
      return say(principal, branch, asked, key, body)
    }
    if (replaces) return move(await placeOf(store, found, id))
    const place = shown && (await placeBehind(store, found, id, shown))
    if (place) return move(place)
    if ((await store.deliver(live.id, token, hash, principal.id)) === 'accepted') {
      return say(principal, live, asked, key, body)
    }
    // The page has sent this message before: again, or with other content.
    let before: unknown
    for await (const delivery of store.inbox(live.id)) if (delivery.token === token) before = delivery.value
    const { asked: recorded } = await readTurns(store, live.id, id)
    if (!recorded) return say(principal, live, asked, key, body)
    if (before !== hash) return move(await placeOf(store, found, id))
    return { live, after: recorded.begin, isAsked: ({ messageIds }) => messageIds.includes(id) }
  }

  return operation({
    method: 'post',
    path: '/api/chat',
    operationId: 'chat',
    summary:
      'A message, an edit, a regeneration or an answer from `useChat` of the AI SDK; streams the answer as a UI message stream.',
    headers: keyHeader,
    body: chatSchema,
    mostBytes: limits.chatBytes,
    success: 200,
    stream: 'text/event-stream',
    async handle({ principal, body, request }) {
      accepting()
      const asked = readChatRequest(body, allowProviderOptions)
      if (!asked) throw noContent()
      await allow(principal, { kind: 'run', ...(body.agent !== undefined && { agent: body.agent }) })
      const key = keyOf(request)
      // Rejected before a session or run is created.
      const release = connections.take(principal.id)
      let admitted = (): void => {}
      let created: string | undefined
      try {
        if (asked.kind === 'input' && key === undefined) admitted = host.admit(principal)
        const found = await findChat(store, principal, body.id)
        const { live, isNew } = await openOrBegin(host, principal, {
          id: found.sessionId,
          agent: body.agent,
          tools: clientTools(body),
        })
        if (isNew) created = live.id
        else await allow(principal, { kind: 'send', sessionId: live.id })
        const begun =
          asked.kind === 'answers'
            ? await answer(principal, live, asked)
            : await ask(found, live, { ...asked, id: asked.id ?? uuidv7() }, key, body)
        const aborts = chat.onDisconnect === 'abort'
        return streamedTurn({ setup, request, begun, aborts, release }, chatProtocol(begun.live.id))
      } catch (thrown) {
        release()
        if (created !== undefined) await host.discard(created)
        throw thrown
      } finally {
        admitted()
      }
    },
  })
}

function noContent(): HttpError {
  return new HttpError(400, {
    code: 'invalid-request',
    message: 'The last message has no text, file or approval response.',
    hint: 'Send a user message, or the assistant message with its approval responses.',
  })
}
