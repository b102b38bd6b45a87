import type { Agent } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { AgentEvent, EventDecoder, SessionStore } from '@provost/core'
import { createEventDecoder } from '@provost/core'
import type { ExecuteComplete, Server, ServerOptions } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

export const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: ({ amount }) => amount > 50,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})

export function deskOf(steps: readonly ScriptedEntry[], store: SessionStore = memoryStore()): Agent {
  return createAgent({ name: 'desk', model: scriptedModel([...steps]), tools: [refund], store })
}

/** A server whose principals are the bearer tokens of its requests. */
export function serverOf(steps: readonly ScriptedEntry[], options: Partial<ServerOptions> = {}): Server {
  const store = options.store ?? memoryStore()
  return createServer({
    agents: [deskOf(steps, store)],
    authenticate: (request) => {
      const id = /^Bearer (\w+)$/u.exec(request.headers.get('authorization') ?? '')?.[1]
      return id === undefined ? undefined : { id }
    },
    approvals: { by: 'requester' },
    ...options,
    store,
  })
}

export interface Frame {
  readonly id?: string
  readonly event?: string
  readonly data: AgentEvent | ExecuteComplete
}

/**
 * Returns the frames of one connection, with the events that a client restores from them.
 *
 * @param decoder of the connection, for a text that is not its beginning.
 */
export function framesIn(text: string, decoder: EventDecoder = createEventDecoder()): readonly Frame[] {
  return rawFrames(text).flatMap(({ id, event, data }): readonly Frame[] => {
    const whole = event === 'execute_complete' ? decoder.complete(data) : decoder.decode({ id, event, data })
    // The decoder returns what the server encoded.
    return whole ? [{ ...(id !== undefined && { id }), event, data: whole as AgentEvent | ExecuteComplete }] : []
  })
}

/** Returns the frames of a stream as they were sent. */
export function rawFrames(
  text: string,
): readonly { readonly id?: string; readonly event: string; readonly data: Record<string, unknown> }[] {
  return text.split('\n\n').flatMap((block) => {
    const fields = new Map(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
    )
    const [id, event = '', data] = [fields.get('id'), fields.get('event'), fields.get('data')]
    return data === undefined ? [] : [{ ...(id !== undefined && { id }), event, data: JSON.parse(data) }]
  })
}

export async function ask(
  server: Server,
  path: string,
  {
    body,
    as = 'ann',
    method,
    headers,
  }: { body?: unknown; as?: string; method?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return server.fetch(
    new Request(`http://localhost${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${as}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }),
  )
}

export async function executed(
  server: Server,
  body: unknown,
  as?: string,
): Promise<{ id: string; frames: readonly Frame[]; types: readonly string[]; last: ExecuteComplete }> {
  const response = await ask(server, '/api/agent/execute', { body, ...(as !== undefined && { as }) })
  const frames = framesIn(await response.text())
  const last = frames.at(-1)?.data
  if (last?.type !== 'execute_complete') throw new Error(`${response.status}: no end in ${JSON.stringify(frames)}`)
  return { id: response.headers.get('x-session-id') ?? '', frames, types: frames.map(({ data }) => data.type), last }
}
