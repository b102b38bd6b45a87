import { ProvostError } from '../values/error.ts'
import type { Json } from '../values/json.ts'
import { isRecord, toJson } from '../values/json.ts'
import { isEventType } from './event-traits.ts'
import type { AgentEvent, EventOf } from './event.ts'

/** An event of an orchestrator or an extension, with the type of its data. Made by {@link defineEvent}. */
export interface DefinedEvent<T> {
  readonly name: string
  /** Exists at compile time only. */
  readonly '~data'?: T
}

/**
 * Declares an event of an orchestrator or an extension: `emit` takes its data, and {@link isEventOf} recognizes it. It
 * arrives as an `extension` event with `event: name`.
 *
 * @param name up to 100 letters, digits, `.`, `_` and `-`, and not the name of a built-in event.
 * @throws ProvostError `invalid-event`
 *
 * @example
 * const drafted = defineEvent<{ words: number }>('draft.made')
 * // in an orchestrator: run.emit(drafted, { words: 120 })
 * // where events are read: if (isEventOf(event, drafted)) console.log(event.data.words)
 */
export function defineEvent<T>(name: string): DefinedEvent<T> {
  return Object.freeze({ name: checkedName(name, 'defineEvent') })
}

function checkedName(name: unknown, where: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,100}$/.test(name) && !isEventType(name)) return name
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : `a value of type ${typeof name}`
  throw new ProvostError('invalid-event', `${where}() got the event name ${shown}.`, {
    hint: "Give 1 to 100 letters, digits, '.', '_' and '-' that are not the name of a built-in event: 'plan.made'.",
  })
}

/**
 * Returns what `emit` sends for its arguments: data, or an event and its data.
 *
 * @throws ProvostError `invalid-event`, `not-json`
 */
export function emitted(args: readonly unknown[]): { readonly event?: string; readonly data: Json } {
  const [first, data] = args
  if (args.length < 2) return { data: toJson(first) }
  const name: unknown = isRecord(first) ? first['name'] : first
  return { event: checkedName(name, 'emit'), data: toJson(data) }
}

/** Returns whether an event is of a declared kind; narrows its data. The data of an event from outside is not checked. */
export function isEventOf<T>(
  event: AgentEvent,
  of: DefinedEvent<T>,
): event is EventOf<'extension'> & { readonly event: string; readonly data: T } {
  return event.type === 'extension' && event.event === of.name
}
