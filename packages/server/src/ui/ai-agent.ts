import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Agent, AgentStream, Session, SessionOptions } from '@provost/agent'
import type { AgentEvent, Decisions, RunResult, ToolOutput, Usage } from '@provost/core'
import { ProvostError, assertNever, eventFilter, toJson } from '@provost/core'
import type { Agent as AiSdkAgent, ModelMessage } from 'ai'

import type { AiAgentOptions } from './ai-agent-options.ts'
import { checkAiAgentOptions } from './ai-agent-options.ts'

type Params = Parameters<AiSdkAgent['stream']>[0]
type OpenSession = Session<unknown>

/** Pending approvals that a wrapper remembers at most. */
const mostWaiting = 1_000

/**
 * Wraps an agent as the AI SDK's `Agent`, for `createAgentUIStreamResponse` and other functions that take one. Needs the
 * package `ai`.
 *
 * - Each call is a run in a new session. The last user message is its input; earlier messages are imported as untrusted.
 * - Tools run in the agent; the AI SDK sees them as executed by a provider.
 * - A pending approval is an approval request. A call with the response resumes the same run, in the same process.
 *
 * @throws ProvostError from a call: `unknown-wait` for an approval that is not pending here, `invalid-input`,
 * `missing-package`
 *
 * @example
 * const standIn = aiAgent(desk)
 * app.post('/chat', async (context) => createAgentUIStreamResponse({ agent: standIn, uiMessages: (await context.req.json()).messages }))
 */
export function aiAgent(agent: Agent<unknown, never>, options: AiAgentOptions = {}): AiSdkAgent {
  checkAiAgentOptions(options)
  const waiting = new Map<string, OpenSession>()

  function remember(session: OpenSession, { pending }: RunResult<unknown>): void {
    for (const { id } of pending.approvals) waiting.set(id, session)
    for (const id of waiting.keys()) {
      if (waiting.size <= mostWaiting) break
      waiting.delete(id)
    }
  }

  async function run(params: Params): Promise<AgentStream<unknown>> {
    const messages = typeof params.prompt === 'string' ? undefined : (params.prompt ?? params.messages)
    const answers = messages && answersIn(messages)
    if (answers) {
      const session = sessionOf(answers, waiting)
      const known = answers.filter(({ id }) => waiting.get(id) === session)
      for (const { id } of known) waiting.delete(id)
      return followed(session, session.resume({ approvals: known } satisfies Decisions))
    }
    const cut = messages ? messages.findLastIndex(({ role }) => role !== 'user') + 1 : 0
    const history = messages?.slice(0, cut) ?? []
    const session = await create(agent, { ...options, ...(history.length > 0 && { messages: history }) })
    return followed(session, session.stream(messages?.slice(cut) ?? params.prompt ?? ''))
  }

  function followed(session: OpenSession, stream: AgentStream<unknown>): AgentStream<unknown> {
    void stream.result.then((result) => remember(session, result))
    return stream
  }

  return {
    version: 'agent-v1',
    id: agent.name,
    tools: {},
    async generate(params) {
      const { generateText } = await load()
      return generateText({ ...params, model: modelOf(agent.name, () => run(params)), maxRetries: 0 })
    },
    async stream(params) {
      const { streamText } = await load()
      // The stream and the events of the run report the error; `streamText` would print it too.
      return streamText({ ...params, model: modelOf(agent.name, () => run(params)), maxRetries: 0, onError() {} })
    },
  }
}

async function load(): Promise<typeof import('ai')> {
  try {
    return await import('ai')
  } catch (cause) {
    throw new ProvostError('missing-package', 'aiAgent needs the package ai.', {
      hint: 'Install it: npm install ai',
      cause,
    })
  }
}

type Answered = NonNullable<Decisions['approvals']>

/** Returns the approval responses after the last user message; undefined if a user message follows them. */
function answersIn(messages: readonly ModelMessage[]): Answered | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'tool') return undefined
  return last.content.flatMap((part) =>
    part.type === 'tool-approval-response'
      ? [
          {
            id: part.approvalId,
            decision: part.approved ? ('approve' as const) : ('deny' as const),
            ...(part.reason !== undefined && { reason: part.reason }),
          },
        ]
      : [],
  )
}

function sessionOf(answers: Answered, waiting: ReadonlyMap<string, OpenSession>): OpenSession {
  for (const { id } of answers) {
    const session = waiting.get(id)
    if (session) return session
  }
  throw new ProvostError('unknown-wait', 'No call in this process waits for these answers.', {
    hint: 'Answer each approval once, in the process that asked; `/api/chat` of a server takes them in any.',
  })
}

type Creating = SessionOptions & { readonly messages?: readonly ModelMessage[] }

async function create(agent: Agent<unknown, never>, options: Creating): Promise<OpenSession> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an agent whose hooks need an app context cannot be wrapped: the AI SDK passes none
  return (agent as Agent<unknown>).createSession(options)
}

