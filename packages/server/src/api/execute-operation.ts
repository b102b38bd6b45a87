import type { AgentStream } from '@provost/agent'
import type { Input, Principal } from '@provost/core'
import { ProvostError, uuidv7 } from '@provost/core'

import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest, isCode, waits } from '../http/request-error.ts'
import type { ExecuteBody } from '../http/request-schema.ts'
import { executeSchema, streamQuery } from '../http/request-schema.ts'
import { beginOnce, bindKey, decideOnce, idFor, keyHeader, keyOf, keyToken } from '../requests/idempotency.ts'
import { decisionsOf, toHistory, toInput, toTools } from '../requests/request-decisions.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { checkRequested } from '../sessions/requested-options.ts'
import { endOf, hasRun } from '../sessions/session-end.ts'
import type { RunRequest } from '../sessions/session-host.ts'
import { readRun } from '../sessions/session-reader.ts'
import { atBeginning, givenCursor } from '../stream/cursor.ts'
import type { StreamForm } from './event-response.ts'
import { followed, formOf, streamed } from './event-response.ts'
import type { OperationSetup } from './operation-setup.ts'

/** The description of the header, for operations that read it. */
export const resumeHeader = { 'Last-Event-ID': 'Id of the last received event: the stream resumes after it.' }

/** `POST /api/agent/execute` */
export function executeOperation(setup: OperationSetup): Operation {
  const { host, limits, allow, accepting, decisionService } = setup

  /** Starts a run. A run that is rejected before its first event becomes an error response, not a stream. */
  async function begun(
    live: LiveSession,
    principal: Principal,
    form: StreamForm,
    input: Input,
    options: RunRequest,
  ): Promise<Response> {
    if (live.session.status === 'suspended') throw waits(live.id)
    let run: AgentStream<unknown> | undefined
    const first = new Promise<void>((resolve) => {
      const stop = live.feed.listen(() => (stop(), resolve()))
    })
    const response = streamed(setup, live, principal, form, (signal) => {
      const opened = readRun({ host, live, signal, waitingBytes: limits.waitingBytes }, () =>
        host.start(live, input, options),
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

  /**
   * Sends the first input of a session once for each key. A repeated request sends the input of a request whose process
   * died before the input entered.
   */
  async function sentOnce(
    live: LiveSession,
    principal: Principal,
    key: string,
    form: StreamForm,
    input: Input,
    { maxSteps, ...requested }: RunRequest,
  ): Promise<Response> {
    // A key of a new session differs from the same key for input to that session.
    const token = `begin/${keyToken(principal, key)}`
    if (!(await hasRun(host.store, live.id)))
      await host.send(live, input, { mode: 'queue', key: token, maxSteps, requested })
    return followed(setup, live, principal, form, atBeginning)
  }

  async function execute(
    body: ExecuteBody,
    principal: Principal,
    form: StreamForm,
    key: string | undefined,
    last: string | undefined,
  ): Promise<Response> {
    const { agent, sessionId, input, messages, tools, options = {}, ...rest } = body
    checkRequested(options, setup.requestOptions)
    const wanted = decisionsOf(rest, principal)
    if ((input === undefined) === (wanted === undefined)) {
      throw badRequest('Give either `input` or answers (`approvals`, `batches`, `toolResults`, `uncertain`, `inputs`).')
    }
    if (sessionId === undefined) {
      if (input === undefined) throw badRequest('Answers without a `sessionId`. Name the session that waits for them.')
      await allow(principal, { kind: 'run', ...(agent !== undefined && { agent }) })
      const history = toHistory(messages, setup.allowProviderOptions)
      const id = key === undefined ? uuidv7() : idFor(principal, key)
      const beginning = { id, agent, messages: history, tools: toTools(tools) }
      const admitted = host.admit(principal)
      let isNew = key === undefined
      try {
        if (key !== undefined) await bindKey(host.store, id, { principal, key, body }, 'begin')
        isNew = true
        const live = await host.begin(principal, beginning)
        if (key === undefined) return await begun(live, principal, form, toInput(input), options)
        return await sentOnce(live, principal, key, form, toInput(input), options)
      } catch (thrown) {
        if (key !== undefined && isCode(thrown, 'session-exists')) {
          const live = await host.open(principal, id)
          return await sentOnce(live, principal, key, form, toInput(input), options)
        }
        if (isNew) await host.discard(id)
        throw thrown
      } finally {
        admitted()
      }
    }
    if (messages || tools) throw badRequest('`messages` and `tools` are for a new session: leave `sessionId` out.')
    const live = await host.open(principal, sessionId)
    if (agent !== undefined && agent !== live.agent.name) {
      throw new ProvostError('wrong-agent', `Session ${sessionId} belongs to agent ${live.agent.name}.`, {
        hint: 'Leave `agent` out.',
      })
    }
    if (input !== undefined) await allow(principal, { kind: 'send', sessionId })
    if (input !== undefined) {
      if (key === undefined) {
        const admitted = host.admit(principal)
        return begun(live, principal, form, toInput(input), options).finally(admitted)
      }
      const since = await beginOnce({ host, live, principal, key, body }, toInput(input), options)
      return followed(setup, live, principal, form, since)
    }
    const decisions = wanted && (await decisionService.check(principal, { live, requester: principal }, wanted, 'http'))
    const after = last === undefined ? await endOf(host.store, sessionId) : givenCursor(sessionId, last)
    if (decisions && key !== undefined) await decideOnce({ host, live, principal, key }, decisions)
    else if (decisions) await host.decide(live, decisions)
    return followed(setup, live, principal, form, after)
  }

  return operation({
    method: 'post',
    path: '/api/agent/execute',
    operationId: 'execute',
    summary: 'Starts or resumes a run and streams its events. The last is `execute_complete`.',
    headers: { ...keyHeader, ...resumeHeader },
    query: streamQuery,
    body: executeSchema,
    success: 200,
    stream: 'text/event-stream',
    async handle({ principal, body, query, request }) {
      accepting()
      return execute(
        body,
        principal,
        formOf(request, query),
        keyOf(request),
        request.headers.get('last-event-id') ?? undefined,
      )
    },
  })
}
