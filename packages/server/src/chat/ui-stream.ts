import type { AgentEvent, EventOf, Json, ToolOutput } from '@provost/core'
import { assertNever, eventFilter, reasonText, textOf, toJson } from '@provost/core'

import type { TurnMapper } from '../turns/turn-mapper.ts'

/** A chunk of the AI SDK's UI message stream. */
export type UiChunk = { readonly type: string } & { readonly [key: string]: Json }

/** The message that a stream of chunks builds. */
export interface UiStreamOptions {
  readonly sessionId: string
  readonly runId: string
  /** Id of the UI message: the same in each stream of the turn, so that a page that reconnects has one message. */
  readonly messageId: string
}

/** What a page shows of a run. */
const isShown = eventFilter(
  ...(['run', 'turn', 'step', 'message', 'text', 'reasoning', 'media'] as const),
  ...(['tool-input', 'tool-call', 'tool-progress', 'wait', 'model', 'team', 'governance', 'extension'] as const),
)

export function createUiStream({ sessionId, runId, messageId }: UiStreamOptions): TurnMapper<UiChunk> {
  let begun = false
  let inStep = false
  let finished = false
  /** Calls whose input the page has received. */
  const known = new Set<string>()
  /** Those of the answer that is being written. */
  const writing = new Set<string>()
  /** Calls that run in the page. */
  const remote = new Set<string>()
  /** Text of the current answer that the page has received. */
  let streamed = ''
  /** Text of partial outputs, by call. */
  const partial = new Map<string, string>()

  function start(): readonly UiChunk[] {
    if (begun) return []
    begun = true
    return [{ type: 'start', messageId, messageMetadata: { sessionId, runId } }]
  }

  function step(): readonly UiChunk[] {
    if (inStep) return []
    inStep = true
    return [{ type: 'start-step' }]
  }

  /** The page runs no call by itself, except one that the run leaves to it. */
  function input(toolCallId: string, toolName: string, value: Json): readonly UiChunk[] {
    if (known.has(toolCallId)) return []
    known.add(toolCallId)
    writing.add(toolCallId)
    return [{ type: 'tool-input-available', toolCallId, toolName, input: value, providerExecuted: true }]
  }

  /** A stream that begins in the middle of a turn leaves the parts of earlier calls as they are. */
  function executed(callId: string): { readonly providerExecuted?: boolean } {
    return known.has(callId) ? { providerExecuted: !remote.has(callId) } : {}
  }

  /** Returns the chunks of a finished answer that the page has not received as deltas. */
  function whole({ message, discarded, messageId: id }: EventOf<'message.end'>): readonly UiChunk[] {
    if (message.role !== 'assistant' || discarded) return []
    const text = textOf(message)
    const rest = text.startsWith(streamed) ? text.slice(streamed.length) : ''
    streamed = text
    const textId = `${id}/rest`
    return [
      ...(rest === ''
        ? []
        : [
            { type: 'text-start', id: textId },
            { type: 'text-delta', id: textId, delta: rest },
            { type: 'text-end', id: textId },
          ]),
      ...message.content.flatMap((part) =>
        part.type === 'tool-call' && !part.providerExecuted ? input(part.callId, part.toolName, part.input) : [],
      ),
    ]
  }

  function ended(event: EventOf<'agent.end'>): readonly UiChunk[] {
    finished = true
    const { status, usage, cost, error } = event
    const messageMetadata = toJson({ sessionId, runId, usage, ...(cost !== undefined && { cost }) })
    const end: readonly UiChunk[] = [...closeStep(), { type: 'finish', finishReason: reasons[status], messageMetadata }]
    if (status === 'aborted') return [...end, { type: 'abort' }]
    return status === 'failed' ? [...end, { type: 'error', errorText: error?.message ?? 'The run failed.' }] : end
  }

  function closeStep(): readonly UiChunk[] {
    if (!inStep) return []
    inStep = false
    return [{ type: 'finish-step' }]
  }

  function chunks(event: AgentEvent): readonly UiChunk[] {
    // Events of child runs are hidden; the call that started the child shows its result.
    if (event.parents.length > 0 || !isShown(event)) return []
    switch (event.type) {
      case 'step.start':
        return step()
      case 'message.start':
        if (event.role === 'assistant') {
          streamed = ''
          writing.clear()
        }
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
        return [
          { type: 'tool-input-start', toolCallId: event.callId, toolName: event.toolName, providerExecuted: true },
        ]
      case 'tool.call.delta':
        return [{ type: 'tool-input-delta', toolCallId: event.callId, inputTextDelta: event.delta }]
      case 'tool.call.end':
        return input(event.callId, event.toolName, event.input)
      case 'message.end':
        // The page removes the parts of a failed attempt. The next one may write the same calls.
        if (event.discarded) {
          for (const callId of writing) known.delete(callId)
          return [{ type: 'reset-step' }]
        }
        return whole(event)
      case 'tool.approval.requested':
        return [
          ...input(event.callId, event.toolName, event.input),
          {
            type: 'tool-approval-request',
            approvalId: event.token,
            toolCallId: event.callId,
            reason: reasonText(event),
            ...(event.expiresAt !== undefined && { approvalDescriptor: { expiresAt: event.expiresAt } }),
          },
        ]
      case 'tool.approval.resolved': {
        const approved = event.decision === 'approve'
        const reason = event.reason === undefined ? {} : { reason: event.reason }
        return [
          { type: 'tool-approval-response', approvalId: event.token, approved, ...reason },
          ...(approved ? [] : [{ type: 'tool-output-denied', toolCallId: event.callId }]),
        ]
      }
      case 'tool.remote.requested': {
        const { callId: toolCallId, toolName, input: value } = event
        remote.add(toolCallId)
        known.add(toolCallId)
        return [{ type: 'tool-input-available', toolCallId, toolName, input: value, providerExecuted: false }]
      }
      case 'tool.execute.partial':
        return [partialOutput(event)]
      case 'tool.execute.progress':
        return [{ type: 'data-provost-progress', id: event.callId, data: toJson(event.data), transient: true }]
      case 'tool.execute.end':
        partial.delete(event.callId)
        return [
          {
            type: 'tool-output-available',
            toolCallId: event.callId,
            output: valueOf(event.output),
            ...executed(event.callId),
          },
        ]
      case 'tool.execute.error':
        // An earlier chunk reported the denial.
        if (event.error.code === 'tool-denied') return []
        return [failed(event.callId, event.error.message)]
      case 'tool.skipped':
        return [failed(event.callId, event.reason)]
      case 'tool.uncertain':
        return [
          {
            type: 'data-provost-uncertain',
            id: event.callId,
            data: { callId: event.callId, toolName: event.toolName },
          },
        ]
      case 'input.requested':
        return [{ type: 'data-provost-input', id: event.token, data: questionOf(event) }]
      case 'input.resolved':
        return [{ type: 'data-provost-input', id: event.token, data: { id: event.token, resolved: true } }]
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
        return closeStep()
      case 'agent.end':
        return ended(event)
      case 'agent.error':
        return [notice(event.type, { code: event.error.code, message: event.error.message })]
      case 'model.fallback':
        return [notice(event.type, { from: event.from, to: event.to })]
      case 'model.retry':
        return [notice(event.type, { model: event.model, afterMs: event.afterMs })]
      case 'context.compacted':
        return [notice(event.type, { beforeTokens: event.beforeTokens, afterTokens: event.afterTokens })]
      case 'governance.blocked':
      case 'governance.flagged': {
        const { rule, callId } = event
        const data = { type: event.type, rule, ...(callId !== undefined && { callId }) }
        return [{ type: 'data-provost-governance', data, transient: true }]
      }
      case 'handoff.start':
        return [activity(event.callId, { type: event.type, from: event.from, to: event.to })]
      case 'handoff.end':
        return [activity(event.callId, { type: event.type, from: event.from, to: event.to, status: event.status })]
      case 'extension':
        return [dataOf(event)]
      case 'agent.start':
      case 'agent.resumed':
      case 'agent.suspended':
      case 'turn.start':
      case 'turn.mode':
      case 'turn.end':
      case 'agent.steered':
      case 'agent.followup.queued':
      case 'tool.execute.start':
      case 'tool.batch.settled':
      case 'tool.remote.resolved':
      case 'fanout.start':
      case 'fanout.child':
      case 'fanout.merged':
      case 'evaluator.iteration':
      case 'governance.declassified':
      case 'progress.written':
        return []
      default:
        return assertNever(event)
    }
  }

  /** Each partial output replaces the one before it, so deltas are added up. */
  function partialOutput({ callId: toolCallId, delta, value }: EventOf<'tool.execute.partial'>): UiChunk {
    const text = (partial.get(toolCallId) ?? '') + (delta ?? '')
    if (delta !== undefined) partial.set(toolCallId, text)
    const output = delta === undefined ? toJson(value) : text
    return { type: 'tool-output-available', toolCallId, output, preliminary: true, providerExecuted: true }
  }

  function failed(toolCallId: string, errorText: string): UiChunk {
    return { type: 'tool-output-error', toolCallId, errorText, ...executed(toolCallId) }
  }

  return {
    take(event) {
      const own = chunks(event)
      return own.length > 0 ? [...start(), ...own] : own
    },
    finish() {
      if (finished) return []
      finished = true
      return [...start(), ...closeStep(), { type: 'finish', finishReason: 'stop' }]
    },
  }
}

