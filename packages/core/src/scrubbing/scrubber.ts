import { secretSpans } from '../secrets/secret-finder.ts'
import type { SecretIndex } from '../secrets/secret-index.ts'
import { secretIndex } from '../secrets/secret-index.ts'
import { shortestPart, writingsOf } from '../secrets/secret-writing.ts'
import { redactedToken, secretToken } from '../secrets/secret.ts'
import { mapJson } from '../text/map-texts.ts'
import { someTextIn } from '../text/texts-within.ts'
import type { Json } from '../values/json.ts'
import { scrubBase64, scrubBytes } from './scrub-bytes.ts'
import type { ScrubPieces } from './scrub-pieces.ts'
import { scrubPieces } from './scrub-pieces.ts'
import type { ScrubStream } from './scrub-stream.ts'
import { scrubStream } from './scrub-stream.ts'

/** Takes known secrets out of what is about to be shown or stored. What a tool receives is never scrubbed. */
export interface Scrubber {
  /** Registers a value under a name; it shows as `⟦secret:NAME⟧` from then on. Of a name the last 64 values are known. */
  add(name: string, value: string): void
  /** Whether a value is registered under a name. */
  has(name: string): boolean
  /** Nothing is registered: whatever is scrubbed stays as it is. */
  readonly empty: boolean
  /**
   * A text without the values, also where they are written in base64, in base64 of that, in hexadecimal, or with escapes
   * of URLs, JSON, JavaScript and HTML, up to five levels of them.
   */
  scrub(text: string): string
  /** A copy of any value with every text in it scrubbed: keys, nested fields, messages, stacks and causes of errors. */
  scrubValue(value: unknown): unknown
  /** Whether any text in a value holds a secret. */
  holds(value: unknown): boolean
  /** The same as {@link scrubValue} for JSON, of which what holds no secret is not copied. */
  scrubJson<T>(value: T): T
  /**
   * For arguments of calls: a value written as it is becomes its token, which the executor turns back. Any other writing
   * becomes `⟦redacted:NAME⟧`, which nobody can turn back: such a call does not run.
   */
  tokenise<T>(value: T): T
  /** Bytes are scrubbed as text in UTF-8 or UTF-16; in all others each byte counts as a character. */
  scrubBytes(bytes: Uint8Array): Uint8Array
  /** The same for bytes in base64; what is no base64 is scrubbed as a text. */
  scrubBase64(encoded: string): string
  /** Scrubs a text that comes in pieces. */
  stream(): ScrubStream
  /** Scrubs JSON that comes in pieces, such as reports of progress: what stands at the same place in two is one text. */
  pieces(tell: (data: Json) => void): ScrubPieces
}

const deepest = 100
const valuesPerName = 64

type TokenOf = (name: string, found: string) => string

/**
 * A scrubber by value: what stands where, and under which key, does not matter.
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
  /** What looks like base64 may be a text. */
  const base64 = (encoded: string): string => {
    const scrubbed = scrubBase64(scrub, encoded)
    return scrubbed === undefined || scrubbed === encoded ? scrub(encoded) : scrubbed
  }
  /** Bytes cannot be turned back: a call with a secret in a file does not run. */
  const redactedFile = (encoded: string): string => {
    let hidden: string | undefined
    scrubBase64((text) => {
      const [first] = secretSpans(known().index, text)
      if (first) hidden = redactedToken(first.name)
      return text
    }, encoded)
    return hidden ?? replace(encoded, reversible)
  }

  return {
    add(name, value) {
      if (value === '') return
      const of = values.get(name) ?? new Map<string, readonly string[]>()
      values.set(name, of)
      const [oldest] = of.keys()
      if (of.has(value)) return
      if (of.size >= valuesPerName && oldest !== undefined) of.delete(oldest)
      of.set(value, writingsOf(value))
      found = undefined
    },
    has: (name) => values.has(name),
    get empty() {
      return values.size === 0
    },
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
}

/** What is looked for. */
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
  const copy: Record<string, unknown> = {}
  seen.set(value, copy)
  if (value instanceof Map) return [...value].map(inner)
  if (value instanceof Set) return [...value].map(inner)
  if (value instanceof Date || value instanceof URL) return inner(value.toJSON())
  if (value instanceof Error) {
    // Not enumerable, and just where secrets end up.
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
