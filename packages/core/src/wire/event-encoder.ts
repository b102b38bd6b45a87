import type { AgentEvent } from '../log/event.ts'
import type { Part } from '../messages/message.ts'
import type { RunMemory } from './stream-memory.ts'
import {
  createStreamMemory,
  eventIdAt,
  inheritedBy,
  isInherited,
  lastAnswer,
  noteContext,
  noteEvent,
  partsOf,
  writtenInput,
} from './stream-memory.ts'

/** The name and the data of a server-sent event. */
export interface StreamFrame {
  readonly event: string
  /** JSON. */
  readonly data: string
}

/** Writes the events of one connection without what its reader knows. `createEventDecoder` restores them. */
export interface EventEncoder {
  /**
   * Returns the frames of an event. The id belongs to the last one; `stream.context` precedes it where the run is new.
   *
   * @param log of the event.
   * @param id of the frame, from which the reader derives the id of the event.
   */
  encode(event: AgentEvent, log: string, id: string | undefined): readonly StreamFrame[]
  /** Returns the last frame, without the texts, usage and pending work that the reader has. */
  complete(complete: { readonly type: string }): StreamFrame
}

type Fields = Record<string, unknown>

/** Creates the encoder of a connection. */
export function createEventEncoder(): EventEncoder {
  const memory = createStreamMemory()

  return {
    encode(event, log, id) {
      const known = memory.runs.get(event.runId)
      const frames: StreamFrame[] = []
      let run = known
      if (!run || !isContextOf(run, event, log)) {
        const { runId, agent, parents, at } = event
        const context = { run: known?.context.run ?? ++memory.contexts, runId, agent, parents, log, at }
        frames.push({ event: 'stream.context', data: JSON.stringify(context) })
        run = noteContext(memory, context)
      }
      const small = shortened(run, event, id)
      frames.push({ event: event.type, data: JSON.stringify(small) })
      noteEvent(memory, run, event)
      return frames
    },
    complete({ type, ...rest }) {
      const small: Fields = { ...rest }
      const earlier: Fields = { ...memory.end, pending: memory.pending }
      const same = endFields.filter((field) => field in small && isSame(small[field], earlier[field]))
      return { event: type, data: JSON.stringify(without(small, same)) }
    },
  }
}

function isContextOf({ context }: RunMemory, { agent, parents }: AgentEvent, log: string): boolean {
  return context.agent === agent && context.log === log && isSame(context.parents, parents)
}

/** Fields that the last frame leaves out if the end of the run, or its suspension, had them. */
const endFields = ['text', 'output', 'usage', 'pending']

/** Fields that the context, the id of the frame and `ms` replace. */
const contextFields: ReadonlySet<string> = new Set(['type', 'seq', 'id', 'runId', 'agent', 'parents', 'at', 'step'])

function shortened(run: RunMemory, event: AgentEvent, id: string | undefined): Fields {
  const { context } = run
  const fields: Fields = { run: context.run, ms: event.at - context.at }
  if (id === undefined || event.id !== eventIdAt(context.log, id)) fields['id'] = event.id
  if (event.step !== run.step) fields['step'] = event.step
  const same = sameFields(run, event)
  const inheriting = inheritedBy(event.type)
  const payload: Fields = { ...event }
  for (const name of Object.keys(payload)) {
    if (contextFields.has(name) || same.includes(name)) continue
    const value = payload[name]
    if (isInherited(name)) {
      const known = run.inherited.get(name)
      run.inherited.set(name, value)
      if (known === value && inheriting.includes(name)) continue
    }
    fields[name] = value
  }
  if (event.type === 'message.end' && same.length === 0) fields['message'] = shortMessage(run, event)
  else if (event.type === 'turn.end' || event.type === 'agent.end') {
    fields['messages'] = event.messages.map((one) => (isSame(run.messages.get(one.id), one) ? one.id : one))
  }
  if (same.length > 0) fields['same'] = same
  return fields
}

/** Returns the fields of an event whose values the reader can derive. */
function sameFields(run: RunMemory, event: AgentEvent): readonly string[] {
  const { type } = event
  if (type === 'text.end' || type === 'reasoning.end') {
    return partsOf(run, event).get(event.partId) === event.text ? ['text'] : []
  }
  if (type === 'tool.call.end') return isSame(writtenInput(run, event.callId), event.input) ? ['input'] : []
  if (type === 'tool.execute.start') return isSame(run.inputs.get(event.callId), event.input) ? ['input'] : []
  if (type === 'message.end') return isSame(run.messages.get(event.messageId), event.message) ? ['message'] : []
  if (type !== 'turn.end' && type !== 'agent.end') return []
  const text = event.text === lastAnswer(event.messages) ? ['text'] : []
  return type === 'agent.end' && event.output === event.text ? [...text, 'output'] : text
}

function shortMessage(run: RunMemory, event: Extract<AgentEvent, { type: 'message.end' }>): Fields {
  const { id, content, ...rest } = event.message
  const parts = [...partsOf(run, event)]
  return {
    ...(id !== event.messageId && { id }),
    ...rest,
    content: content.map((part) => shortPart(run, parts, part)),
  }
}

function shortPart({ inputs, outputs }: RunMemory, parts: readonly (readonly [string, string])[], part: Part): Fields {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const [partId] = parts.find(([, text]) => text === part.text) ?? []
      return partId === undefined || part.text === '' ? { ...part } : { ...without({ ...part }, ['text']), partId }
    }
    case 'tool-call':
      return without({ ...part }, isSame(inputs.get(part.callId), part.input) ? ['input'] : [])
    case 'tool-result':
      return without({ ...part }, isSame(outputs.get(part.callId), part.output) ? ['output'] : [])
    case 'file':
    case 'reasoning-file':
    case 'custom':
      return { ...part }
    default:
      return part satisfies never
  }
}

/** Removes fields that the reader can derive, and names them. */
function without(fields: Fields, same: readonly string[]): Fields {
  if (same.length === 0) return fields
  for (const field of same) delete fields[field]
  return { ...fields, same }
}

/** Whether two JSON values are equal, with their keys in the same order. */
function isSame(known: unknown, value: unknown): boolean {
  if (known === undefined || value === undefined) return false
  if (known === value) return true
  try {
    return JSON.stringify(known) === JSON.stringify(value)
  } catch {
    // The deltas of a call may spell JSON that is nested deeper than it can be written.
    return false
  }
}
