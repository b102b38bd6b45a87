import type { Message, ToolOutput } from '../messages/message.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { AgentEvent, EventPayloads, EventType } from './event.ts'

/** What an event is about. Code that uses some families switches over the events of these alone: {@link eventFilter}. */
export type EventFamily =
  /** A run starts, pauses, resumes, fails or ends. */
  | 'run'
  /** An input enters and is answered. */
  | 'turn'
  /** A step begins or ends. */
  | 'step'
  /** A message begins or is complete. */
  | 'message'
  /** Parts of the model's answer, and the calls that it writes. */
  | 'text'
  | 'reasoning'
  | 'media'
  | 'tool-input'
  /** A call starts or ends. */
  | 'tool-call'
  /** What a running call reports. */
  | 'tool-progress'
  /** A call waits for an answer from outside, or has received it. */
  | 'wait'
  /** The model was changed or called again, or its context was compacted. */
  | 'model'
  /** Agents work with other agents. */
  | 'team'
  | 'governance'
  /** Data of extensions and of the application. */
  | 'extension'

type ValuesOf<Payload> = Payload extends unknown ? Payload[keyof Payload] : never
/** The fields of an event that may repeat the text of an exception; objects within other fields are not searched. */
type Exposed<K extends EventType> = Extract<
  ValuesOf<EventPayloads[K]>,
  ErrorInfo | Message | readonly Message[] | ToolOutput
>

/** The one list of all events. */
const eventTraits = {
  'agent.start': { family: 'run', exposes: true },
  'agent.resumed': { family: 'run' },
  'agent.suspended': { family: 'run' },
  'agent.end': { family: 'run', exposes: true },
  'agent.error': { family: 'run', exposes: true },
  'turn.start': { family: 'turn' },
  'turn.mode': { family: 'turn' },
  'turn.end': { family: 'turn', exposes: true },
  'step.start': { family: 'step' },
  'step.end': { family: 'step' },
  'message.start': { family: 'message' },
  'message.end': { family: 'message', exposes: true },
  'text.start': { family: 'text' },
  'text.delta': { family: 'text', grows: true },
  'text.end': { family: 'text' },
  'reasoning.start': { family: 'reasoning' },
  'reasoning.delta': { family: 'reasoning', grows: true },
  'reasoning.end': { family: 'reasoning' },
  'tool.call.start': { family: 'tool-input' },
  'tool.call.delta': { family: 'tool-input', grows: true },
  'tool.call.end': { family: 'tool-input' },
  'tool.execute.start': { family: 'tool-call' },
  'tool.execute.progress': { family: 'tool-progress', grows: true },
  'tool.execute.partial': { family: 'tool-progress', grows: true },
  'tool.execute.end': { family: 'tool-call', exposes: true, endsCall: true },
  'tool.execute.error': { family: 'tool-call', exposes: true, endsCall: true },
  'tool.skipped': { family: 'tool-call', endsCall: true },
  'tool.uncertain': { family: 'tool-call' },
  'tool.approval.requested': { family: 'wait' },
  'tool.approval.resolved': { family: 'wait' },
  'tool.batch.settled': { family: 'wait' },
  'tool.remote.requested': { family: 'wait' },
  'tool.remote.resolved': { family: 'wait' },
  'input.requested': { family: 'wait' },
  'input.resolved': { family: 'wait' },
  'agent.steered': { family: 'turn' },
  'agent.followup.queued': { family: 'turn' },
  'model.fallback': { family: 'model' },
  'model.retry': { family: 'model' },
  'context.compacted': { family: 'model', emittable: true },
  'handoff.start': { family: 'team' },
  'handoff.end': { family: 'team' },
  'fanout.start': { family: 'team' },
  'fanout.child': { family: 'team', exposes: true },
  'fanout.merged': { family: 'team' },
  'evaluator.iteration': { family: 'team', emittable: true },
  'governance.flagged': { family: 'governance' },
  'governance.blocked': { family: 'governance' },
  'governance.declassified': { family: 'governance' },
  'progress.written': { family: 'extension', emittable: true },
  'file.generated': { family: 'media', emittable: true },
  'source.cited': { family: 'media', emittable: true },
  extension: { family: 'extension' },
} as const
type Table = typeof eventTraits

interface Traits {
  readonly family: EventFamily
  /** A piece that grows: a slow reader receives several of one part as one. */
  readonly grows?: true
  /** A call ends. */
  readonly endsCall?: true
  /** Extensions and tools may emit it with `ctx.emit`. */
  readonly emittable?: true
  /** It has messages, outputs or errors, which may repeat the text of an exception. */
  readonly exposes?: true
}
/** A trait that an event has or has not. */
export type EventTrait = Exclude<keyof Traits, 'family'>

/** The compiler asks for a new event here, and derives from its payload whether it `exposes`. */
const traits: {
  readonly [K in EventType | keyof Table]: [K] extends [EventType]
    ? Traits & ([Exposed<K>] extends [never] ? { readonly exposes?: never } : { readonly exposes: true })
    : never
} = eventTraits

type TypeIn<F extends EventFamily> = { [K in EventType]: Table[K]['family'] extends F ? K : never }[EventType]
type TypeWith<T extends EventTrait> = {
  [K in EventType]: Table[K] extends Readonly<Record<T, true>> ? K : never
}[EventType]

/** The events of some families. */
export type EventIn<F extends EventFamily> = Extract<AgentEvent, { readonly type: TypeIn<F> }>
/** The events that have a trait. */
export type EventWith<T extends EventTrait> = Extract<AgentEvent, { readonly type: TypeWith<T> }>

/** Returns whether a string is the name of an event type. */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventTraits, type)
}

/** Every event type, for code that iterates over all of them. */
export const eventTypes: readonly EventType[] = Object.freeze(Object.keys(eventTraits).filter(isEventType))

/** Returns the types of the events that have a trait. */
export function eventTypesWith(trait: EventTrait): ReadonlySet<EventType> {
  return new Set(eventTypes.filter((type) => trait in traits[type]))
}

/** Returns whether an event has a trait. */
export function hasTrait<T extends EventTrait>(event: AgentEvent, trait: T): event is EventWith<T> {
  return trait in traits[event.type]
}

/**
 * Returns a filter for the events of some families. A switch over what it accepts is exhaustive with these events alone, so
 * that the compiler asks about a new event of these families only.
 *
 * @example
 * const isShown = eventFilter('text', 'tool-call')
 * for await (const event of stream) if (isShown(event)) show(event)
 */
export function eventFilter<F extends EventFamily>(
  ...families: readonly F[]
): (event: AgentEvent) => event is EventIn<F> {
  const wanted: ReadonlySet<EventFamily> = new Set(families)
  const types: ReadonlySet<EventType> = new Set(eventTypes.filter((type) => wanted.has(traits[type].family)))
  return (event): event is EventIn<F> => types.has(event.type)
}
