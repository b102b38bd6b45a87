import type { Part, StreamResponse, TaskStatus } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import type { Effect, Json, KnownKeys, Tool } from '@provost/core'
import { checkOptions, ProvostError, toJson } from '@provost/core'
import { z } from 'zod'

import { tool } from '../definition/tool.ts'
import { limitedFetch } from './a2a-fetch.ts'

/** Options of {@link a2aTool}. */
export interface A2aToolOptions {
  /** The name of the tool. */
  readonly name: string
  readonly description?: string
  /** The URL of the agent, from which its card is resolved. */
  readonly url: string
  /** The path of the card, relative to `url`. Default `.well-known/agent-card.json`. */
  readonly cardPath?: string
  /** Sent with each request, such as `authorization`; a function is asked each time. */
  readonly headers?: Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>)
  /** Other origins that the card may lead to. Default none. */
  readonly origins?: readonly string[]
  /** Default `egress`: the operator of the agent receives the input. */
  readonly effect?: Effect
  /** Milliseconds for one call. Default 300,000. */
  readonly timeoutMs?: number
}

/** The response of a remote agent. */
export interface A2aToolResult {
  readonly state: 'completed' | 'failed' | 'canceled' | 'rejected' | 'input-required' | 'auth-required' | 'working'
  readonly text: string
  /** Content other than text. */
  readonly data?: readonly Json[]
  /** To answer what the agent asks. */
  readonly taskId?: string
  /** Continues the conversation. */
  readonly contextId?: string
}

/** The input that the model writes. */
export interface A2aToolInput {
  input: string
  contextId?: string | undefined
  taskId?: string | undefined
}

const id = z.string().min(1).max(1_000)
const inputSchema: z.ZodType<A2aToolInput, A2aToolInput> = z.object({
  input: z.string().min(1).describe('What the agent is to do or to answer.'),
  contextId: id.optional().describe('To go on with a conversation: from an earlier result.'),
  taskId: id
    .optional()
    .describe('To answer a task that waits for input: from an earlier result. A human has to agree.'),
})

const defaultTimeoutMs = 300_000

const optionKeys = {
  name: true,
  description: true,
  url: true,
  cardPath: true,
  headers: true,
  origins: true,
  effect: true,
  timeoutMs: true,
} satisfies KnownKeys<A2aToolOptions>

/**
 * Returns a tool that calls a remote agent over A2A (JSON-RPC, streaming if its card offers it). The response is
 * untrusted. A response to a waiting task, which may be an approval, needs approval here. The first call loads the
 * package `@a2a-js/sdk`.
 *
 * @throws ProvostError from a call: `missing-package`, `a2a-refused-address` where the card leads to another origin.
 *
 * @example
 * const tools = [a2aTool({ name: 'ask_travel', description: 'Books trips.', url: 'https://travel.example.com' })]
 */
export function a2aTool(options: A2aToolOptions): Tool<A2aToolInput, A2aToolResult, unknown> {
  checkOptions(options, optionKeys, 'a2aTool')
  const {
    name,
    description,
    url,
    cardPath,
    headers,
    origins = [],
    effect = 'egress',
    timeoutMs = defaultTimeoutMs,
  } = options
  const origin = new URL(url).origin
  let connected: Promise<Client> | undefined

  async function connect(): Promise<Client> {
    const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } = await load()
    const fetchImpl = limitedFetch([origin, ...origins], headers)
    const factory = new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new JsonRpcTransportFactory({ fetchImpl })],
        preferredTransports: ['JSONRPC'],
        cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
      }),
    )
    return factory.createFromUrl(url, cardPath)
  }

  return tool({
    name,
    ...(description !== undefined && { description }),
    input: inputSchema,
    effect,
    idempotent: false,
    timeoutMs,
    args: { '/input': 'content' },
    returns: { integrity: 'untrusted', sources: [`a2a:${new URL(url).host}`] },
    needsApproval: ({ taskId }) => taskId !== undefined,
    async execute({ input, contextId = '', taskId = '' }, ctx): Promise<A2aToolResult> {
      connected ??= connect()
      connected.catch(() => (connected = undefined))
      const client = await connected
      const { Role } = await import('@a2a-js/sdk')
      const content: Part = {
        content: { $case: 'text', value: input },
        metadata: undefined,
        filename: '',
        mediaType: 'text/plain',
      }
      const message = {
        // Equal for each attempt at this call, so that the remote side can recognise a repetition.
        messageId: ctx.idempotencyKey,
        contextId,
        taskId,
        role: Role.ROLE_USER,
        parts: [content],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      }
      const heard = listener()
      const request = { tenant: '', message, configuration: undefined, metadata: undefined }
      try {
        for await (const answer of client.sendMessageStream(request, { signal: ctx.signal })) heard.take(answer)
      } catch (thrown) {
        const open = heard.taskId()
        if (ctx.signal.aborted && open !== undefined) {
          await client
            .cancelTask({ tenant: '', id: open, metadata: undefined }, { signal: AbortSignal.timeout(cancelMs) })
            .catch(() => {})
        }
        throw thrown
      }
      return heard.result()
    },
  })
}

