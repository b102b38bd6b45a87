import { createHash } from 'node:crypto'

import { pendingWork } from '@provost/agent'
import type { AgentStream } from '@provost/agent'
import type { Input, Principal } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { exportSession } from '@provost/sessions'

import type { Connections } from './connections.ts'
import type { Cursor } from './cursor.ts'
import { atBeginning, givenCursor, writeCursor } from './cursor.ts'
import { eventStream } from './event-stream.ts'
import { decisionsOf, keyToken, toHistory, toInput, toTools } from './given.ts'
import { HttpError } from './http-error.ts'
import type { Limits } from './limits.ts'
import type { LiveSession } from './live-session.ts'
import type { Operation } from './operation.ts'
import { operation } from './operation.ts'
import type { ExecuteBody } from './request-schema.ts'
import {
  abortSchema,
  decisionsSchema,
  eventsQuery,
  executeSchema,
  listQuery,
  sendSchema,
  toolResultsSchema,
} from './request-schema.ts'
import { acceptedSchema, listSchema, sessionSchema } from './response-schema.ts'
import type { Action } from './server-options.ts'
import { endOf, foldSession, whereSaid } from './session-end.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionEvents } from './session-reader.ts'
import { followSession, readRun } from './session-reader.ts'

/** What the operations of a server work with. */
export interface OperationSetup {
  readonly host: SessionHost
  readonly limits: Limits
  readonly connections: Connections
  /** @throws HttpError 403 */
  allow(principal: Principal, action: Action): Promise<void>
  /** @throws HttpError 503 while the server shuts down. */
  accepting(): void
}

const keyHeader = { 'Idempotency-Key': 'The same key again, and the same thing is not done again.' }
const resumeHeader = { 'Last-Event-ID': 'The id of the last event that came: the stream goes on behind it.' }

