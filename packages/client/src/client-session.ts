import type { Compensation, Json } from '@provost/core'
import { ProvostError, toJson } from '@provost/core'

import type {
  ClientSession,
  ClientSessionOptions,
  ClientStream,
  ExecuteOptions,
  SessionView,
} from './client-options.ts'
import { openStream } from './client-stream.ts'
import { definitionOf } from './client-tool.ts'
import {
  checkAbortOptions,
  checkCompensateOptions,
  checkDecisions,
  checkExecuteOptions,
  checkFollowOptions,
  checkSendOptions,
  checkSessionOptions,
} from './known-client-options.ts'
import type { Ask, Transport } from './transport.ts'

type Opening = Pick<ExecuteOptions, 'signal' | 'onAbort' | 'onApproval' | 'onBatch' | 'onInput'>

export function createClientSession(
  transport: Transport,
  reconnectMs: number,
  opening: ClientSessionOptions,
): ClientSession {
  checkSessionOptions(opening)
  const { id: given, agent, messages, tools = [] } = opening
  let id = given
  const byName = new Map(tools.map((tool) => [tool.name, tool]))

  function known(): string {
    if (id !== undefined) return id
    throw new ProvostError('no-session', 'The session has no id before its first run.', {
      hint: 'Call execute first, or give client.session an id.',
    })
  }

  const at = (path: string): string => `/api/agent/session/${encodeURIComponent(known())}${path}`

  async function post(path: string, body: unknown): Promise<void> {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    await (await transport({ path: at(path), body: toJson(body), headers })).body?.cancel()
  }

  function open(first: Ask, options: Opening, lastEventId?: string): ClientStream {
    const { signal, onAbort, onApproval, onBatch, onInput } = options
    const reading = new AbortController()
    const stop = (): void => {
      const cut = (): void => reading.abort(signal?.reason)
      // With a session, the stream delivers the end of the aborted run.
      if (id === undefined || onAbort === 'leave') cut()
      else session.abort().catch(cut)
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
    const { events, result } = openStream({
      transport,
      first,
      tools: byName,
      onApproval,
      onBatch,
      onInput,
      signal: reading.signal,
      reconnectMs,
      lastEventId,
      opened: (its) => (id = its),
    })
    // The signal must not abort later runs.
    const over = (): void => signal?.removeEventListener('abort', stop)
    result.then(over, over)
    return {
      result,
      steer: session.steer,
      followUp: session.followUp,
      abort: () => session.abort(),
      [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    }
  }

  const session: ClientSession = {
    get id() {
      return id
    },

    async create() {
      if (tools.length > 0) {
        throw new ProvostError('invalid-option', 'A session with tools cannot be created without a run.', {
          hint: 'Leave "id" out and call execute, or leave "tools" out.',
        })
      }
      const body = { ...(agent !== undefined && { agent }), ...(messages && { messages: toJson(messages) }) }
      await (await transport({ method: 'PUT', path: at(''), body })).body?.cancel()
    },

    execute(input, options = {}) {
      checkExecuteOptions(options)
      const beginning: Record<string, Json> =
        id === undefined
          ? {
              ...(agent !== undefined && { agent }),
              ...(messages && { messages: toJson(messages) }),
              ...(tools.length > 0 && { tools: tools.map(definitionOf) }),
            }
          : { sessionId: id }
      const { maxSteps, model, temperature, toolChoice } = options
      const body = { ...beginning, input: toJson(input), options: toJson({ maxSteps, model, temperature, toolChoice }) }
      const headers = { 'idempotency-key': crypto.randomUUID() }
      return open({ path: '/api/agent/execute', body, headers }, { onAbort: 'abort', ...options })
    },

    follow(following = {}) {
      checkFollowOptions(following)
      const { lastEventId, ...options } = following
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      return open({ path: at('/events'), headers }, { onAbort: 'leave', ...options }, lastEventId)
    },

    async resolve(decisions) {
      checkDecisions(decisions, 'session.resolve')
      await post('/approvals', decisions)
    },
    async steer(input, sending) {
      checkSendOptions(sending, 'session.steer')
      await post('/steer', { input, ...sending })
    },
    async followUp(input, sending) {
      checkSendOptions(sending, 'session.followUp')
      await post('/follow-up', { input, ...sending })
    },
    async abort(ending = {}) {
      checkAbortOptions(ending)
      await post('/abort', ending)
    },
    async compensate(compensating = {}) {
      checkCompensateOptions(compensating)
      const { since, decisions } = compensating
      const from = since instanceof Date ? { time: since.getTime() } : since
      const body = toJson({ ...decisions, since: from })
      const result: Compensation = await (await transport({ path: at('/compensate'), body })).json()
      return result
    },
    async get() {
      const view: SessionView = await (await transport({ path: at('') })).json()
      return view
    },
    export: async () => (await transport({ path: at('/export') })).text(),
    async delete() {
      await transport({ method: 'DELETE', path: at('') })
    },
  }
  return session
}
