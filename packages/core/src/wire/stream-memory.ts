import { eventFilter } from '../log/event-traits.ts'
import type { AgentEvent, EventOf } from '../log/event.ts'
import type { PendingWork } from '../log/pending.ts'
import type { Message, ToolOutput } from '../messages/message.ts'
import { textOf } from '../messages/message.ts'
import { assertNever } from '../values/error.ts'
import type { Json } from '../values/json.ts'

/** What `stream.context` states once for the frames of a run. */
export interface StreamContext {
  /** The number by which the frames of the run refer to this. */
  readonly run: number
  readonly runId: string
  readonly agent: string
  readonly parents: readonly string[]
  /** Log of the run. Event ids are positions in it. */
  readonly log: string
  /** Time from which `ms` counts. */
  readonly at: number
}

/** Fields that a frame leaves out while they are the same as in the last frame of its run that had them. */
export const inheritedFields = ['messageId', 'attempt', 'partId', 'callId', 'toolName', 'index'] as const
type InheritedField = (typeof inheritedFields)[number]

const inherited: ReadonlySet<string> = new Set(inheritedFields)

export function isInherited(field: string): field is InheritedField {
  return inherited.has(field)
}

/** The inherited fields of each family of events: `text` stands for `text.start`, `text.delta` and `text.end`. */
const families: Readonly<Record<string, readonly InheritedField[]>> = {
  message: ['messageId', 'attempt'],
  text: ['messageId', 'attempt', 'partId'],
  reasoning: ['messageId', 'attempt', 'partId'],
  'tool.call': ['messageId', 'attempt', 'callId', 'toolName', 'index'],
  'tool.execute': ['callId', 'toolName'],
}

/** Returns the fields that an event inherits. */
export function inheritedBy(type: string): readonly InheritedField[] {
  const family = type.slice(0, type.lastIndexOf('.'))
  return Object.hasOwn(families, family) ? (families[family] ?? []) : []
}

/** What a reader of a stream knows of one run. Server and client derive it from the same events. */
export interface RunMemory {
  readonly context: StreamContext
  step: number | undefined
  readonly inherited: Map<InheritedField, unknown>
  /** The answer whose parts are known. */
  answer: string
  /** Text of the parts of that answer, by part. */
  readonly parts: Map<string, string>
  /** JSON of the inputs of calls as their deltas give it, by call. */
  readonly written: Map<string, string>
  readonly inputs: Map<string, Json>
  readonly outputs: Map<string, ToolOutput>
  readonly messages: Map<string, Message>
}

/** What a reader of a stream knows. It is empty at the beginning of each connection. */
export interface StreamMemory {
  readonly runs: Map<string, RunMemory>
  /** The last end of a root run. */
  end: EventOf<'agent.end'> | undefined
  /** The pending work of a suspended root run. */
  pending: PendingWork | undefined
  /** Number of contexts so far. */
  contexts: number
}

export function createStreamMemory(): StreamMemory {
  return { runs: new Map(), end: undefined, pending: undefined, contexts: 0 }
}

/** Records the constants of a run. A run that is known continues with new constants. */
export function noteContext({ runs }: StreamMemory, context: StreamContext): RunMemory {
  const known = runs.get(context.runId)
  const run: RunMemory = {
    step: undefined,
    inherited: new Map(),
    answer: '',
    parts: new Map(),
    written: new Map(),
    inputs: new Map(),
    outputs: new Map(),
    messages: new Map(),
    ...known,
    context,
  }
  runs.set(context.runId, run)
  return run
}

/** Later events repeat something of these. */
const isRemembered = eventFilter('run', 'step', 'message', 'text', 'reasoning', 'tool-input', 'tool-call')

/** Records an event that the reader has received. */
export function noteEvent(memory: StreamMemory, run: RunMemory, event: AgentEvent): void {
  run.step = event.step
  if (!isRemembered(event)) return
  switch (event.type) {
    case 'agent.start':
      for (const message of event.input) run.messages.set(message.id, message)
      break
    case 'text.start':
    case 'reasoning.start':
      partsOf(run, event).set(event.partId, '')
      break
    case 'text.delta':
    case 'reasoning.delta': {
      const parts = partsOf(run, event)
      const text = parts.get(event.partId)
      if (text !== undefined) parts.set(event.partId, text + event.delta)
      break
    }
    case 'text.end':
    case 'reasoning.end':
      partsOf(run, event).set(event.partId, event.text)
      break
    case 'tool.call.start':
      run.written.set(event.callId, '')
      break
    case 'tool.call.delta': {
      const text = run.written.get(event.callId)
      if (text !== undefined) run.written.set(event.callId, text + event.delta)
      break
    }
    case 'tool.call.end':
    case 'tool.execute.start':
      run.written.delete(event.callId)
      run.inputs.set(event.callId, event.input)
      break
    case 'tool.execute.end':
      run.outputs.set(event.callId, event.output)
      break
    case 'message.end':
      run.messages.set(event.message.id, event.message)
      run.parts.clear()
      break
    case 'step.end':
      run.written.clear()
      run.inputs.clear()
      run.outputs.clear()
      break
    case 'agent.suspended':
      if (event.parents.length === 0) memory.pending = event.pending
      break
    case 'agent.end':
      if (event.parents.length === 0) memory.end = event
      if (event.status === 'suspended') break
      if (event.parents.length === 0) memory.runs.clear()
      else memory.runs.delete(event.runId)
      break
    // These carry nothing that a later event repeats.
    case 'agent.error':
    case 'agent.resumed':
    case 'message.start':
    case 'step.start':
    case 'tool.execute.error':
    case 'tool.skipped':
    case 'tool.uncertain':
      break
    default:
      assertNever(event)
  }
}

/** Returns the input of a call that its deltas spell; undefined if it is unknown or no JSON. */
export function writtenInput({ written }: RunMemory, callId: string): unknown {
  try {
    return JSON.parse(written.get(callId) ?? '')
  } catch {
    return undefined
  }
}

/** Returns the known parts of an answer; those of another answer are dropped. */
export function partsOf(
  run: RunMemory,
  { messageId, attempt }: { readonly messageId: string; readonly attempt: number },
): Map<string, string> {
  const answer = `${messageId}/${attempt}`
  if (run.answer !== answer) run.parts.clear()
  run.answer = answer
  return run.parts
}

/** Returns the text of the last answer among messages, even if it is incomplete. */
export function lastAnswer(messages: readonly Message[]): string {
  const answer = messages.findLast(({ role, partial }) => role === 'assistant' || partial)
  return answer ? textOf(answer) : ''
}

const childLog = /\/(?:child|part)\/([0-9a-f]{12})[0-9a-f]{20}$/u

/** Returns the name of a child's log in the id of a frame; undefined for a log that is not a child's. */
export function childKey(log: string): string | undefined {
  return childLog.exec(log)?.[1]
}

/** Returns the id of the event of a log at the position that the id of its frame gives. */
export function eventIdAt(log: string, frameId: string): string | undefined {
  const words = frameId.split(' ')
  const key = childKey(log)
  const position =
    key === undefined ? words[0] : words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1)
  return position === undefined ? undefined : `${log}:${position}`
}
