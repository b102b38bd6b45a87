/** Takes known secrets out of what is about to be shown or stored. What a tool receives is never scrubbed. */
export interface Scrubber {
  /** Registers a value under a name; it shows as `⟦secret:NAME⟧` from then on. */
  add(name: string, value: string): void
  /** A text without the values, also where they are written in base64, hexadecimal, percent or JSON escapes. */
  scrub(text: string): string
  /** A copy of any value with every text in it scrubbed: keys, nested fields, messages, stacks and causes of errors. */
  scrubValue(value: unknown): unknown
}

/** Shorter values are part of too many words: they are scrubbed only where they stand alone. */
const shortestPart = 4
const deepest = 100

/**
 * A scrubber by value: what stands where, and under which key, does not matter.
 *
 * @example
 * const scrubber = createScrubber()
 * scrubber.add('API_KEY', 'sk-123456')
 * scrubber.scrub('401 for Bearer sk-123456') // '401 for Bearer ⟦secret:API_KEY⟧'
 */
export function createScrubber(): Scrubber {
  const names = new Map<string, string>()
  const wholes = new Map<string, string>()
  let pattern: RegExp | undefined

  function scrub(text: string): string {
    const name = wholes.get(text)
    if (name !== undefined) return token(name)
    if (names.size === 0) return text
    // Longer writings first: one may begin with another.
    pattern ??= new RegExp(
      [...names.keys()]
        .toSorted((a, b) => b.length - a.length)
        .map(escapePattern)
        .join('|'),
      'giu',
    )
    return text.replace(pattern, (found) => token(names.get(found.toLowerCase()) ?? '?'))
  }

  function scrubWithin(value: unknown, seen: Map<object, unknown>, depth: number): unknown {
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
    const inner = (item: unknown): unknown => scrubWithin(item, seen, depth + 1)
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

  return {
    add(name, value) {
      if (value.length < shortestPart) {
        if (value !== '') wholes.set(value, name)
        return
      }
      for (const writing of writings(value))
        if (!names.has(writing.toLowerCase())) names.set(writing.toLowerCase(), name)
      pattern = undefined
    },
    scrub,
    scrubValue: (value) => scrubWithin(value, new Map(), 0),
  }
}

function token(name: string): string {
  return `⟦secret:${name}⟧`
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}

/** The ways in which a value is commonly written. */
function writings(value: string): ReadonlySet<string> {
  const bytes = new TextEncoder().encode(value)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const escaped = JSON.stringify(value).slice(1, -1)
  const all = new Set([value, escaped, JSON.stringify(escaped).slice(1, -1), hex])
  const wellFormed = value.toWellFormed()
  all
    .add(encodeURIComponent(wellFormed))
    .add(encodeURI(wellFormed))
    .add(new URLSearchParams([['', value]]).toString().slice(1))
  all.add(value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'))
  for (const part of base64Parts(bytes)) all.add(part).add(part.replaceAll('+', '-').replaceAll('/', '_'))
  return all
}

/** What base64 makes of bytes behind none, one or two others: the characters that only they decide. */
function base64Parts(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const text = btoa('\0'.repeat(shift) + String.fromCharCode(...bytes))
    const part = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
    return part.length >= 2 * shortestPart ? [part] : []
  })
}
