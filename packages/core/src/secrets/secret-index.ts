import { shortestPart } from './secret-encodings.ts'
import { redactedToken, secretToken } from './secret.ts'

/** A span of a text that is a writing of a secret. */
export interface SecretSpan {
  readonly start: number
  readonly end: number
  readonly name: string
}

/** Finds all writings of many secrets in one pass over a text, case-insensitively. */
export interface SecretIndex {
  /** Characters of the longest writing. */
  readonly longest: number
  /** Returns all occurrences, including overlapping ones; none within the tokens of known secrets. */
  find(text: string): readonly SecretSpan[]
  /** Returns where the first writing begins that may continue after the text; the length of the text if none does. */
  begunFrom(text: string): number
}

/** How many code units are hashed together. */
const block = 3
/** The modulus of hashes. */
const slots = 1 << 16

interface Writing {
  /** In folded case. */
  readonly text: string
  readonly name: string
}

/**
 * Returns an index that skips ahead by the Wu-Manber algorithm. The window is as long as the shortest writing; its last
 * three code units determine how far the next match may be.
 *
 * @param values by name, each with its writings.
 */
export function secretIndex(
  values: Iterable<readonly [name: string, values: ReadonlyMap<string, readonly string[]>]>,
): SecretIndex {
  const known = new Map<string, Writing>()
  const tokens: string[] = []
  for (const [name, of] of values) {
    tokens.push(fold(secretToken(name)), fold(redactedToken(name)))
    for (const written of of.values()) {
      for (const one of written) {
        const text = fold(one)
        if (!known.has(text)) known.set(text, { text, name })
      }
    }
  }
  const writings = [...known.values()]
  let longest = 0
  let window = Number.POSITIVE_INFINITY
  for (const { text } of writings) {
    longest = Math.max(longest, text.length)
    window = Math.min(window, text.length)
  }
  const skips = new Uint8Array(slots).fill(Math.min(255, window - block + 1))
  const byEnd = new Map<number, Writing[]>()
  for (const writing of writings) {
    for (let end = block; end <= window; end++) {
      const hash = hashUpTo(writing.text, end)
      skips[hash] = Math.min(skips[hash] ?? 0, window - end)
    }
    listed(byEnd, hashUpTo(writing.text, window), writing)
  }
  let begun: SecretPrefixes | undefined

  return {
    longest,
    find(text) {
      if (longest === 0) return []
      const found: SecretSpan[] = []
      const folded = fold(text)
      for (let end = window; end <= folded.length;) {
        const hash = hashUpTo(folded, end)
        const skip = skips[hash] ?? 1
        if (skip === 0) {
          const start = end - window
          for (const { text: writing, name } of byEnd.get(hash) ?? [])
            if (folded.startsWith(writing, start)) found.push({ start, end: start + writing.length, name })
        }
        end += skip === 0 ? 1 : skip
      }
      return found.length > 0 && folded.includes('⟦') ? outsideTokens(found, folded, tokens) : found
    },
    begunFrom(text) {
      begun ??= beginningsOf(writings)
      const { short, byStart } = begun
      const offset = Math.max(0, text.length - longest + 1)
      const tail = fold(text.slice(offset))
      for (let from = 0; from < tail.length; from++) {
        const length = tail.length - from
        if (length < shortestPart) {
          if (short.has(tail.slice(from))) return offset + from
          continue
        }
        const same = byStart.get(hashUpTo(tail, from + block))
        if (!same) continue
        const rest = tail.slice(from)
        if (same.some(({ text: writing }) => writing.length > length && writing.startsWith(rest))) return offset + from
      }
      return text.length
    },
  }
}

/** The prefixes that a text may end with. */
interface SecretPrefixes {
  readonly short: ReadonlySet<string>
  readonly byStart: ReadonlyMap<number, readonly Writing[]>
}

/** Built on first use, because only streams need them. */
function beginningsOf(writings: readonly Writing[]): SecretPrefixes {
  const short = new Set<string>()
  const byStart = new Map<number, Writing[]>()
  for (const writing of writings) {
    for (let length = 1; length < shortestPart; length++) short.add(writing.text.slice(0, length))
    listed(byStart, hashUpTo(writing.text, block), writing)
  }
  return { short, byStart }
}

function listed(lists: Map<number, Writing[]>, hash: number, writing: Writing): void {
  const list = lists.get(hash)
  if (list) list.push(writing)
  else lists.set(hash, [writing])
}

/** Tokens of earlier scrubbing are skipped, whatever the value of a secret is. */
function outsideTokens(found: readonly SecretSpan[], folded: string, tokens: readonly string[]): readonly SecretSpan[] {
  const own: (readonly [start: number, end: number])[] = []
  for (let at = folded.indexOf('⟦'); at >= 0; at = folded.indexOf('⟦', at + 1)) {
    const token = tokens.find((one) => folded.startsWith(one, at))
    if (token !== undefined) own.push([at, at + token.length])
  }
  // Both are in order.
  let next = 0
  return found.filter(({ start, end }) => {
    while ((own[next]?.[1] ?? Number.POSITIVE_INFINITY) <= start) next++
    const token = own[next]
    return !token || start < token[0] || end > token[1]
  })
}

/** Returns the hash of the code units before a place. */
function hashUpTo(text: string, end: number): number {
  return ((text.charCodeAt(end - 3) << 10) ^ (text.charCodeAt(end - 2) << 5) ^ text.charCodeAt(end - 1)) & (slots - 1)
}

/** Folds case and keeps the length: a dotted capital I would become two characters, and a sigma depends on its place. */
function fold(text: string): string {
  const lower = (text.includes('İ') ? text.replaceAll('İ', 'i') : text).toLowerCase()
  return lower.includes('ς') ? lower.replaceAll('ς', 'σ') : lower
}
