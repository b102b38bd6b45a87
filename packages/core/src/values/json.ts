import { ProvostError } from './error.ts'

/** A value or a promise of it. Callers await only promises, so that the common path costs no microtask. */
export type MaybePromise<T> = T | Promise<T>

/** Any JSON value. Everything that enters a log, an event or a message is of this type. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

/** RFC 6901, never the empty pointer: `/items/0/id`. */
export type JsonPointer = `/${string}`

/** Milliseconds since the epoch. */
export type Timestamp = number

/** Flattens an intersection into one object type, so that editors show fields instead of operators. */
export type Flat<T> = { [K in keyof T]: T[K] } & {}

/** Returns whether a value is a promise or another thenable. */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Returns whether a value is an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns a JSON copy of any value, as `JSON.stringify` writes it: `toJSON` is honoured, `undefined` fields are dropped,
 * and so are keys named `__proto__`.
 *
 * @throws ProvostError `not-json` for cycles, BigInt, functions and symbols at the top, and for values nested deeper than
 * 1,000 levels. The message names the problem.
 *
 * @example
 * toJson({ at: new Date(0), skip: undefined }) // { at: '1970-01-01T00:00:00.000Z' }
 */
export function toJson(value: unknown): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // JSON has neither infinities nor a negative zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (value === undefined) return null
  let text: string | undefined
  let copy: Json = null
  try {
    text = JSON.stringify(value)
    // An own key of this name is harmless here, but not to code that merges the value later.
    if (text !== undefined) copy = text.includes('"__proto__"') ? JSON.parse(text, withoutPrototype) : JSON.parse(text)
  } catch (cause) {
    throw new ProvostError('not-json', `A value cannot be written as JSON: ${reasonOf(cause)}.`, {
      hint: 'Return plain data: no cycles, no BigInt.',
      cause,
    })
  }
  if (text === undefined)
    throw new ProvostError('not-json', `A ${typeof value} cannot be written as JSON.`, {
      hint: 'Return plain data instead.',
    })
  // A short text cannot be deeply nested.
  if (text.length > 2 * deepest && isDeeper(copy, deepest))
    throw new ProvostError('not-json', `A value is nested deeper than ${deepest} levels.`, {
      hint: 'Return a flatter value, such as a list of parts with references, or text.',
    })
  return copy
}

/** The deepest nesting of a value, which leaves stack for code that writes or walks through it. */
const deepest = 1000

function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const item of isJsonList(value) ? value : Object.values(value)) {
    if (typeof item === 'object' && isDeeper(item, levels - 1)) return true
  }
  return false
}

function withoutPrototype(this: unknown, key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}

function reasonOf(cause: unknown): string {
  // The first line only: V8 draws the whole cycle on the lines after it.
  return cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause)
}

/**
 * Returns JSON text with sorted keys. Equal values give equal text, which can be hashed and compared.
 *
 * @example
 * canonicalJson({ b: 1, a: [true] }) // '{"a":[true],"b":1}'
 */
export function canonicalJson(value: Json): string {
  // Small values with sorted keys, which are hashed most often, are written in one call.
  if (typeof value !== 'object' || value === null || isSorted(value)) return JSON.stringify(value)
  if (isJsonList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields: string[] = []
  for (const key of Object.keys(value).toSorted()) {
    const field = value[key]
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${canonicalJson(field)}`)
  }
  return `{${fields.join(',')}}`
}

/**
 * Returns whether JSON.stringify writes this as {@link canonicalJson} would. Checks a few levels only, because each level of the
 * recursion would walk the rest again.
 */
function isSorted(value: unknown, levels = 3): boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return true
  if (typeof value !== 'object' || levels === 0 || 'toJSON' in value) return false
  if (Array.isArray(value)) {
    for (const item of value) if (!isSorted(item, levels - 1)) return false
    return true
  }
  if (!isRecord(value)) return false
  let last = ''
  for (const key in value) {
    if (key < last || !isSorted(value[key], levels - 1)) return false
    last = key
  }
  return true
}

function isJsonList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Freezes plain data recursively and returns it. Frozen parts are not walked again, so that shared parts cost nothing
 * twice.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  // The parent first: V8 is slower the other way round. Lists by index, which is several times faster than by key.
  Object.freeze(value)
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const item: unknown = value[at]
      if (typeof item === 'object' && item !== null && !Object.isFrozen(item)) deepFreeze(item)
    }
  } else
    for (const key in value) {
      const item: unknown = value[key]
      if (typeof item === 'object' && item !== null && !Object.isFrozen(item)) deepFreeze(item)
    }
  return value
}

/** Returns a key as a segment of a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
