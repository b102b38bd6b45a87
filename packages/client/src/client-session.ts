import type {
  Decisions,
  Input,
  Json,
  Message,
  ModelMessage,
  OnApproval,
  OnInput,
  PendingWork,
  SessionStatus,
} from '@provost/core'
import { ProvostError, toJson } from '@provost/core'

import type { ClientStream, SendOptions } from './client-stream.ts'
import { openStream } from './client-stream.ts'
import type { ClientTool } from './client-tool.ts'
import { definitionOf } from './client-tool.ts'
import {
  checkAbortOptions,
  checkDecisions,
  checkExecuteOptions,
  checkFollowOptions,
  checkSendOptions,
  checkSessionOptions,
} from './known-client-options.ts'
import type { Ask, Transport } from './transport.ts'

/** What a session is opened with. */
export interface ClientSessionOptions {
  /** Of one that is there. Without it, the first run begins one. */
  readonly id?: string | undefined
  /** Of a new session; default the server's first. */
  readonly agent?: string | undefined
  /** What a new session begins with. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
  /** Tools that run here. A session that is there knows those it was begun with; give them again to run them. */
  readonly tools?: readonly ClientTool[] | undefined
}

export interface ExecuteOptions {
  /** Aborts the run: its result then has the status `aborted`. */
  readonly signal?: AbortSignal | undefined
  /** Asked for each approval; `undefined` leaves it pending. */
  readonly onApproval?: OnApproval | undefined
  /** Asked for each question of a tool. */
  readonly onInput?: OnInput | undefined
  /** Model calls that the run may take. */
  readonly maxSteps?: number | undefined
}

/** What the server says of a session. */
export interface SessionView {
  readonly id: string
  readonly agent: string
  readonly status: SessionStatus
  readonly messages: readonly Message[]
  readonly pending: PendingWork
  readonly lastEventId?: string
}

/** A session on the server. */
export interface ClientSession {
  /** Undefined until the first run has begun. */
  readonly id: string | undefined
  /** Starts a run, and goes on with it over lost connections until it ends or waits for what nobody here answers. */
  execute(input: Input, options?: ExecuteOptions): ClientStream
  /** The events behind one (default: all), and those that follow until nothing goes on. */
  follow(options?: ExecuteOptions & { readonly lastEventId?: string | undefined }): ClientStream
  /** Answers what a run waits for. It goes on by itself; `follow` it. */
  resolve(decisions: Decisions): Promise<void>
  /**
   * Says something that enters before the next model call. @throws ServerError `unknown-run` where `to` names none that
   * goes on.
   */
  steer(input: Input, options?: SendOptions): Promise<void>
  /** As `steer`, but it enters when the run would end. */
  followUp(input: Input, options?: SendOptions): Promise<void>
  abort(options?: { readonly drain?: boolean }): Promise<void>
  get(): Promise<SessionView>
  /** What was said, as JSON lines. */
  export(): Promise<string>
  delete(): Promise<void>
}

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
    throw new ProvostError('no-session', 'The session has not begun.', {
      hint: 'Execute something first, or give its id.',
    })
  }

  const at = (path: string): string => `/api/agent/session/${encodeURIComponent(known())}${path}`

  async function post(path: string, body: unknown): Promise<void> {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    await (await transport({ path: at(path), body: toJson(body), headers })).body?.cancel()
  }

  function open(first: Ask, options: ExecuteOptions, lastEventId?: string): ClientStream {
    const { signal, onApproval, onInput } = options
    const reading = new AbortController()
    const stop = (): void => {
      const cut = (): void => reading.abort(signal?.reason)
      // The run's own end comes over the stream, where there is one.
      if (id === undefined) cut()
      else session.abort().catch(cut)
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
    const { events, result } = openStream({
      transport,
      first,
      tools: byName,
      onApproval,
      onInput,
      signal: reading.signal,
      reconnectMs,
      lastEventId,
      opened: (its) => (id = its),
    })
    // Later runs are not its own.
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
      const { maxSteps } = options
      const body = { ...beginning, input: toJson(input), ...(maxSteps !== undefined && { options: { maxSteps } }) }
      const headers = { 'idempotency-key': crypto.randomUUID() }
      return open({ path: '/api/agent/execute', body, headers }, options)
    },

    follow(following = {}) {
      checkFollowOptions(following)
      const { lastEventId, ...options } = following
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      return open({ path: at('/events'), headers }, options, lastEventId)
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
