import { shortestPart, encodedFormsOf } from '../secrets/secret-encodings.ts'
import { secretSpans } from '../secrets/secret-finder.ts'
import type { SecretIndex } from '../secrets/secret-index.ts'
import { secretIndex } from '../secrets/secret-index.ts'
import { redactedToken, secretToken } from '../secrets/secret.ts'
import { mapJson } from '../text/map-texts.ts'
import { someTextIn } from '../text/texts-within.ts'
import type { Json } from '../values/json.ts'
import { scrubBase64, scrubBytes } from './scrub-bytes.ts'
import type { ScrubPieces } from './scrub-pieces.ts'
import { scrubPieces } from './scrub-pieces.ts'
import type { ScrubStream } from './scrub-stream.ts'
import { scrubStream } from './scrub-stream.ts'

/** Removes known secrets from everything that is shown or stored. The input that a tool receives is never scrubbed. */
export interface Scrubber {
  /** Registers a value under a name. It is then shown as `⟦secret:NAME⟧`. The last 64 values of a name are known. */
  add(name: string, value: string): void
  /** Returns whether a value is registered under a name. */
  has(name: string): boolean
  /** Whether no value is registered, so that scrubbing changes nothing. */
  readonly empty: boolean
  /**
   * Returns the text without the values, also where they are written in base64, in base64 of base64, in hexadecimal, or with
   * escapes of URLs, JSON, JavaScript and HTML, up to five levels of them. Each of these may be wrapped onto several lines.
   */
  scrub(text: string): string
  /** Returns a copy of any value with all its texts scrubbed: keys, nested fields, messages, stacks and causes of errors. */
  scrubValue(value: unknown): unknown
  /** Returns whether any text in a value holds a secret. */
  holds(value: unknown): boolean
  /** Like {@link scrubValue}, for JSON. Parts without secrets are not copied. */
  scrubJson<T>(value: T): T
  /**
   * For arguments of calls. A value in its plain form becomes its token, which the executor resolves. Any other writing
   * becomes `⟦redacted:NAME⟧`, which cannot be resolved: such a call does not run.
   */
  tokenise<T>(value: T): T
  /** Scrubs bytes as text in UTF-8 or UTF-16; in other encodings each byte counts as a character. */
  scrubBytes(bytes: Uint8Array): Uint8Array
  /** The same for bytes in base64; text that is not base64 is scrubbed as text. */
  scrubBase64(encoded: string): string
  /** Scrubs a text that arrives in pieces. */
  stream(): ScrubStream
  /** Scrubs JSON that arrives in pieces, such as progress reports: texts at the same place of two pieces are one text. */
  pieces(tell: (data: Json) => void): ScrubPieces
}

const deepest = 100
const valuesPerName = 64

type TokenOf = (name: string, found: string) => string

/**
 * Returns a scrubber that finds secrets by value, at any place and under any key.
 *
 * @example
 * const scrubber = createScrubber()
 * scrubber.add('API_KEY', 'sk-123456')
 * scrubber.scrub('401 for Bearer sk-123456') // '401 for Bearer ⟦secret:API_KEY⟧'
 */
