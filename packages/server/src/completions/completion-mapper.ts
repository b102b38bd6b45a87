import type { AgentEvent, EventOf, Json, PendingWork, UsageReport } from '@provost/core'
import { eventFilter, textOf } from '@provost/core'

import type { TurnMapper } from '../turns/turn-mapper.ts'
import { waitToken } from '../turns/wait-token.ts'

/** A chunk of a completion, or an error that ends it. */
export type CompletionChunk = { readonly [key: string]: Json }

/** A completion that has ended. */
export type Completion =
  | { readonly kind: 'done'; readonly body: CompletionChunk }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** The mapper of Chat Completions. */
export interface CompletionMapper extends TurnMapper<CompletionChunk> {
  completion(): Completion
}

const isShown = eventFilter(...(['run', 'message', 'text'] as const))

/** What names a completion. */
export interface CompletionInfo {
  readonly id: string
  readonly sessionId: string
  /** Name of the agent. */
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** The last chunk has the usage. */
  readonly includeUsage: boolean
}

/**
 * Converts the events of a turn to a chat completion. Its text is that of all answers of the turn. Calls of the server
 * are not in it; calls of the client's tools are `tool_calls`.
 */
export function createCompletionMapper(info: CompletionInfo): CompletionMapper {
  const { id, sessionId, model, created, includeUsage } = info
  /** Texts of the answers so far, without those of attempts that failed. */
  const texts: string[] = []
  let streamed = ''
  let hasText = false
  let toolCalls: readonly CompletionChunk[] = []
  let finishReason: string | undefined
  let usage: Json = null
  let failure: { readonly code: string; readonly message: string } | undefined
  let begun = false

  const chunk = (delta: CompletionChunk, reason: string | null = null): CompletionChunk => ({
    ...{ id, object: 'chat.completion.chunk', created, model },
    choices: [{ index: 0, delta, finish_reason: reason }],
    ...(includeUsage && { usage: null }),
  })

  function start(): readonly CompletionChunk[] {
    if (begun) return []
    begun = true
    return [chunk({ role: 'assistant', content: '' })]
  }

  function say(text: string): readonly CompletionChunk[] {
    if (text === '') return []
    // Answers before and after a call of a tool are paragraphs.
    const gap = streamed === '' && hasText ? '\n\n' : ''
    streamed += text
    hasText = true
    return [chunk({ content: gap + text })]
  }

  function answered({ message, discarded }: EventOf<'message.end'>): readonly CompletionChunk[] {
    if (message.role !== 'assistant') return []
    const text = textOf(message)
    const rest = !discarded && text.startsWith(streamed) ? say(text.slice(streamed.length)) : []
    if (!discarded && text !== '') texts.push(text)
    streamed = ''
    return rest
  }

  function waiting({ approvals, remoteCalls, uncertain, inputs }: PendingWork): readonly CompletionChunk[] {
    const people = [...approvals, ...uncertain, ...inputs].map(({ toolName }) => toolName)
    const notice =
      people.length === 0
        ? ''
        : `The agent waits for a person: ${[...new Set(people)].join(', ')}. Session ${sessionId} has the question.`
    if (notice !== '') texts.push(notice)
    streamed = ''
    const said = say(notice)
    toolCalls = remoteCalls.map(({ callId, toolName: name, input }) => ({
      id: waitToken('call', { sessionId, id: callId }),
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }))
    return [
      ...said,
      ...(toolCalls.length > 0 ? [chunk({ tool_calls: toolCalls.map((call, index) => ({ index, ...call })) })] : []),
    ]
  }

  function ended({ status, text, error, usage: spent }: EventOf<'agent.end'>): readonly CompletionChunk[] {
    usage = usageOf(spent)
    if (status === 'failed' || status === 'aborted') {
      const { code, message } = error ?? { code: status, message: `The run was ${status}.` }
      failure = { code, message }
      return [{ error: { type: 'server_error', code, message, param: null } }]
    }
    // An answer that no model wrote, such as that of a fan-out.
    const isSilent = status === 'completed' && texts.length === 0 && text !== ''
    if (isSilent) texts.push(text)
    return [...(isSilent ? say(text) : []), ...finish()]
  }

  function finish(): readonly CompletionChunk[] {
    finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
    const last = { id, object: 'chat.completion.chunk', created, model, choices: [], usage }
    return [chunk({}, finishReason), ...(includeUsage ? [last] : [])]
  }

  function chunks(event: AgentEvent): readonly CompletionChunk[] {
    if (event.parents.length > 0 || !isShown(event)) return []
    if (event.type === 'text.delta') return say(event.delta)
    if (event.type === 'message.end') return answered(event)
    if (event.type === 'agent.suspended') return waiting(event.pending)
    return event.type === 'agent.end' ? ended(event) : []
  }

  return {
    take: (event) => [...start(), ...chunks(event)],
    finish: () => (finishReason === undefined && !failure ? [...start(), ...finish()] : []),
    completion() {
      if (failure) return { kind: 'failed', ...failure }
      const message = {
        role: 'assistant',
        content: texts.length > 0 ? texts.join('\n\n') : null,
        refusal: null,
        ...(toolCalls.length > 0 && { tool_calls: [...toolCalls] }),
      }
      const choice = { index: 0, message, logprobs: null, finish_reason: finishReason ?? 'stop' }
      return { kind: 'done', body: { id, object: 'chat.completion', created, model, choices: [choice], usage } }
    },
  }
}

function usageOf({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, reasoningTokens = 0 }: UsageReport): Json {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
