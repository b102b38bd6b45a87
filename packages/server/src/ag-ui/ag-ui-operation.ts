import type { Principal } from '@provost/core'
import { clockOf } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import { toHistory } from '../requests/request-decisions.ts'
import { conversationSession } from '../requests/session-id.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { BegunTurn } from '../turns/begin-turn.ts'
import { beginTurn, continueTurn } from '../turns/begin-turn.ts'
import { checkSession, openOrBegin } from '../turns/open-session.ts'
import { streamedTurn } from '../turns/read-turn.ts'
import { readTurns } from '../turns/session-turn.ts'
import type { TurnProtocol } from '../turns/turn-response.ts'
import { userMessage } from '../turns/user-message.ts'
import type { AgUiInput, ClientState } from './ag-ui-input.ts'
import { answersIn, clientState, contextOf, readAgUiInput, stateBefore, toolsOf } from './ag-ui-input.ts'
import type { AgUiEvent, AgUiRun } from './ag-ui-mapper.ts'
import { createAgUiMapper } from './ag-ui-mapper.ts'
import type { RunBody } from './ag-ui-schema.ts'
import { runSchema } from './ag-ui-schema.ts'

/** `POST /ag-ui/{agent}` */
export function agUiOperation(setup: OperationSetup): Operation {
  const { host, limits, connections, allow, accepting, allowProviderOptions } = setup

  /** Begins what a client asks for. @returns undefined if all its answers were given before. */
  async function begin(
    principal: Principal,
    live: LiveSession,
    body: RunBody,
    input: AgUiInput,
  ): Promise<{ readonly begun?: BegunTurn; readonly client: ClientState }> {
    const client = clientState(input, body, live.session.pending)
    if (input.kind === 'answers') {
      const { decisions, count } = answersIn(input, live.session.pending, principal.id)
      if (count > 0) return { client, begun: await continueTurn(setup, principal, live, decisions) }
      const begun = await goingOn(live)
      return { client: begun ? stateBefore(body) : client, ...(begun && { begun }) }
    }
    if (input.isCut) {
      const begun = await sentBefore(live, input.id)
      if (!begun) throw badRequest('messages: the last one is of "user" or "tool", or there is a `resume`.')
      return { client: stateBefore(body), begun }
    }
    const message = await userMessage(input.id, input.parts, host.store)
    const context = contextOf(body, input.id, clockOf(host.store).now())
    return { client, begun: await beginTurn(setup, live, message, true, context) }
  }

  /** Returns the turn of a message that the session has. */
  async function sentBefore(live: LiveSession, messageId: string): Promise<BegunTurn | undefined> {
    const { asked } = await readTurns(host.store, live.id, messageId)
    return asked && { live, after: asked.begin, isAsked: ({ messageIds }) => messageIds.includes(messageId) }
  }

  /** Returns the turn in progress, for a client that has lost its stream behind the result of a call. */
  async function goingOn(live: LiveSession): Promise<BegunTurn | undefined> {
    const { last, state } = await readTurns(host.store, live.id)
    if (!last || state.run?.status !== 'running') return undefined
    return { live, after: last.begin, isAsked: ({ id }) => id === last.turn.id }
  }

  return operation({
    method: 'post',
    path: '/ag-ui/{agent}',
    operationId: 'agUi',
    summary: 'AG-UI: a run of a thread, its tools, its interrupts and their answers; streams the events of AG-UI.',
    body: runSchema,
    mostBytes: limits.chatBytes,
    success: 200,
    stream: 'text/event-stream',
    async handle({ principal, id: agent, body, request }) {
      accepting()
      const input = readAgUiInput(body)
      host.agentOf(agent)
      await allow(principal, { kind: 'run', agent })
      const release = connections.take(principal.id)
      let admitted = (): void => {}
      let isNew: string | undefined
      try {
        admitted = host.admit(principal)
        const messages =
          input.kind === 'message' && input.history.length > 0
            ? toHistory([...input.history], allowProviderOptions)
            : undefined
        const id = conversationSession('agui', [principal.id, agent, body.threadId])
        const tools = toolsOf(body)
        const opened =
          input.kind === 'message'
            ? await openOrBegin(host, principal, { id, agent, messages, tools })
            : { live: await host.open(principal, id), isNew: false }
        const { live } = opened
        if (opened.isNew) isNew = live.id
        else {
          await allow(principal, { kind: 'send', sessionId: live.id })
          await checkSession(host, live, { agent, tools })
        }
        const { begun, client } = await begin(principal, live, body, input)
        const { threadId, runId, protocolVersion } = body
        const run: AgUiRun = { threadId, runId, isCurrent: protocolVersion !== undefined, ...client }
        if (begun) return streamedTurn({ setup, request, begun, aborts: true, release }, agUiProtocol(run))
        release()
        return settled(run, live.id)
      } catch (thrown) {
        release()
        if (isNew !== undefined) await host.discard(isNew)
        throw thrown
      } finally {
        admitted()
      }
    },
  })
}

function agUiProtocol(run: AgUiRun): TurnProtocol<AgUiEvent> {
  return {
    mapperOf: () => createAgUiMapper(run),
    encode: encoded,
    broken: (code, message) => ({ type: 'RUN_ERROR', code, message }),
    tail: '',
  }
}

/** Returns a run without events: all its answers were given before. */
function settled(run: AgUiRun, sessionId: string): Response {
  const body = createAgUiMapper(run).finish().map(encoded).join('')
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-session-id': sessionId } })
}

function encoded(event: AgUiEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
