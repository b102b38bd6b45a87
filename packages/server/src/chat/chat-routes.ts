import { z } from 'zod'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { isCode } from '../http/request-error.ts'
import { followSession } from '../sessions/session-reader.ts'
import { compressionOf } from '../stream/stream-response.ts'
import { sessionTurns, readTurns } from '../turns/session-turn.ts'
import { turnResponse } from '../turns/turn-response.ts'
import { chatMessages } from './chat-history.ts'
import { findChat } from './chat-session.ts'
import { chatProtocol } from './chat-stream.ts'

const stopSchema = z.looseObject({
  runId: z.string().min(1).max(200).optional().describe('Stop only this run. Default: the run in progress.'),
})
const stoppedSchema = z.object({ sessionId: z.string(), stopped: z.boolean() })
const fileQuery = z.looseObject({ hash: z.string().regex(/^[0-9a-f]{64}$/u) })
const messagesSchema = z.array(z.looseObject({ id: z.string(), role: z.enum(['user', 'assistant']) }))

/** Returns the routes of a chat beside `POST /api/chat`: its messages, its stream, its stop and its files. */
export function chatRoutes({
  host,
  limits,
  connections,
  compression,
  allow,
  accepting,
  decisionService,
  report,
}: OperationSetup): readonly Operation[] {
  const { store } = host

  return [
    operation({
      method: 'get',
      path: '/api/chat/{id}',
      operationId: 'chatMessages',
      summary: 'The messages of a chat, as `useChat` takes them; an empty list for a chat that has not begun.',
      success: 200,
      answer: messagesSchema,
      async handle({ principal, id }) {
        const { sessionId } = await findChat(store, principal, id)
        try {
          await decisionService.view(principal, sessionId, 'read')
        } catch (thrown) {
          if (isCode(thrown, 'unknown-session')) return Response.json([])
          throw thrown
        }
        return Response.json(await chatMessages(store, sessionId, id, host.redaction))
      },
    }),
    operation({
      method: 'get',
      path: '/api/chat/{id}/stream',
      operationId: 'chatStream',
      summary: 'Replays the answer in progress from its beginning, and streams the rest; 204 if there is none.',
      success: 200,
      stream: 'text/event-stream',
      async handle({ principal, id, request }) {
        accepting()
        const { sessionId } = await findChat(store, principal, id)
        const idle = new Response(null, { status: 204 })
        const live = await host.open(principal, sessionId).catch((thrown: unknown) => {
          if (isCode(thrown, 'unknown-session')) return undefined
          throw thrown
        })
        if (!live) return idle
        await allow(principal, { kind: 'read', sessionId })
        const { last, state } = await readTurns(store, sessionId)
        if (!last || state.run?.status !== 'running') return idle
        const release = connections.take(principal.id)
        const control = connections.control(sessionId)
        const reading = { host, live, waitingBytes: limits.waitingBytes, signal: control.signal }
        return turnResponse(
          {
            sessionId,
            events: followSession(reading, last.begin),
            turns: sessionTurns(),
            isAsked: (turn) => turn.id === last.turn.id,
            heartbeatMs: limits.heartbeatMs,
            compression: compressionOf(request, compression),
            connections,
            control,
            closed: release,
            failed: (thrown) => report(thrown, { request, sessionId }),
          },
          chatProtocol(sessionId),
        )
      },
    }),
    operation({
      method: 'post',
      path: '/api/chat/{id}/stop',
      operationId: 'chatStop',
      summary: 'Stops the answer in progress. The chat continues with the next message.',
      body: stopSchema,
      success: 200,
      answer: stoppedSchema,
      async handle({ principal, id, body: { runId } }) {
        const { sessionId } = await findChat(store, principal, id)
        const live = await host.open(principal, sessionId)
        await allow(principal, { kind: 'abort', sessionId })
        const { state } = await readTurns(store, sessionId)
        const { run } = state
        const isOpen = run?.status === 'running' || run?.status === 'suspended'
        // A late stop must not end the run of the next message.
        const stopped = isOpen && (runId === undefined || runId === run.id)
        if (stopped) await live.session.abort()
        return Response.json({ sessionId, stopped })
      },
    }),
    operation({
      method: 'get',
      path: '/api/chat/{id}/file',
      operationId: 'chatFile',
      summary: 'A file that a message of the chat has.',
      query: fileQuery,
      success: 200,
      stream: 'application/octet-stream',
      async handle({ principal, id, query: { hash } }) {
        const { sessionId } = await findChat(store, principal, id)
        await decisionService.view(principal, sessionId, 'read')
        const { state } = await readTurns(store, sessionId)
        const parts = state.messages.flatMap(({ content }) => content)
        const file = parts.find((part) => part.type === 'file' && part.data.type === 'blob' && part.data.hash === hash)
        const bytes = file?.type === 'file' ? await store.blob(hash) : undefined
        if (!bytes || file?.type !== 'file') throw noFile()
        return new Response(new Uint8Array(bytes), {
          headers: {
            'content-type': headerType(file.mediaType),
            // A file of a user must not run in the page of another.
            'content-security-policy': "default-src 'none'; sandbox",
            'content-disposition': 'inline',
            'cache-control': 'private, max-age=31536000, immutable',
          },
        })
      },
    }),
  ]
}

/** Returns the media type that a client gave a file, if it can be a header. */
function headerType(mediaType: string): string {
  return /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/u.test(mediaType) ? mediaType : 'application/octet-stream'
}

function noFile(): HttpError {
  return new HttpError(404, {
    code: 'unknown-file',
    message: 'No message of the chat has this file.',
    hint: 'Use the addresses in the messages of GET /api/chat/ID.',
  })
}
