import { createHash } from 'node:crypto'

import type { Principal } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError, responseStatus } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { beginOnce, keyHeader, keyOf } from '../requests/idempotency.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf } from '../sessions/session-end.ts'
import type { SessionEvents } from '../sessions/session-reader.ts'
import { followSession, readRun } from '../sessions/session-reader.ts'
import { frameStream } from '../stream/frame-stream.ts'
import type { ChatBody, ChatTurn } from './ui-message.ts'
import { chatSchema, turnOf } from './ui-message.ts'
import { createUiStream } from './ui-stream.ts'

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
}

/** `POST /api/chat`: what `useChat` of the AI SDK speaks, approvals included. */
export function chatOperation({
  host,
  limits,
  connections,
  allowProviderOptions,
  allow,
  accepting,
  decisionService,
  report,
}: OperationSetup): Operation {
  async function opened(principal: Principal, body: ChatBody): Promise<{ live: LiveSession; isNew: boolean }> {
    const id = sessionOf(principal, body.id)
    try {
      return { live: await host.open(principal, id), isNew: false }
    } catch (thrown) {
      if (!(thrown instanceof HttpError) || thrown.status !== 404) throw thrown
    }
    try {
      return { live: await host.begin(principal, { id, agent: body.agent }), isNew: true }
    } catch (thrown) {
      // Two tabs may start the same chat.
      const live = await host.open(principal, id).catch(() => {
        throw thrown
      })
      return { live, isNew: false }
    }
  }

  async function eventsOf(
    live: LiveSession,
    turn: ChatTurn,
    principal: Principal,
    key: string | undefined,
    body: ChatBody,
  ): Promise<(signal: AbortSignal) => SessionEvents> {
    const reading = { host, live, waitingBytes: limits.waitingBytes }
    if (turn.kind === 'answers') {
      const after = await endOf(host.store, live.id)
      const { approvals, remoteCalls } = live.session.pending
      const waiting = new Set(approvals.map(({ id }) => id))
      const called = new Set(remoteCalls.map(({ callId }) => callId))
      const by = principal.id
      const decisions = {
        // The page sends every approval response of the chat.
        approvals: turn.approvals.filter(({ id }) => waiting.has(id)).map((one) => ({ ...one, by })),
        toolResults: turn.toolResults.filter(({ callId }) => called.has(callId)).map((one) => ({ ...one, by })),
      }
      if (decisions.approvals.length + decisions.toolResults.length > 0) {
        await host.decide(
          live,
          await decisionService.check(principal, { live, requester: principal }, decisions, 'http'),
        )
      }
      return (signal) => followSession({ ...reading, signal }, after)
    }
    // A new message aborts a suspended run: its pending calls never start.
    const leave = async (): Promise<void> => {
      if (live.session.status === 'suspended') await live.session.abort()
    }
    if (key !== undefined) {
      const after = await beginOnce({ host, live, principal, key, body }, turn.input, {}, leave)
      return (signal) => followSession({ ...reading, signal }, after)
    }
    await leave()
    return (signal) => readRun({ ...reading, signal }, () => host.start(live, turn.input, {})).events
  }

  return operation({
    method: 'post',
    path: '/api/chat',
    operationId: 'chat',
    summary: 'A message or an approval from `useChat` of the AI SDK; streams the answer as a UI message stream.',
    headers: keyHeader,
    body: chatSchema,
    success: 200,
    stream: 'text/event-stream',
    async handle({ principal, body, request }) {
      accepting()
      const turn = turnOf(body, allowProviderOptions)
      if (!turn) {
        throw new HttpError(400, {
          code: 'invalid-request',
          message: 'The last message has no text, file or approval response.',
          hint: 'Send a user message, or the assistant message with its approval responses.',
        })
      }
      await allow(principal, { kind: 'run', ...(body.agent !== undefined && { agent: body.agent }) })
      const key = keyOf(request)
      // Rejected before a session or run is created.
      const release = connections.take(principal.id)
      let admitted = (): void => {}
      let control: AbortController | undefined
      let begun: string | undefined
      const closed = (): void => {
        release()
        if (control) connections.done(control)
        control?.abort()
      }
      try {
        if (turn.kind === 'input' && key === undefined) admitted = host.admit(principal)
        const { live, isNew } = await opened(principal, body)
        if (isNew) begun = live.id
        const open = await eventsOf(live, turn, principal, key, body)
        control = connections.control(live.id)
        const failed = (thrown: unknown): void => report(thrown, { request, sessionId: live.id })
        const frames = chunkFrames(live.id, open(control.signal), failed)
        const stream = frameStream(frames, { heartbeatMs: limits.heartbeatMs, closed, failed })
        return new Response(stream, { headers: { ...headers, 'x-session-id': live.id } })
      } catch (thrown) {
        closed()
        if (begun !== undefined) await host.discard(begun)
        throw thrown
      } finally {
        admitted()
      }
    },
  })
}

/** Returns the session id of a chat. It contains the principal, so a chat id never reaches another principal's session. */
function sessionOf(principal: Principal, chat: string): string {
  return `chat-${createHash('sha256')
    .update(JSON.stringify([principal.id, chat]))
    .digest('hex')
    .slice(0, 40)}`
}

async function* chunkFrames(
  sessionId: string,
  events: SessionEvents,
  failed: (thrown: unknown) => void,
): AsyncGenerator<Iterable<string>, void, undefined> {
  const chunks = createUiStream(sessionId)
  function* framesOf(list: readonly object[]): Generator<string, void, undefined> {
    for (const chunk of list) yield `data: ${JSON.stringify(chunk)}\n\n`
  }
  try {
    for (;;) {
      const next = await events.next()
      if (next.done) {
        if (next.value) yield framesOf(chunks.finish(next.value.pending))
        break
      }
      yield framesOf(next.value.flatMap(({ event }) => chunks.take(event)))
    }
  } catch (thrown) {
    failed(thrown)
    // Without an error the page would treat the partial answer as complete.
    yield framesOf([{ type: 'error', errorText: responseStatus(thrown).error.message }])
  } finally {
    await events.return(undefined)
  }
  yield ['data: [DONE]\n\n']
}