/** Milliseconds that the remote agent has to acknowledge a cancellation. */
const cancelMs = 2_000

type Artifacts = Map<string, Part[]>

/** Assembles the parts of a response. */
function listener(): {
  take(response: StreamResponse): void
  taskId(): string | undefined
  result(): A2aToolResult
} {
  const artifacts: Artifacts = new Map()
  let reply: readonly Part[] = []
  let status: TaskStatus | undefined
  let place: { taskId?: string; contextId?: string } = {}
  let answered = false

  function at(taskId: string, contextId: string): void {
    place = { ...(taskId !== '' && { taskId }), ...(contextId !== '' && { contextId }) }
  }

  function stands(next: TaskStatus | undefined): void {
    status = next
    reply = next?.message?.parts ?? []
  }

  return {
    take({ payload }) {
      if (payload?.$case === 'message') {
        answered = true
        reply = payload.value.parts
        at('', payload.value.contextId)
      } else if (payload?.$case === 'task') {
        at(payload.value.id, payload.value.contextId)
        stands(payload.value.status)
        for (const { artifactId, parts } of payload.value.artifacts) artifacts.set(artifactId, [...parts])
      } else if (payload?.$case === 'statusUpdate') {
        at(payload.value.taskId, payload.value.contextId)
        stands(payload.value.status)
      } else if (payload?.$case === 'artifactUpdate' && payload.value.artifact) {
        const { append, artifact } = payload.value
        const before = append ? artifacts.get(artifact.artifactId) : undefined
        if (before) before.push(...artifact.parts)
        else artifacts.set(artifact.artifactId, [...artifact.parts])
      }
    },
    taskId: () => place.taskId,
    result() {
      const state = answered ? 'completed' : stateOf(status)
      const groups = [...artifacts.values()]
      const texts = [...groups, reply].map(textIn).filter((text) => text !== '')
      const data = [...groups.flat(), ...reply].flatMap(dataIn)
      return { state, text: texts.join('\n'), ...(data.length > 0 && { data }), ...place }
    },
  }
}

const states = [
  'working',
  'working',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
] as const

function stateOf(status: TaskStatus | undefined): A2aToolResult['state'] {
  const at: number = status?.state ?? 0
  return states[at] ?? 'working'
}

function textIn(parts: readonly Part[]): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

function dataIn({ content, filename, mediaType }: Part): readonly Json[] {
  if (content?.$case === 'data') return [toJson(content.value ?? null)]
  if (content?.$case === 'url') return [{ url: content.value, filename, mediaType }]
  return content?.$case === 'raw' ? [{ filename, mediaType, bytes: content.value.length }] : []
}

async function load(): Promise<typeof import('@a2a-js/sdk/client')> {
  try {
    return await import('@a2a-js/sdk/client')
  } catch (cause) {
    throw new ProvostError('missing-package', 'The package @a2a-js/sdk is not installed; a2aTool needs it.', {
      hint: 'npm install @a2a-js/sdk',
      cause,
    })
  }
}
