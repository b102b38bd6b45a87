import type { FilePart, JsonPointer, KnownKeys, LabelInit, TextPart, ToolOutput } from '@provost/core'
import { checkLabel, checkOptions, ProvostError, checkArguments } from '@provost/core'

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
  /**
   * Why the call failed. The value is then data about the failure: the model receives it as `error-json`, and listeners
   * `tool.execute.error`. The output schema does not apply to it. Default `code`: `tool-failed`.
   */
  readonly error?: string | { readonly message: string; readonly code?: string }
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
  error: true,
} satisfies KnownKeys<RichMore>

/**
 * Returns a result with more than its value: content for the model, details for user interfaces, and labels.
 *
 * @example
 * execute: () => rich({ points: 3 }, { content: [{ type: 'text', text: 'a chart' }], details: { svg } })
 *
 * @example
 * execute: () => rich({ inStock: 2 }, { error: 'Only 2 are in stock.' }) // the call fails, with data for the model
 */
export function rich(value: unknown, more: RichMore & Required<Pick<RichMore, 'error'>>): Rich<never>
export function rich<T>(value: T, more: RichMore): Rich<T>
export function rich<T>(value: T, more: RichMore): Rich<T> {
  checkArguments('rich', [value, more], ['any', 'object'])
  checkOptions(more, moreKeys, 'rich')
  checkError(more.error)
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

const errorKeys = { message: true, code: true } satisfies Record<
  keyof Exclude<RichMore['error'], string | undefined>,
  true
>

function checkError(error: RichMore['error']): void {
  if (error === undefined || typeof error === 'string') return
  checkOptions(error, errorKeys, '"error" of rich')
  if (typeof error.message === 'string') return
  throw new ProvostError('invalid-option', 'The "error" of rich has no message.', {
    hint: "Give error: 'Only 2 are in stock.', or error: { code, message }.",
  })
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
