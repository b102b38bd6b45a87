import { isEventType } from '../log/event-traits.ts'
import type { AgentEvent } from '../log/event.ts'
import { ProvostError } from '../values/error.ts'
import { isRecord } from '../values/json.ts'
import type { RunMemory, StreamContext } from './stream-memory.ts'
import {
  createStreamMemory,
  eventIdAt,
  inheritedBy,
  inheritedFields,
  lastAnswer,
  noteContext,
  noteEvent,
  partsOf,
  writtenInput,
} from './stream-memory.ts'

/** Restores the events of one connection from the frames of `createEventEncoder`. */
export interface EventDecoder {
  /**
   * Returns the event of a frame; undefined for a frame that is not an event or is of an unknown type.
   *
   * @throws ProvostError `invalid-frame` if an earlier frame of the connection is missing.
   */
  decode(frame: {
    readonly event: string
    readonly id?: string | undefined
    readonly data: unknown
  }): AgentEvent | undefined
  /** Returns the last frame with all its fields. */
  complete(data: Readonly<Record<string, unknown>>): Record<string, unknown>
}

type Fields = Record<string, unknown>

/** Creates the decoder of a connection. `seq` counts its events. */
export function createEventDecoder(): EventDecoder {
  const memory = createStreamMemory()
  const runIds = new Map<unknown, string>()
  let seq = 0

  return {
    decode({ event: type, id, data }) {
      if (!isRecord(data)) return undefined
      if (type === 'stream.context') {
        if (!isContext(data)) throw invalidFrame(type)
        runIds.set(data.run, data.runId)
        noteContext(memory, data)
        return undefined
      }
      const run = memory.runs.get(runIds.get(data['run']) ?? '')
      if (!run) throw invalidFrame(type)
      const event = restored(run, type, id, data, ++seq)
      if (!isEvent(event)) return undefined
      noteEvent(memory, run, event)
      return event
    },
    complete({ same, ...fields }) {
      const earlier: Fields = { ...memory.end, pending: memory.pending }
      const known = namesIn(same).map((field) => [field, earlier[field]] as const)
      return { type: 'execute_complete', ...fields, ...Object.fromEntries(known) }
    },
  }
}

function restored(run: RunMemory, type: string, id: string | undefined, data: Fields, seq: number): Fields {
  const { context, inherited } = run
  const { run: _, ms, same, step = run.step, id: own, ...given } = data
  const { runId, agent, parents, log, at } = context
  const fields: Fields = { ...given }
  for (const field of inheritedFields) if (field in fields) inherited.set(field, fields[field])
  for (const field of inheritedBy(type)) fields[field] ??= inherited.get(field)
  if (type === 'message.end') fields['message'] = messageFrom(run, fields, namesIn(same))
  if (Array.isArray(fields['messages']))
    fields['messages'] = fields['messages'].map((one: unknown) => messageOf(run, one))
  for (const field of namesIn(same)) if (field !== 'message') fields[field] = derived(run, type, field, fields)
  const base = { seq, id: own ?? (id === undefined ? undefined : eventIdAt(log, id)), runId, step, agent, parents }
  return { type, ...base, at: at + Number(ms), ...fields }
}

/** Returns the value of a field that the frame leaves out. */
function derived(run: RunMemory, type: string, field: string, fields: Fields): unknown {
  switch (`${type} ${field}`) {
    case 'text.end text':
    case 'reasoning.end text':
      return partsOf(run, answerOf(fields)).get(String(fields['partId']))
    case 'tool.call.end input':
      return writtenInput(run, String(fields['callId']))
    case 'tool.execute.start input':
      return run.inputs.get(String(fields['callId']))
    case 'turn.end text':
    case 'agent.end text':
      return Array.isArray(fields['messages']) ? lastAnswer(fields['messages']) : undefined
    case 'agent.end output':
      return fields['text']
    default:
      throw invalidFrame(type)
  }
}

function messageOf(run: RunMemory, given: unknown): unknown {
  if (typeof given !== 'string') return given
  const known = run.messages.get(given)
  if (!known) throw invalidFrame('message')
  return known
}

function messageFrom(run: RunMemory, fields: Fields, same: readonly string[]): unknown {
  const messageId = fields['messageId']
  const { message } = fields
  if (same.includes('message')) return messageOf(run, messageId)
  if (!isRecord(message) || !Array.isArray(message['content'])) return message
  const parts = partsOf(run, answerOf(fields))
  return { id: messageId, ...message, content: message['content'].map((part: unknown) => partFrom(run, parts, part)) }
}

function partFrom({ inputs, outputs }: RunMemory, parts: ReadonlyMap<string, string>, part: unknown): unknown {
  if (!isRecord(part) || part['same'] === undefined) return part
  const { same, partId, ...rest } = part
  const callId = String(rest['callId'])
  const [field] = namesIn(same)
  if (field === 'text') return { ...rest, text: parts.get(String(partId)) }
  return field === 'input' ? { ...rest, input: inputs.get(callId) } : { ...rest, output: outputs.get(callId) }
}

function answerOf(fields: Fields): { readonly messageId: string; readonly attempt: number } {
  return { messageId: String(fields['messageId']), attempt: Number(fields['attempt']) }
}

function namesIn(same: unknown): readonly string[] {
  return Array.isArray(same) ? same.map(String) : []
}

function isContext(data: Fields): data is Fields & StreamContext {
  return typeof data['run'] === 'number' && typeof data['runId'] === 'string' && typeof data['log'] === 'string'
}

function isEvent(value: Fields): value is Fields & AgentEvent {
  return typeof value['type'] === 'string' && isEventType(value['type'])
}

function invalidFrame(event: string): ProvostError {
  return new ProvostError(
    'invalid-frame',
    `The frame ${event} refers to a frame that this connection has not received.`,
    {
      hint: 'Connect again with the id of the last event. Use one decoder for each connection.',
      retryable: true,
    },
  )
}