/** The routes under `/api/agent`. */
export function agentOperations(setup: OperationSetup): readonly Operation[] {
  const { host, limits, connections, allow, accepting } = setup
  function streamed(live: LiveSession, principal: Principal, open: (signal: AbortSignal) => SessionEvents): Response {
    const release = connections.take(principal.id)
    const control = connections.control(live.id)
    const events = ((): SessionEvents => {
      try {
        return open(control.signal)
      } catch (thrown) {
        release()
        connections.done(control)
        throw thrown
      }
    })()
    const closed = (): void => {
      release()
      connections.done(control)
      control.abort()
    }
    const body = eventStream(events, { heartbeatMs: limits.heartbeatMs, closed })
    return new Response(body, {
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'x-session-id': live.id,
      },
    })
  }

  function followed(live: LiveSession, principal: Principal, after: Cursor): Response {
    const { waitingBytes } = limits
    return streamed(live, principal, (signal) => followSession({ host, live, signal, waitingBytes }, after))
  }

  /** Begins a run; one that is refused before it has said anything is an error, not a stream. */
  async function begun(
    live: LiveSession,
    principal: Principal,
    input: Input,
    maxSteps: number | undefined,
  ): Promise<Response> {
    if (!host.mayRun(principal)) throw tooMany('runs', 'Wait for one of your runs to end.')
    if (live.session.status === 'suspended') throw waits(live.id)
    let run: AgentStream<unknown> | undefined
    const first = new Promise<void>((resolve) => {
      const stop = live.feed.listen(() => (stop(), resolve()))
    })
    const response = streamed(live, principal, (signal) => {
      const opened = readRun({ host, live, signal, waitingBytes: limits.waitingBytes }, () =>
        host.start(live, input, maxSteps === undefined ? {} : { maxSteps }),
      )
      ;({ run } = opened)
      return opened.events
    })
    const refused = run && (await Promise.race([first, run.result]))
    if (refused && refused.status === 'failed') {
      await response.body?.cancel()
      throw refused.error
    }
    return response
  }

  /** Begins a run under a key, in whatever process and however often it is asked for: the first time counts. */
  async function begunOnce(
    live: LiveSession,
    principal: Principal,
    input: Input,
    { key, maxSteps }: { key: string; maxSteps?: number | undefined },
  ): Promise<Response> {
    const known = await whereSaid(host.store, live.id, key)
    const after = known ?? (await endOf(host.store, live.id))
    if (!known) {
      if (!host.mayRun(principal)) throw tooMany('runs', 'Wait for one of your runs to end.')
      if (live.session.status === 'suspended') throw waits(live.id)
      if (live.session.status === 'running') throw busy(live.id)
      await host.send(live, input, { mode: 'queue', key, maxSteps })
    }
    return followed(live, principal, after)
  }

  async function execute(
    body: ExecuteBody,
    principal: Principal,
    key: string | undefined,
    last: string | undefined,
  ): Promise<Response> {
    const { agent, sessionId, input, messages, tools, options, ...rest } = body
    const decisions = decisionsOf(rest, principal)
    if ((input === undefined) === (decisions === undefined)) {
      throw badRequest('Give either `input` or answers (`approvals`, `toolResults`, `uncertain`, `inputs`).')
    }
    if (sessionId === undefined) {
      if (input === undefined) throw badRequest('Answers are for a session: give its `sessionId`.')
      await allow(principal, { kind: 'run', ...(agent !== undefined && { agent }) })
      const id = key === undefined ? undefined : idFor(principal, key)
      try {
        const beginning = {
          id,
          agent,
          messages: messages === undefined ? undefined : toHistory(messages),
          tools: toTools(tools),
        }
        const live = await host.begin(principal, beginning)
        return await begun(live, principal, toInput(input), options?.maxSteps)
      } catch (thrown) {
        if (id === undefined || !isCode(thrown, 'session-exists')) throw thrown
        return followed(await host.open(principal, id), principal, atBeginning)
      }
    }
    if (messages || tools) throw badRequest('`messages` and `tools` are for a new session: leave `sessionId` out.')
    const live = await host.open(principal, sessionId)
    if (agent !== undefined && agent !== live.agent.name) {
      throw new ProvostError('wrong-agent', `Session ${sessionId} belongs to agent ${live.agent.name}.`, {
        hint: 'Leave `agent` out.',
      })
    }
    await allow(principal, { kind: decisions ? 'decide' : 'send', sessionId })
    if (input !== undefined) {
      if (key === undefined) return begun(live, principal, toInput(input), options?.maxSteps)
      return begunOnce(live, principal, toInput(input), { key: keyToken(principal, key), ...options })
    }
    const after = last === undefined ? await endOf(host.store, sessionId) : givenCursor(sessionId, last)
    if (decisions) await host.decide(live, decisions)
    return followed(live, principal, after)
  }

  async function accepted(live: LiveSession): Promise<Response> {
    return Response.json({ sessionId: live.id, status: live.session.status }, { status: 202 })
  }

  const said = (mode: 'steer' | 'queue', path: string, operationId: string, summary: string): Operation =>
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
        await host.send(live, toInput(body.input), { mode, key: key === undefined ? key : keyToken(principal, key) })
        return accepted(live)
      },
    })

  const decided = (path: string, operationId: string, summary: string, body: typeof decisionsSchema): Operation =>
    operation({
      method: 'post',
      path,
      operationId,
      summary,
      body,
      success: 202,
      answer: acceptedSchema,
      async handle({ principal, id, body: given }) {
        accepting()
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'decide', sessionId: id })
        const decisions = decisionsOf(given, principal)
        if (!decisions) throw badRequest('Give `approvals`, `toolResults`, `uncertain` or `inputs`.')
        await host.decide(live, decisions)
        return accepted(live)
      },
    })

  return [
    operation({
      method: 'post',
      path: '/api/agent/execute',
      operationId: 'execute',
      summary: 'Begins a run, or goes on with one, and streams its events. The last is `execute_complete`.',
      headers: { ...keyHeader, ...resumeHeader },
      body: executeSchema,
      success: 200,
      stream: 'text/event-stream',
      async handle({ principal, body, request }) {
        accepting()
        return execute(body, principal, keyOf(request), request.headers.get('last-event-id') ?? undefined)
      },
    }),
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
        const filter = {
          principal: principal.id,
          limit,
          ...(after !== undefined && { after }),
          ...(status && { status }),
        }
        for await (const { id, agent, status: its, updatedAt } of host.store.list(filter)) {
          sessions.push({ id, agent, status: its, updatedAt })
        }
        const next = sessions.length === limit ? sessions.at(-1)?.id : undefined
        return Response.json({ sessions, ...(next !== undefined && { next }) })
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}',
      operationId: 'getSession',
      summary: 'What was said in a session, how it stands and what it waits for.',
      success: 200,
      answer: sessionSchema,
      async handle({ principal, id }) {
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'read', sessionId: id })
        const { state, last } = await foldSession(host.store, id)
        const { run, messages } = state
        const status = run?.status ?? 'idle'
        return Response.json({
          id,
          agent: live.agent.name,
          status: status === 'completed' || status === 'aborted' ? 'idle' : status,
          messages: messages.filter(({ role }) => role !== 'system'),
          pending: pendingWork(state),
          ...(last.root.offset > 0 && { lastEventId: writeCursor(id, last) }),
        })
      },
    }),
    operation({
      method: 'delete',
      path: '/api/agent/session/{id}',
      operationId: 'deleteSession',
      summary: 'Ends what goes on in a session and removes it for good.',
      success: 204,
      async handle({ principal, id }) {
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'delete', sessionId: id })
        await live.session.abort()
        host.forget(id)
        await host.store.delete(id)
        return new Response(null, { status: 204 })
      },
    }),
    said('steer', '/api/agent/session/{id}/steer', 'steer', 'Says something that enters before the next model call.'),
    said(
      'queue',
      '/api/agent/session/{id}/follow-up',
      'followUp',
      'Says something that enters when the run would end.',
    ),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/abort',
      operationId: 'abort',
      summary: 'Ends the run that goes on or waits, in whatever process it lives.',
      body: abortSchema,
      success: 202,
      answer: acceptedSchema,
      async handle({ principal, id, body: { drain, graceMs, onPendingApprovals } }) {
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'abort', sessionId: id })
        const options = {
          ...(drain !== undefined && { drain }),
          ...(graceMs !== undefined && { graceMs }),
          ...(onPendingApprovals && { onPendingApprovals }),
        }
        await live.session.abort(options)
        return accepted(live)
      },
    }),
    decided(
      '/api/agent/session/{id}/approvals',
      'decide',
      'Answers what a run waits for: approvals, remote and uncertain calls, questions of tools.',
      decisionsSchema,
    ),
    operation({
      method: 'post',
      path: '/api/agent/session/{id}/tool-results',
      operationId: 'giveToolResults',
      summary: 'Brings what remote tools gave.',
      body: toolResultsSchema,
      success: 202,
      answer: acceptedSchema,
      async handle({ principal, id, body }) {
        accepting()
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'decide', sessionId: id })
        const decisions = decisionsOf(body, principal)
        if (decisions) await host.decide(live, decisions)
        return accepted(live)
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}/events',
      operationId: 'events',
      summary: 'The events behind one, and those that follow until nothing goes on.',
      headers: resumeHeader,
      query: eventsQuery,
      success: 200,
      stream: 'text/event-stream',
      async handle({ principal, id, query, request }) {
        accepting()
        const live = await host.open(principal, id)
        await allow(principal, { kind: 'read', sessionId: id })
        const after = request.headers.get('last-event-id') ?? query.after
        return followed(live, principal, after === undefined ? atBeginning : givenCursor(id, after))
      },
    }),
    operation({
      method: 'get',
      path: '/api/agent/session/{id}/export',
      operationId: 'exportSession',
      summary: 'What was said, as JSON lines, without reasoning, prompts, secrets and the audit trail.',
      success: 200,
      stream: 'application/x-ndjson',
      async handle({ principal, id }) {
        await host.open(principal, id)
        await allow(principal, { kind: 'export', sessionId: id })
        const lines = exportSession(host.store, id, { for: 'outside' })
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

/** Read as fast as the client takes it. */
function byteStream(lines: AsyncIterable<string>): ReadableStream<Uint8Array> {
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

/** The id of a session that a key stands for: the same in every process. */
function idFor(principal: Principal, key: string): string {
  const hex = createHash('sha256')
    .update(JSON.stringify([principal.id, key]))
    .digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key') ?? undefined
  if (key !== undefined && (key === '' || key.length > 200))
    throw badRequest('An Idempotency-Key has 1 to 200 characters.')
  return key
}

function isCode(thrown: unknown, code: string): boolean {
  return isRecord(thrown) && thrown['code'] === code
}

function badRequest(message: string): HttpError {
  return new HttpError(400, { code: 'invalid-request', message, hint: 'See /openapi.json.' })
}

function waits(id: string): HttpError {
  return new HttpError(409, {
    code: 'session-suspended',
    message: `Session ${id} waits for answers.`,
    hint: 'Answer what is in its `pending`, send it a follow-up, or abort its run.',
  })
}

function busy(id: string): HttpError {
  return new HttpError(409, {
    code: 'session-busy',
    message: `A run goes on in session ${id}.`,
    hint: 'Steer it, send a follow-up, or wait for its end.',
  })
}

function tooMany(what: string, hint: string): HttpError {
  return new HttpError(
    429,
    { code: 'too-many', message: `You have too many ${what}.`, hint, retryable: true },
    { 'retry-after': '5' },
  )
}
