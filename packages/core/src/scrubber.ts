import type { ScrubStream } from './scrub-stream.ts'
import { scrubStream } from './scrub-stream.ts'
import { shortestPart, writingsOf } from './secret-writing.ts'
import { redactedToken, secretToken } from './secret.ts'
import { someTextIn } from './texts-within.ts'

/** Takes known secrets out of what is about to be shown or stored. What a tool receives is never scrubbed. */
export interface Scrubber {
  /** Registers a value under a name; it shows as `⟦secret:NAME⟧` from then on. Of a name the last 64 values are known. */
  add(name: string, value: string): void
  /** Whether a value is registered under a name. */
  has(name: string): boolean
  /** Nothing is registered: whatever is scrubbed stays as it is. */
  readonly empty: boolean
  /** A text without the values, also where they are written in base64, hexadecimal, percent or JSON escapes. */
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
  /** Bytes that are UTF-8 are scrubbed as text; all others stay as they are. */
  scrubBytes(bytes: Uint8Array): Uint8Array
  /** Scrubs a text that comes in pieces. */
  stream(): ScrubStream
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
  /** By name, oldest first. */
  const values = new Map<string, Set<string>>()
  let found: Findings | undefined

  const known = (): Findings => (found ??= findingsOf(values))
  const shown: TokenOf = (name) => secretToken(name)
  const reversible: TokenOf = (name, text) => (values.get(name)?.has(text) ? secretToken(name) : redactedToken(name))

  function replace(text: string, tokenOf: TokenOf): string {
    if (values.size === 0) return text
    const { wholes, names, pattern } = known()
    const name = wholes.get(text)
    if (name !== undefined) return tokenOf(name, text)
    if (!pattern) return text
    return text.replace(pattern, (match) => {
      if (match.startsWith('⟦')) return match
      return tokenOf(names.get(match.toLowerCase()) ?? 'UNKNOWN', match)
    })
  }

  const scrub = (text: string): string => replace(text, shown)

  return {
    add(name, value) {
      if (value === '') return
      const of = values.get(name) ?? new Set()
      values.set(name, of)
      const [oldest] = of
      if (of.has(value)) return
      if (of.size >= valuesPerName && oldest !== undefined) of.delete(oldest)
      of.add(value)
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
    scrubJson: (value) => (values.size === 0 ? value : mapTexts(value, scrub)),
    tokenise: (value) => (values.size === 0 ? value : mapTexts(value, (text) => replace(text, reversible))),
    scrubBytes(bytes) {
      const text = values.size === 0 ? undefined : textIn(bytes)
      if (text === undefined) return bytes
      const scrubbed = scrub(text)
      return scrubbed === text ? bytes : new TextEncoder().encode(scrubbed)
    },
    stream: () => scrubStream(scrub, () => (values.size === 0 ? [] : known().writings)),
  }
}

/** What is looked for. */
interface Findings {
  /** Values that count only where they are the whole text. */
  readonly wholes: ReadonlyMap<string, string>
  /** By writing, in lower case. */
  readonly names: ReadonlyMap<string, string>
  /** Longer ones first. */
  readonly writings: readonly string[]
  readonly pattern: RegExp | undefined
}

function findingsOf(values: ReadonlyMap<string, ReadonlySet<string>>): Findings {
  const wholes = new Map<string, string>()
  const names = new Map<string, string>()
  for (const [name, of] of values) {
    for (const value of of) {
      if (value.length < shortestPart) wholes.set(value, name)
      else
        for (const writing of writingsOf(value))
          if (!names.has(writing.toLowerCase())) names.set(writing.toLowerCase(), name)
    }
  }
  // One may begin with another.
  const writings = [...names.keys()].toSorted((a, b) => b.length - a.length)
  if (writings.length === 0) return { wholes, names, writings, pattern: undefined }
  // What was scrubbed before is not scrubbed again, whatever the value of a secret may be.
  const own = [...values.keys()].flatMap((name) => [secretToken(name), redactedToken(name)])
  return { wholes, names, writings, pattern: new RegExp([...own, ...writings].map(escapePattern).join('|'), 'giu') }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** JSON with its texts and keys changed; what no change was made in is the same object as before. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts stay texts, and all else keeps its shape
  return mapped(value, change) as T
}

function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value === 'number') {
    // A number that only has the digits of a secret in it is a number.
    const changed = change(String(value))
    return changed.startsWith('⟦') && changed.indexOf('⟧') === changed.length - 1 ? changed : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let list: unknown[] | undefined
    for (const [index, item] of value.entries()) {
      const changed = mapped(item, change)
      if (changed !== item) (list ??= [...value])[index] = changed
    }
    return list ?? value
  }
  let same = true
  const fields: [string, unknown][] = []
  for (const [key, field] of Object.entries(value)) {
    const next: [string, unknown] = [change(key), mapped(field, change)]
    same &&= next[0] === key && next[1] === field
    fields.push(next)
  }
  return same ? value : Object.fromEntries(fields)
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