const reasons = { completed: 'stop', suspended: 'tool-calls', failed: 'error', aborted: 'other' } as const

/** A note on the course of the run, which is no part of the message. */
function notice(type: string, fields: { readonly [key: string]: Json }): UiChunk {
  return { type: 'data-provost-notice', data: { type, ...fields }, transient: true }
}

function activity(callId: string, data: { readonly [key: string]: Json }): UiChunk {
  return { type: 'data-provost-activity', id: callId, data, transient: true }
}

function questionOf({ token, callId, toolName, message, schema }: EventOf<'input.requested'>): Json {
  return toJson({ id: token, callId, toolName, message, schema })
}

/** Data of an extension. It is not in the log, so it is no part of the message. */
function dataOf({ name, event, data }: EventOf<'extension'>): UiChunk {
  const parts = event === undefined ? [name] : [name, event]
  const type = `data-${parts.join('-').replaceAll(/[^\w-]/gu, '-')}`
  return { type, data: toJson(data), transient: true }
}

function partOf({ messageId, attempt, partId }: { messageId: string; attempt: number; partId: string }): string {
  return `${messageId}/${attempt}/${partId}`
}

function valueOf(output: ToolOutput): Json {
  return output.type === 'execution-denied' ? (output.reason ?? null) : toJson(output.value)
}
