import { createHash } from 'node:crypto'

import type { AgentEvent, EventOf, Json, PendingWork } from '@provost/core'
import { assertNever, eventFilter, noPendingWork, reasonText, textOf, toJson } from '@provost/core'

import { outputText, pieceKind } from '../turns/answer-piece.ts'
import type { TurnMapper } from '../turns/turn-mapper.ts'
import { createAgUiThread } from './ag-ui-thread.ts'

/** An event of AG-UI. */
export type AgUiEvent = { readonly type: string } & { readonly [key: string]: Json }

/** The run that a mapper describes. */
export interface AgUiRun {
  readonly threadId: string
  readonly runId: string
  /** The client is of 1.0 or later. Older clients reject new outcomes. */
  readonly isCurrent: boolean
  /** Calls whose results the client has sent. */
  readonly answered: ReadonlySet<string>
  /** The messages that the client should have at the start. */
  readonly messages: readonly Json[]
  /** The client has other messages. */
  readonly corrects: boolean
}

const isShown = eventFilter(
  ...(['run', 'step', 'message', 'text', 'reasoning', 'tool-input', 'tool-call', 'tool-progress'] as const),
  ...(['governance', 'model', 'extension'] as const),
)

/** Converts the events of a turn to those of AG-UI. Every message, call and step is closed before the run is finished. */
export function createAgUiMapper({
  threadId,
  runId,
  isCurrent,
  answered,
  messages,
  corrects,
}: AgUiRun): TurnMapper<AgUiEvent> {
  const thread = createAgUiThread(messages)
  let begun = false
  let finished = false
  let pending: PendingWork = noPendingWork
  /** What is open, with the event that closes it. */
  const open = new Map<string, readonly AgUiEvent[]>()
  /** Texts of each message, by message and kind. */
  const texts = new Map<string, string[]>()
  const written = new Set<string>()
  const nested = new Set<string>()

  const start = (): readonly AgUiEvent[] => {
    if (begun) return []
    begun = true
    const first = { type: 'RUN_STARTED', threadId, runId }
    return corrects ? [first, snapshot()] : [first]
  }

  const snapshot = (): AgUiEvent => ({ type: 'MESSAGES_SNAPSHOT', messages: [...thread.messages()] })

  function opened(key: string, first: readonly AgUiEvent[], last: readonly AgUiEvent[]): readonly AgUiEvent[] {
    if (open.has(key)) return []
    open.set(key, last)
    return first
  }

  function closed(key: string): readonly AgUiEvent[] {
    const last = open.get(key) ?? []
    open.delete(key)
    return last
  }

  /** Closes what is open, inner first. */
  function closeAll(isAffected: (key: string) => boolean = () => true): readonly AgUiEvent[] {
    return [...open.keys()]
      .filter((key) => isAffected(key))
      .toReversed()
      .flatMap((key) => closed(key))
  }

  /** The first text of a message has the id of the message, so that its calls belong to it. */
  function idOf(message: string, kind: 'text' | 'reasoning', n: number): string {
    const id = kind === 'text' ? message : `${message}-r`
    return n === 0 ? id : `${id}-${n}`
  }

  function openText(message: string, kind: 'text' | 'reasoning'): readonly AgUiEvent[] {
    const key = `${kind}/${message}`
    const list = texts.get(key) ?? []
    texts.set(key, [...list, ''])
    const messageId = idOf(message, kind, list.length)
    if (kind === 'text')
      return opened(
        key,
        [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }],
        [{ type: 'TEXT_MESSAGE_END', messageId }],
      )
    return opened(
      key,
      [
        { type: 'REASONING_START', messageId },
        { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
      ],
      [
        { type: 'REASONING_MESSAGE_END', messageId },
        { type: 'REASONING_END', messageId },
      ],
    )
  }

  function write(message: string, kind: 'text' | 'reasoning', delta: string): readonly AgUiEvent[] {
    if (delta === '') return []
    const key = `${kind}/${message}`
    const before = open.has(key) ? [] : openText(message, kind)
    const list = texts.get(key) ?? []
    const n = list.length - 1
    texts.set(key, [...list.slice(0, n), (list[n] ?? '') + delta])
    const type = kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    return [...before, { type, messageId: idOf(message, kind, n), delta }]
  }

  /** Sends what the deltas of a text lacked, and closes it. */
  function close(message: string, kind: 'text' | 'reasoning', whole: string): readonly AgUiEvent[] {
    const had = texts.get(`${kind}/${message}`)?.at(-1) ?? ''
    const rest = whole.startsWith(had) ? write(message, kind, whole.slice(had.length)) : []
    return [...rest, ...closed(`${kind}/${message}`)]
  }

  function call(toolCallId: string, toolCallName: string, input: Json, parent?: string): readonly AgUiEvent[] {
    if (written.has(toolCallId)) return []
    written.add(toolCallId)
    const of = parent === undefined ? {} : { parentMessageId: parent }
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName, ...of },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input) },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  function messageEnded({ messageId, attempt, message, discarded }: EventOf<'message.end'>): readonly AgUiEvent[] {
    if (message.role !== 'assistant') return []
    const id = shortOf(messageId, attempt)
    const ends = closeAll((key) => key.endsWith(`/${id}`))
    if (discarded) {
      // A text that is written anew has an id of its own.
      for (const key of [`text/${id}`, `reasoning/${id}`]) texts.set(key, texts.get(key)?.map(() => '') ?? [])
      const had = thread.remove((one) => one === id || one.startsWith(`${id}-`))
      const told: AgUiEvent = { type: 'CUSTOM', name: 'provost.message.discarded', value: { messageId: id } }
      return [...ends, told, ...(had ? [snapshot()] : [])]
    }
    const whole = textOf(message)
    const had = (texts.get(`text/${id}`) ?? []).join('')
    const rest = whole.startsWith(had) && whole.length > had.length ? whole.slice(had.length) : ''
    const lacked = rest === '' ? [] : [...write(id, 'text', rest), ...closed(`text/${id}`)]
    const calls = message.content.flatMap((part) =>
      part.type === 'tool-call' && !part.providerExecuted ? call(part.callId, part.toolName, part.input, id) : [],
    )
    return [...ends, ...lacked, ...calls]
  }

  function result(toolCallId: string, content: string, error?: string): readonly AgUiEvent[] {
    // The client has the results of its own tools.
    if (answered.has(toolCallId) || nested.has(toolCallId)) return []
    const metadata = error === undefined ? {} : { metadata: { provost: { error } } }
    return [
      { type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}/result`, toolCallId, content, role: 'tool', ...metadata },
    ]
  }

  function interrupts(): readonly Json[] {
    const { approvals, inputs, uncertain } = pending
    const expiry = ({ expiresAt }: { readonly expiresAt?: number }): { expiresAt?: string } =>
      expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }
    return [
      ...approvals.map((one) => ({
        ...{ id: one.id, reason: 'tool_call', message: reasonText(one), toolCallId: one.callId },
        responseSchema: approvalSchema,
        ...expiry(one),
      })),
      ...inputs.map((one) => ({
        ...{ id: one.id, reason: 'input_required', message: one.message },
        ...(one.schema && { responseSchema: toJson(one.schema) }),
        ...expiry(one),
      })),
      ...uncertain.map((one) => ({
        ...{ id: one.callId, reason: 'provost:uncertain', toolCallId: one.callId },
        message: `It is not known whether ${one.toolName} has taken effect.`,
        responseSchema: uncertainSchema,
      })),
    ]
  }

  function ended({ status, error, output }: EventOf<'agent.end'>): readonly AgUiEvent[] {
    finished = true
    const ends = closeAll()
    if (status === 'failed') {
      const { code, message } = error ?? { code: status, message: 'The run failed.' }
      return [...ends, { type: 'RUN_ERROR', message, code }]
    }
    const calls = pending.remoteCalls.flatMap(({ callId, toolName, input }) => call(callId, toolName, input))
    const asked = status === 'suspended' ? interrupts() : []
    const toolCallIds = pending.remoteCalls.map(({ callId }) => callId)
    const outcome: Json =
      status === 'aborted' && isCurrent
        ? { type: 'cancelled' }
        : asked.length > 0
          ? { type: 'interrupt', interrupts: asked }
          : { type: 'success', ...(isCurrent && toolCallIds.length > 0 && { pendingToolCallIds: toolCallIds }) }
    return [
      ...ends,
      ...calls,
      { type: 'RUN_FINISHED', threadId, runId, outcome, ...(output !== undefined && { result: output }) },
    ]
  }

  function events(event: AgentEvent): readonly AgUiEvent[] {
    // Events of child runs are hidden; the call that started the child shows its result.
    if (event.parents.length > 0 || !isShown(event)) return []
    switch (event.type) {
      case 'step.start': {
        const stepName = `step ${event.step}`
        return opened('step', [{ type: 'STEP_STARTED', stepName }], [{ type: 'STEP_FINISHED', stepName }])
      }
      case 'step.end':
        return closeAll()
      case 'text.start':
      case 'reasoning.start':
        return openText(shortOf(event.messageId, event.attempt), pieceKind(event))
      case 'text.delta':
      case 'reasoning.delta':
        return write(shortOf(event.messageId, event.attempt), pieceKind(event), event.delta)
      case 'text.end':
      case 'reasoning.end':
        return close(shortOf(event.messageId, event.attempt), pieceKind(event), event.text)
      case 'message.end':
        return messageEnded(event)
      case 'tool.execute.progress':
        return [
          {
            type: 'ACTIVITY_SNAPSHOT',
            messageId: `${event.callId}/progress`,
            activityType: 'provost.progress',
            content: { toolCallId: event.callId, data: toJson(event.data) },
            replace: true,
          },
        ]
      case 'tool.execute.start':
        // A call inside another tool belongs to that tool.
        if (event.parentCallId !== undefined) nested.add(event.callId)
        return []
      case 'tool.execute.end':
        return result(event.callId, outputText(event.output))
      case 'tool.execute.error':
        return result(event.callId, event.error.message, event.error.code)
      case 'tool.skipped':
        return result(event.callId, event.reason, 'skipped')
      case 'governance.blocked':
      case 'governance.flagged':
        return [{ type: 'CUSTOM', name: `provost.${event.type}`, value: { rule: event.rule } }]
      case 'agent.error':
        return [
          { type: 'CUSTOM', name: 'provost.error', value: { code: event.error.code, message: event.error.message } },
        ]
      case 'model.fallback':
        return [{ type: 'CUSTOM', name: 'provost.model.fallback', value: { from: event.from, to: event.to } }]
      case 'extension':
        if (event.event === 'state') return [{ type: 'STATE_SNAPSHOT', snapshot: toJson(event.data) }]
        return [{ type: 'CUSTOM', name: `provost.extension.${event.name}`, value: toJson(event.data) }]
      case 'agent.suspended':
        pending = event.pending
        return []
      case 'agent.end':
        return ended(event)
      case 'agent.start':
      case 'agent.resumed':
      case 'message.start':
      case 'tool.call.start':
      case 'tool.call.delta':
      case 'tool.call.end':
      case 'tool.execute.partial':
      case 'tool.uncertain':
      case 'model.retry':
      case 'context.compacted':
      case 'governance.declassified':
      case 'progress.written':
        return []
      default:
        return assertNever(event)
    }
  }

  return {
    take(event) {
      const sent = finished ? [] : [...start(), ...events(event)]
      for (const one of sent) thread.take(one)
      return sent
    },
    finish() {
      if (finished) return []
      finished = true
      return [...start(), ...closeAll(), { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } }]
    },
  }
}

const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, editedArgs: {}, reason: { type: 'string' } },
  required: ['approved'],
}
const uncertainSchema = {
  type: 'object',
  properties: { decision: { enum: ['retry', 'done', 'fail'] } },
  required: ['decision'],
}

/** A short id of a message, the same in each stream: each delta repeats it. */
function shortOf(messageId: string, attempt: number): string {
  return createHash('sha256').update(`${messageId}/${attempt}`).digest('hex').slice(0, 12)
}