/** Presents a run as one model answer of the AI SDK. */
function modelOf(name: string, run: () => Promise<AgentStream<unknown>>): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'provost',
    modelId: name,
    supportedUrls: { '*/*': [/^/u] },
    async doStream({ abortSignal }) {
      const stream = await run()
      return { stream: partsOf(stream, abortSignal) }
    },
    async doGenerate({ abortSignal }) {
      const stream = await run()
      const abort = (): void => void stream.abort()
      abortSignal?.addEventListener('abort', abort, { once: true })
      const content: LanguageModelV4StreamPart[] = []
      for await (const event of stream) content.push(...partsIn(event))
      const result = await stream.result
      if (result.status === 'failed') throw result.error
      return {
        content: [
          ...content.flatMap((part) =>
            part.type === 'tool-call' || part.type === 'tool-result' || part.type === 'tool-approval-request'
              ? [part]
              : [],
          ),
          { type: 'text', text: result.text },
        ],
        finishReason: reasonOf(result),
        usage: usageOf(result.usage),
        warnings: [],
      }
    },
  }
}

function partsOf(
  stream: AgentStream<unknown>,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const abort = (): void => void stream.abort()
  signal?.addEventListener('abort', abort, { once: true })
  const events = stream[Symbol.asyncIterator]()
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      controller.enqueue({ type: 'stream-start', warnings: [] })
    },
    async pull(controller) {
      for (;;) {
        const { value, done } = await events.next()
        if (done) break
        const parts = partsIn(value)
        for (const part of parts) controller.enqueue(part)
        if (parts.length > 0) return
      }
      const result = await stream.result
      if (result.status === 'failed') controller.enqueue({ type: 'error', error: result.error })
      controller.enqueue({ type: 'finish', finishReason: reasonOf(result), usage: usageOf(result.usage) })
      controller.close()
    },
    async cancel() {
      abort()
      await events.return?.()
    },
  })
}

/** Marks a call as executed by the provider, without a tool of the caller. */
const elsewhere = { providerExecuted: true, dynamic: true } as const

const isOfAnswer = eventFilter('text', 'reasoning', 'tool-input', 'tool-call', 'wait')

function partsIn(event: AgentEvent): readonly LanguageModelV4StreamPart[] {
  // Events of child runs are not part of this answer.
  if (event.parents.length > 0 || !isOfAnswer(event)) return []
  switch (event.type) {
    case 'text.start':
    case 'reasoning.start':
      return [{ type: event.type === 'text.start' ? 'text-start' : 'reasoning-start', id: partId(event) }]
    case 'text.delta':
    case 'reasoning.delta': {
      const type = event.type === 'text.delta' ? 'text-delta' : 'reasoning-delta'
      return [{ type, id: partId(event), delta: event.delta }]
    }
    case 'text.end':
    case 'reasoning.end':
      return [{ type: event.type === 'text.end' ? 'text-end' : 'reasoning-end', id: partId(event) }]
    case 'tool.call.end': {
      const { callId: toolCallId, toolName, input } = event
      return [{ type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input), ...elsewhere }]
    }
    case 'tool.approval.requested':
      return [{ type: 'tool-approval-request', approvalId: event.token, toolCallId: event.callId }]
    case 'tool.execute.end':
      return [resultPart(event, valueOf(event.output), false)]
    case 'tool.execute.error':
      return [resultPart(event, event.error.message, true)]
    case 'tool.call.start':
    case 'tool.call.delta':
    case 'tool.execute.start':
    case 'tool.skipped':
    case 'tool.uncertain':
    case 'tool.approval.resolved':
    case 'tool.batch.settled':
    case 'tool.remote.requested':
    case 'tool.remote.resolved':
    case 'input.requested':
    case 'input.resolved':
      return []
    default:
      return assertNever(event)
  }
}

function resultPart(
  { callId, toolName }: { callId: string; toolName: string },
  result: Result,
  isError: boolean,
): LanguageModelV4StreamPart {
  return { type: 'tool-result', toolCallId: callId, toolName, result, ...(isError && { isError }), dynamic: true }
}

function partId({ messageId, attempt, partId: id }: { messageId: string; attempt: number; partId: string }): string {
  return `${messageId}/${attempt}/${id}`
}

type Result = Extract<LanguageModelV4StreamPart, { type: 'tool-result' }>['result']

function valueOf(output: ToolOutput): Result {
  if (output.type === 'execution-denied') return output.reason ?? 'denied'
  return toJson(output.value) ?? ''
}

function reasonOf({ status }: RunResult<unknown>): { unified: 'stop' | 'tool-calls' | 'error' | 'other'; raw: string } {
  const reasons = { completed: 'stop', suspended: 'tool-calls', failed: 'error', aborted: 'other' } as const
  return { unified: reasons[status], raw: status }
}

function usageOf(usage: Usage): LanguageModelV4Usage {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens } = usage
  return {
    inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens },
    outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
  }
}
