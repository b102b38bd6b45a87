import type { AgentEvent, Json, PendingWork, ToolOutput } from '@provost/core'
import { assertNever, eventFilter, reasonText, textOf, toJson } from '@provost/core'

/** A chunk of the AI SDK's UI message stream. */
export type UiChunk = { readonly type: string } & { readonly [key: string]: Json }

/** Converts the events of a run to chunks of a UI message. */
export interface UiStream {
  take(event: AgentEvent): readonly UiChunk[]
  finish(pending: PendingWork): readonly UiChunk[]
}

/** What a page shows of a run. */
const isShown = eventFilter(
  ...(['run', 'step', 'message', 'text', 'reasoning', 'media', 'tool-input', 'tool-call', 'wait'] as const),
)

export function createUiStream(sessionId: string): UiStream {
  let begun = false
  let inStep = false
  /** Calls whose input the page has received. */
  const known = new Set<string>()
  /** Text of the current answer that the page has received. */
  let streamed = ''

  function start(): readonly UiChunk[] {
    if (begun) return []
    begun = true
    return [{ type: 'start', messageMetadata: { sessionId } }]
  }

  function step(): readonly UiChunk[] {
    if (inStep) return []
    inStep = true
    return [{ type: 'start-step' }]
  }

  function input(toolCallId: string, toolName: string, value: Json): readonly UiChunk[] {
    if (known.has(toolCallId)) return []
    known.add(toolCallId)
    return [{ type: 'tool-input-available', toolCallId, toolName, input: value, dynamic: true }]
  }

  /** Returns the chunks of a finished answer that the page has not received as deltas. */
  function whole(event: AgentEvent & { type: 'message.end' }): readonly UiChunk[] {
    const { message, discarded, messageId } = event
    if (message.role !== 'assistant' || discarded) return []
    const text = textOf(message)
    const rest = text.startsWith(streamed) ? text.slice(streamed.length) : ''
    const id = `${messageId}/rest`
    return [
      ...(rest === ''
        ? []
        : [
            { type: 'text-start', id },
            { type: 'text-delta', id, delta: rest },
            { type: 'text-end', id },
          ]),
      ...message.content.flatMap((part) =>
        part.type === 'tool-call' && !part.providerExecuted ? input(part.callId, part.toolName, part.input) : [],
      ),
    ]
  }

  function chunks(event: AgentEvent): readonly UiChunk[] {
    // Events of child runs are hidden; the call that started the child shows its result.
    if (event.parents.length > 0 || !isShown(event)) return []
    switch (event.type) {
      case 'step.start':
        return step()
      case 'message.start':
        if (event.role === 'assistant') streamed = ''
        return event.role === 'assistant' ? step() : []
      case 'text.start':
        return [{ type: 'text-start', id: partOf(event) }]
      case 'text.delta':
        streamed += event.delta
        return [{ type: 'text-delta', id: partOf(event), delta: event.delta }]
      case 'text.end':
        return [{ type: 'text-end', id: partOf(event) }]
      case 'reasoning.start':
        return [{ type: 'reasoning-start', id: partOf(event) }]
      case 'reasoning.delta':
        return [{ type: 'reasoning-delta', id: partOf(event), delta: event.delta }]
      case 'reasoning.end':
        return [{ type: 'reasoning-end', id: partOf(event) }]
      case 'tool.call.start':
        return [{ type: 'tool-input-start', toolCallId: event.callId, toolName: event.toolName, dynamic: true }]
      case 'tool.call.delta':
        return [{ type: 'tool-input-delta', toolCallId: event.callId, inputTextDelta: event.delta }]
      case 'tool.call.end':
        return input(event.callId, event.toolName, event.input)
      case 'message.end':
        // The page removes the text of a failed attempt.
        if (event.discarded) return [{ type: 'reset-step' }]
        return whole(event)
      case 'tool.approval.requested':
        return [
          ...input(event.callId, event.toolName, event.input),
          {
            type: 'tool-approval-request',
            approvalId: event.token,
            toolCallId: event.callId,
            reason: reasonText(event),
          },
        ]
      case 'tool.approval.resolved':
        if (event.decision === 'approve') return []
        return [{ type: 'tool-output-denied', toolCallId: event.callId }]
      case 'tool.execute.end':
        return [
          { type: 'tool-output-available', toolCallId: event.callId, output: valueOf(event.output), dynamic: true },
        ]
      case 'tool.execute.error':
        // An earlier chunk reported the denial.
        if (event.error.code === 'tool-denied') return []
        return [{ type: 'tool-output-error', toolCallId: event.callId, errorText: event.error.message, dynamic: true }]
      case 'tool.skipped':
        return [{ type: 'tool-output-error', toolCallId: event.callId, errorText: event.reason, dynamic: true }]
      case 'source.cited':
        return event.url === undefined
          ? []
          : [
              {
                type: 'source-url',
                sourceId: event.id,
                url: event.url,
                ...(event.title !== undefined && { title: event.title }),
              },
            ]
      case 'file.generated': {
        const { data, mediaType } = event.file
        if (data.type === 'data') return [{ type: 'file', mediaType, url: `data:${mediaType};base64,${data.data}` }]
        return data.type === 'url' ? [{ type: 'file', mediaType, url: data.url }] : []
      }
      case 'step.end':
        if (!inStep) return []
        inStep = false
        return [{ type: 'finish-step' }]
      case 'agent.end':
        if (event.status === 'aborted') return [{ type: 'abort' }]
        return event.status === 'failed'
          ? [{ type: 'error', errorText: event.error?.message ?? 'The run failed.' }]
          : []
      case 'agent.start':
      case 'agent.resumed':
      case 'agent.suspended':
      case 'agent.error':
      case 'tool.execute.start':
      case 'tool.uncertain':
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

  return {
    take(event) {
      const own = chunks(event)
      return own.length > 0 ? [...start(), ...own] : own
    },
    finish(pending) {
      const open = pending.approvals.length + pending.remoteCalls.length > 0
      return [...start(), { type: 'finish', finishReason: open ? 'tool-calls' : 'stop' }]
    },
  }
}

function partOf({ messageId, attempt, partId }: { messageId: string; attempt: number; partId: string }): string {
  return `${messageId}/${attempt}/${partId}`
}

function valueOf(output: ToolOutput): Json {
  return output.type === 'execution-denied' ? (output.reason ?? null) : toJson(output.value)
}