export function createScrubber(): Scrubber {
  /** By name, oldest first, each with its writings. */
  const values = new Map<string, Map<string, readonly string[]>>()
  let found: Findings | undefined

  const known = (): Findings => (found ??= findingsOf(values))
  const index = (): SecretIndex | undefined => (values.size === 0 ? undefined : known().index)
  const shown: TokenOf = (name) => secretToken(name)
  const reversible: TokenOf = (name, text) => (values.get(name)?.has(text) ? secretToken(name) : redactedToken(name))

  function replace(text: string, tokenOf: TokenOf): string {
    if (values.size === 0) return text
    const { wholes, index: secrets } = known()
    const name = wholes.get(text)
    if (name !== undefined) return tokenOf(name, text)
    if (secrets.longest === 0) return text
    let made = ''
    let from = 0
    for (const { start, end, name: of } of secretSpans(secrets, text)) {
      made += text.slice(from, start) + tokenOf(of, text.slice(start, end))
      from = end
    }
    return from === 0 ? text : made + text.slice(from)
  }

  const scrub = (text: string): string => replace(text, shown)
  /** Data that looks like base64 may be plain text. */
  const base64 = (encoded: string): string => {
    const scrubbed = scrubBase64(scrub, encoded)
    return scrubbed === undefined || scrubbed === encoded ? scrub(encoded) : scrubbed
  }
  /** Tokens in bytes cannot be resolved: a call with a secret in a file does not run. */
  const redactedFile = (encoded: string): string => {
    let hidden: string | undefined
    scrubBase64((text) => {
      const [first] = secretSpans(known().index, text)
      if (first) hidden = redactedToken(first.name)
      return text
    }, encoded)
    return hidden ?? replace(encoded, reversible)
  }

  const scrubber: { -readonly [K in keyof Scrubber]: Scrubber[K] } = {
    empty: true,
    add(name, value) {
      if (value === '') return
      const of = values.get(name) ?? new Map<string, readonly string[]>()
      values.set(name, of)
      const [oldest] = of.keys()
      if (of.has(value)) return
      if (of.size >= valuesPerName && oldest !== undefined) of.delete(oldest)
      of.set(value, encodedFormsOf(value))
      found = undefined
      scrubber.empty = false
    },
    has: (name) => values.has(name),
    scrub,
    scrubValue: (value) => scrubWithin(value, scrub, new Map(), 0),
    holds(value) {
      return values.size > 0 && someTextIn(value, (text) => scrub(text) !== text)
    },
    scrubJson: (value) => (values.size === 0 ? value : mapJson(value, scrub, base64)),
    tokenise: (value) =>
      values.size === 0 ? value : mapJson(value, (text) => replace(text, reversible), redactedFile),
    scrubBytes: (bytes) => (values.size === 0 ? bytes : scrubBytes(scrub, bytes)),
    scrubBase64: (encoded) => (values.size === 0 ? encoded : base64(encoded)),
    stream: () => scrubStream(scrub, index),
    pieces: (tell) => scrubPieces({ index, scrubJson: (value) => mapJson(value, scrub, base64), tell }),
  }
  return scrubber
}

/** The values to search for. */
interface Findings {
  /** Values that count only where they are the whole text. */
  readonly wholes: ReadonlyMap<string, string>
  readonly index: SecretIndex
}

function findingsOf(values: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>): Findings {
  const wholes = new Map<string, string>()
  for (const [name, of] of values)
    for (const value of of.keys()) if (value.length < shortestPart) wholes.set(value, name)
  return { wholes, index: secretIndex(values) }
}

function scrubWithin(
  value: unknown,
  scrub: (text: string) => string,
  seen: Map<object, unknown>,
  depth: number,
): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = String(value)
    const scrubbed = scrub(text)
    return scrubbed === text ? value : scrubbed
  }
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  if (depth > deepest) return '[too deep]'
  const inner = (item: unknown): unknown => scrubWithin(item, scrub, seen, depth + 1)
  if (Array.isArray(value)) {
    const list: unknown[] = []
    seen.set(value, list)
    for (const item of value) list.push(inner(item))
    return list
  }
  if (value instanceof Uint8Array) return scrubBytes(scrub, value)
  const copy: Record<string, unknown> = {}
  seen.set(value, copy)
  if (value instanceof Map) return [...value].map(inner)
  if (value instanceof Set) return [...value].map(inner)
  if (value instanceof Date || value instanceof URL) return inner(value.toJSON())
  if (value instanceof Error) {
    // Not enumerable, and a common place for secrets.
    for (const key of ['name', 'message', 'stack', 'cause'] as const) {
      if (value[key] !== undefined) copy[key] = inner(value[key])
    }
  }
  for (const [key, field] of Object.entries(value)) {
    Object.defineProperty(copy, scrub(key), {
      value: inner(field),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy
}
