import type { FilePart, JsonPointer, KnownKeys, LabelInit, TextPart, ToolOutput } from '@provost/core'
import { checkLabel, checkOptions, ProvostError } from '@provost/core'

/** The parts of a result beside its value. */
export interface RichMore {
  /** What the model receives instead of the value. */
  readonly content?: readonly (TextPart | FilePart)[]
  /** The same in the AI SDK's form, which goes before `content`. */
  readonly output?: ToolOutput
  /** For events and user interfaces, never for the model. Any JSON. */
  readonly details?: unknown
  /** Takes precedence over `returns` of the tool. */
  readonly label?: LabelInit
  /** Labels of single fields of the value. */
  readonly fields?: Readonly<Record<JsonPointer, LabelInit>>
}

// A symbol, because data that a tool merely passes on must not be able to label itself.
const brand: unique symbol = Symbol('rich')

/** A result with more than its value, made by {@link rich}. */
export interface Rich<T> {
  readonly '~rich': T
  readonly [brand]: RichMore
}

const moreKeys = {
  content: true,
  output: true,
  details: true,
  label: true,
  fields: true,
} satisfies KnownKeys<RichMore>

/**
 * Returns a result with more than its value: content for the model, details for user interfaces, and labels.
 *
 * @example
 * execute: () => rich({ points: 3 }, { content: [{ type: 'text', text: 'a chart' }], details: { svg } })
 */
export function rich<T>(value: T, more: RichMore): Rich<T> {
  checkOptions(more, moreKeys, 'rich')
  checkLabel(more.label, '"label" of rich')
  for (const [pointer, label] of Object.entries(more.fields ?? {})) {
    const where = `"fields" of rich, ${JSON.stringify(pointer.slice(0, 100))}`
    checkLabel(label, where)
    if (pointer.startsWith('/')) continue
    throw new ProvostError('invalid-label', `The label in ${where} matches no field of the value.`, {
      hint: 'Name fields by JSON pointers such as /id.',
    })
  }
  return { '~rich': value, [brand]: more }
}

/** A value and what {@link rich} added to it. */
export interface Unwrapped {
  readonly value: unknown
  readonly more?: RichMore
}

/** Returns the value and the parts of a {@link rich} result, or any other value alone. */
export function unwrap(value: unknown): Unwrapped {
  return isRich(value) ? { value: value['~rich'], more: value[brand] } : { value }
}

function isRich(value: unknown): value is Rich<unknown> {
  return typeof value === 'object' && value !== null && brand in value
}
