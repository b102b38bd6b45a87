import { compensatedSession, compensationLog, lastModel, pendingWork, sessionCost, sessionUsage } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { auditLogOf, countedRead, exportSession } from '@provost/sessions'

import { HttpError, notOperator, unknownSession } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { eventsQuery, listQuery } from '../http/request-schema.ts'
import { listSchema, releaseSchema, sessionSchema } from '../http/response-schema.ts'
import { shownChange } from '../sessions/held-change.ts'
import { watchedSession } from '../sessions/live-session.ts'
import { foldSession, isBeyond, isOver } from '../sessions/session-end.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import { atBeginning, givenCursor, writeCursor } from '../stream/cursor.ts'
import { followed, formOf } from './event-response.ts'
import { resumeHeader } from './execute-operation.ts'
import type { OperationSetup } from './operation-setup.ts'

/** Returns the routes that list, read, export, delete and release sessions. */
export function sessionOperations(setup: OperationSetup): readonly Operation[] {
  const { host, allow, accepting, approver, decisionService } = setup
  return [
    operation({
      method: 'get',
      path: '/api/agent/sessions',
      operationId: 'listSessions',
      summary: 'Your sessions, in the order of their ids.',
      query: listQuery,
      success: 200,
      answer: listSchema,
      async handle({ principal, query: { after, limit = 50, status } }) {
        await allow(principal, { kind: 'list' })
        const sessions = []
        let last: string | undefined
        let listed = 0
        const filter = {
          principal: principal.id,
          limit,
          ...(after !== undefined && { after }),
          ...(status && { status }),
        }
        for await (const { id, agent, status: its, updatedAt } of host.store.list(filter)) {
          last = id
          listed++
          if (compensatedSession(id) === undefined) sessions.push({ id, agent, status: its, updatedAt })
        }
        const next = listed === limit ? last : undefined
        return Response.json({ sessions, ...(next !== undefined && { next }) })
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}',
      operationId: 'getSession',
      summary: 'The messages of a session, its status, its pending work, and its usage and cost so far.',
      success: 200,
      answer: sessionSchema,
      async handle({ principal, id }) {
        const { agent, quarantined } = await decisionService.view(principal, id, 'read')
        const read = (): ReturnType<typeof foldSession> => foldSession(host.store, id)
        const { state, last } = quarantined ? await read() : await countedRead(host.store, id, readingMs, read)
        const { run, messages } = state
        const [model, cost] = [lastModel(state), sessionCost(state)]
        const change = (await approver.isOperator(principal))
          ? await shownChange(setup, { id, agent }, state)
          : undefined
        const status = quarantined ? 'quarantined' : (run?.status ?? 'idle')
        return Response.json({
          id,
          agent,
          status: status === 'completed' || status === 'aborted' ? 'idle' : status,
          messages: messages.flatMap((one) => (one.role === 'system' ? [] : [host.redaction.message(one)])),
          pending: pendingWork(state),
          ...(change && { change }),
          ...(model !== undefined && { model }),
          usage: sessionUsage(state),
          ...(cost !== undefined && { cost }),
          ...(last.root.offset > 0 && { lastEventId: writeCursor(id, last) }),
        })
      },
    }),
    operation({
      method: 'delete',
      path: '/api/agent/session/{id}',
      operationId: 'deleteSession',
      summary: 'Aborts the run of a session and deletes the session permanently.',
      success: 204,
      async handle({ principal, id }) {
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'delete', sessionId: id })
        await live.session.abort()
        host.forget(id)
        await host.store.delete(id)
        await host.store.delete(compensationLog(id))
        await host.store.delete(auditLogOf(id))
        return new Response(null, { status: 204 })
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}/events',
      operationId: 'events',
      summary:
        'Streams the events after one, and those that follow until no run is active. With `follow=1` it stays open; with `recover=0` it resumes no run whose process died.',
      headers: resumeHeader,
      query: eventsQuery,
      success: 200,
      stream: 'text/event-stream',
      async handle({ principal, id, query, request }) {
        accepting()
        const isLooking = query.recover === '0'
        if (isLooking) await decisionService.view(principal, id, 'read')
        const live = isLooking ? watchedSession(id, host.redaction) : await decisionService.openToRead(principal, id)
        const after = request.headers.get('last-event-id') ?? query.after
        const cursor = after === undefined ? atBeginning : givenCursor(id, after)
        if (await isBeyond(host.store, id, cursor)) throw beyondLog(id)
        // An EventSource stops reconnecting at this status alone.
        const stays = query.follow === '1'
        if (!stays && (await isOver(host.store, id, cursor))) return new Response(null, { status: 204 })
        return followed(setup, live, principal, formOf(request, query), cursor, { stays })
      },
    }),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/release',
      operationId: 'releaseSession',
      summary: 'Releases a session from quarantine, so that its run is resumed. For operators.',
      success: 200,
      answer: releaseSchema,
      async handle({ principal, id }) {
        accepting()
        if ((await approver.roleOf(principal))?.role !== 'operate') throw notOperator()
        await allow(principal, { kind: 'release', sessionId: id })
        const released = await host.releaseQuarantine(id)
        if (released === undefined) throw unknownSession(id)
        return Response.json({ sessionId: id, released })
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}/export',
      operationId: 'exportSession',
      summary: 'Exports the messages as JSON lines, without reasoning, prompts, secrets and the audit trail.',
      success: 200,
      stream: 'application/x-ndjson',
      async handle({ principal, id }) {
        await decisionService.view(principal, id, 'export')
        const lines = exportSession(outwardStore(host), id, { for: 'outside' })
        return new Response(byteStream(lines), {
          headers: {
            'content-type': 'application/x-ndjson',
            'content-disposition': 'attachment; filename="session.jsonl"',
          },
        })
      },
    }),
  ]
}

/** Milliseconds to read a session whose writer died. After them another process may try. */
const readingMs = 5_000

function beyondLog(id: string): HttpError {
  return new HttpError(400, {
    code: 'invalid-event-id',
    message: `The event id is beyond the end of session ${id.slice(0, 200)}.`,
    hint: 'Send the id of the last received event unchanged, or leave it out to receive all events.',
  })
}

/** Returns a store whose logs have errors as clients may receive them. */
function outwardStore({ store, redaction }: SessionHost): SessionStore {
  return {
    ...store,
    async *read(log, after) {
      for await (const entry of store.read(log, after)) yield redaction.entry(entry)
    },
  }
}

/** Returns lines as a byte stream with backpressure. */
export function byteStream(lines: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = lines[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
