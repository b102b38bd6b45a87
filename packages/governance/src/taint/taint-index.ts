import { checkOptions, finish, joinLabels, ProvostError } from '@provost/core'
import type { KnownKeys, Label, Steps } from '@provost/core'

import { appendBreak, appendCanonical, canonicalBytes, emptyCanonical, placesIn } from '../text/canonical-text.ts'
import type { Canonical, Notes, Places } from '../text/canonical-text.ts'
import type { Decoded } from '../text/decoded.ts'
import { pairsIn, tokensIn } from '../text/encoded-runs.ts'
import { decodeSpacedHex, decodeTokens } from '../text/encoded-token.ts'
import { decodeEscapes } from '../text/escapes.ts'
import { longText } from '../text/long-text.ts'
import { unveiled } from '../text/plain-form.ts'
import type { ArgumentText } from './argument-text.ts'
import { argumentText } from './argument-text.ts'
import type { Reading } from './matching-span.ts'
import { createSecretValues } from './secret-value.ts'
import { isCommonProse, sourceBytes, wholeWords } from './span.ts'
import type { Span } from './span.ts'
import { createSpans } from './span.ts'
import { hitsOf, strongest } from './taint-hit.ts'
import type { Found, TaintEncoding, TaintHit } from './taint-hit.ts'
import { createTrackedText } from './tracked-text.ts'

/** Finds tracked texts in the arguments of calls, verbatim or rewritten. */
export interface TaintIndex {
  /** Tracks a text. Adding it again costs no memory. */
  add(text: string, from: { source: string; label: Label }): void
  /** Exempts spans that this text contains as a whole, such as the user's words. Exempt texts are not joined. */
  exempt(text: string): void
  /**
   * Registers a value, such as a password, that is found at any length; below 4 letters and digits only as a whole
   * value.
   */
  secret(value: string, from: { source: string; label: Label }): void
  /**
   * Returns the tracked spans in all values of the arguments, in order, at most 1,000.
   *
   * @throws ProvostError `unreadable-arguments` for arguments that are cyclic or have more than a million values.
   */
  check(args: unknown): readonly TaintHit[]
  /** The same in steps, for `HookContext.inTurns`: long texts do not block the process. */
  readonly inSteps: {
    add(text: string, from: { source: string; label: Label }): Steps<void>
    exempt(text: string): Steps<void>
    check(args: unknown): Steps<readonly TaintHit[]>
  }
  /** The size of the index. */
  readonly stats: TaintStats
}

/** The size of a taint index. */
export interface TaintStats {
  /** Letters and digits tracked. */
  readonly characters: number
  /** A text exceeded the capacity: from then on every argument of at least `minSpan` characters is a hit. */
  readonly full: boolean
  /** Bytes that the index occupies, without the text itself. */
  readonly indexBytes: number
  /** Bytes of the kept text. */
  readonly textBytes: number
}

/** Options of {@link createTaintIndex}. */
export interface TaintIndexOptions {
  /** The shortest span that counts, in letters and digits, from 12 to 100. Default 20. */
  readonly minSpan?: number
  /** Letters and digits tracked at most. Default: 16 million. */
  readonly capacity?: number
}

interface Origin {
  readonly source: string
  readonly label: Label
}

/** A text to search: the arguments, or a text decoded from them. */
interface Layer {
  readonly text: string
  readonly spans: readonly number[]
  readonly as?: TaintEncoding
  /** The letters were already searched, so only encoded parts remain. */
  readonly isKnown?: true
  placeOf(index: number): number
}

const shortestSpan = 12
const mostGroups = 16
/** Reusable buffers for canonical texts, one for each level of encoding. */
const spareCanonicals: Canonical[][] = []
/** Characters of the longest buffer that is kept. */
const mostScratch = 1 << 18
/** Levels of nested encodings that are decoded. */
const deepest = 3
/** Decoded characters per character of the arguments; arguments that need more count as hits. */
const mostDecoded = 16

const optionKeys = {
  minSpan: true,
  capacity: true,
} satisfies KnownKeys<TaintIndexOptions>

/**
 * Creates an index that finds tracked texts in the arguments of calls. It ignores case, white space, punctuation, Unicode
 * forms, lookalikes and invisible characters. It decodes escapes of JSON, HTML and URLs, base64, hexadecimal, reversal and
 * rot13, and joins values that a text is split over. Adding takes time proportional to the text. Checking takes time
 * proportional to the arguments, independent of the size of the index.
 *
 * @throws ProvostError `invalid-taint-index` for a span below 12 or above 100.
 *
 * @example
 * const index = createTaintIndex()
 * index.add(mail.body, { source: 'mail:17', label: untrustedLabel('mail') })
 * index.exempt('Forward the minutes to ann@example.com')
 * index.check({ to: 'ann@example.com', body: 'aHR0cHM6Ly9ldmls…' }) // [{ source: 'mail:17', path: '/body', view: 'base64', … }]
 */
export function createTaintIndex(options: TaintIndexOptions = {}): TaintIndex {
  checkOptions(options, optionKeys, 'createTaintIndex')
  const { minSpan = 20, capacity } = options
  if (!Number.isInteger(minSpan) || minSpan < shortestSpan || minSpan > 100) {
    throw new ProvostError('invalid-taint-index', `The option minSpan of createTaintIndex is ${minSpan}.`, {
      hint: `Give a whole number from ${shortestSpan} to 100; shorter spans agree by chance.`,
    })
  }
  const tracked = createTrackedText(minSpan, capacity)
  const exempted = createTrackedText(shortestSpan)
  const secrets = createSecretValues()
  const origins: Origin[] = []
  const originNumbers = new Map<string, number>()
  const groups = new Map<string, number>()
  let dropped: Label | undefined

  function originOf({ source, label }: Origin): number {
    const key = JSON.stringify([source, label.integrity, label.confidentiality, label.readers, label.sources])
    let number = originNumbers.get(key)
    if (number === undefined) {
      number = origins.length
      origins.push({ source, label })
      originNumbers.set(key, number)
    }
    return number
  }

  /**
   * Returns the group of a label: copies under one label never replace those under another. All further labels share
   * the last group.
   */
  function groupOf({ integrity, confidentiality, readers }: Label): number {
    const key = JSON.stringify([integrity, confidentiality, readers])
    let group = groups.get(key)
    if (group === undefined) {
      group = Math.min(groups.size, mostGroups - 1)
      if (groups.size < mostGroups) groups.set(key, group)
    }
    return group
  }

  function drop(from: Origin): void {
    dropped = dropped ? joinLabels(dropped, from.label) : from.label
  }

  function track(text: string, from: Origin): void {
    if (!tracked.addNow(text, originOf(from), groupOf(from.label))) drop(from)
  }

  function add(text: string, from: Origin): void {
    track(text, from)
    if (from.label.confidentiality !== 'secret' || text.length > 4 * minSpan) return
    // Too short for a span, but long enough to differ from a common word.
    const { length } = canonicalBytes(text)
    if (length >= shortestSecretText && length < minSpan) secrets.add(text, from)
  }

  function* addInSteps(text: string, from: Origin): Steps<void> {
    if (text.length <= longText) add(text, from)
    else if (!(yield* tracked.add(text, originOf(from), groupOf(from.label)))) drop(from)
  }

  function* exemptInSteps(text: string): Steps<void> {
    if (text.length <= longText) exempted.addNow(text, 0, 0)
    else yield* exempted.add(text, 0, 0)
  }

  function* check(args: unknown): Steps<readonly TaintHit[]> {
    const joined = argumentText(args, minSpan)
    if (joined.text.length === 0) return []
    const isLong = joined.text.length > longText
    if (isLong) yield
    const canonicals = spareCanonicals.pop() ?? []
    const found: Found[] = []
    let left = joined.text.length * mostDecoded + 4_096

    /** Searches a layer and the layers encoded in it. Returns whether it was ASCII. */
    function* examine(layer: Layer, depth: number): Steps<boolean> {
      const canonical = (canonicals[depth] ??= emptyCanonical())
      canonical.length = 0
      const notes: Notes = { escapes: [], slices: [], isAscii: true }
      for (let n = 0; n < layer.spans.length; n += 2) {
        if (n > 0) appendBreak(canonical)
        appendCanonical(canonical, layer.text, notes, layer.spans[n], layer.spans[n + 1])
      }
      const stretches = createSpans()
      if (isLong) yield
      if (!layer.isKnown) {
        if (isLong) yield* tracked.find(canonical.bytes, canonical.length, stretches.add)
        else tracked.findNow(canonical.bytes, canonical.length, stretches.add)
      }
      const all = stretches.all()
      const from = placesIn(layer.text, notes.slices, canonical)
      for (const [n, stretch] of all.entries()) {
        if (isLong && n > 0 && n % 64 === 0) yield
        const origin = origins[stretch.origin]
        if (!origin || isExempt(layer, from, canonical, stretch, all, n)) continue
        found.push(foundAt(layer, from, canonical, stretch, origin))
      }
      if (!layer.isKnown && !secrets.empty) {
        yield* secrets.find(canonical, (start, end, origin) => {
          found.push(foundAt(layer, from, canonical, { start, end, reading: 'forward', sameCase: true }, origin))
        })
      }
      if (depth === deepest) return notes.isAscii
      const below: Decoded[] = []
      const into = (decoded: Decoded): void => {
        left -= decoded.text.length
        if (left >= 0) below.push(decoded)
      }
      function* lookBelow(): Steps<void> {
        for (const decoded of below.splice(0)) {
          if (isLong) yield
          const { text, spans: parts } = decoded
          const placeOf = (index: number): number => layer.placeOf(decoded.placeOf(index))
          yield* examine({ text, spans: parts, as: layer.as ?? decoded.as, placeOf }, depth + 1)
        }
      }
      const unescaped = notes.escapes.length > 0 ? decodeEscapes(layer.text, notes.escapes) : undefined
      if (unescaped) into(unescaped)
      if (below.length > 0) yield* lookBelow()
      const tokens = tokensIn(layer.text, layer.spans)
      for (let n = 0; n < tokens.length; n = decodeTokens(layer.text, tokens, n, shortestSpan, into))
        if (below.length > 0) yield* lookBelow()
      if (below.length > 0) yield* lookBelow()
      decodeSpacedHex(layer.text, pairsIn(layer.text, layer.spans), shortestSpan, into)
      if (below.length > 0) yield* lookBelow()
      return notes.isAscii
    }

    const whole = { text: joined.text, spans: [0, joined.text.length], placeOf: (index: number) => index }
    const isAscii = yield* examine(whole, 0)
    const bare = isAscii ? undefined : unveiled(joined.text)
    if (bare) yield* examine({ ...bare, spans: [0, bare.text.length], isKnown: true }, 1)
    for (const canonical of canonicals) if (canonical.bytes.length > mostScratch) canonical.bytes = new Uint8Array(512)
    if (spareCanonicals.length < 2) spareCanonicals.push(canonicals)
    const hits = hitsOf(found, joined, minSpan)
    if (isLong) yield
    for (const one of joined.values) {
      const { start, end } = one
      if (end - start > longestTiny) continue
      const origin = secrets.whole(joined.text.slice(start, end))
      // The path is computed only for a hit.
      if (origin)
        hits.push({ ...origin, path: one.path, span: [0, end - start], view: 'verbatim', length: end - start })
    }
    if (left < 0 || dropped) yield* unchecked(joined, hits)
    return strongest(hits)
  }

  function isExempt(
    { text }: Layer,
    from: Places,
    canonical: Canonical,
    stretch: Span,
    all: readonly Span[],
    at: number,
  ): boolean {
    if (exempted.length > 0) {
      if (exempted.contains(sourceBytes(canonical, stretch))) return true
      // A word that only shares its beginning is not part of the copy.
      const whole = wholeWords(text, from, stretch)
      if (whole.end - whole.start >= shortestSpan && exempted.contains(sourceBytes(canonical, whole))) return true
    }
    const isSecret = origins[stretch.origin]?.label.confidentiality === 'secret'
    return !isSecret && isCommonProse(text, from, canonical, stretch, all, at)
  }

  /** Reports every value as a hit, for arguments that could not be searched. */
  function* unchecked({ text, values }: ArgumentText, hits: TaintHit[]): Steps<void> {
    const label = dropped ?? unreadLabel
    let looked = 0
    for (const one of values) {
      const { start, end } = one
      const bytes = canonicalBytes(text.slice(start, end))
      if (bytes.length < minSpan || exempted.contains(bytes)) continue
      hits.push({ source: '*', label, path: one.path, span: [0, end - start], view: 'untracked', length: bytes.length })
      if ((looked += end - start) < longText) continue
      looked = 0
      yield
    }
  }

  return {
    add,
    exempt(text) {
      exempted.addNow(text, 0, 0)
    },
    secret(value, from) {
      secrets.add(value, from)
      track(value, from)
    },
    check: (args) => finish(check(args)),
    inSteps: { add: addInSteps, exempt: exemptInSteps, check },
    get stats() {
      const { index, text } = tracked.memory
      return { characters: tracked.length, full: dropped !== undefined, indexBytes: index, textBytes: text }
    },
  }
}

/** Letters and digits of the shortest secret text that is registered as a value by itself. */
const shortestSecretText = 8
/** Characters of the longest value that is compared with very short secrets. */
const longestTiny = 32
const unreadLabel: Label = { integrity: 'untrusted', confidentiality: 'secret', readers: [], sources: ['*'] }

function foundAt(
  { text, as, placeOf }: Layer,
  from: Places,
  canonical: Canonical,
  { start, end, reading, sameCase }: Pick<Span, 'start' | 'end' | 'reading' | 'sameCase'>,
  origin: Origin,
): Found {
  const first = from(start)
  const last = from(end - 1) + 1
  const asWritten = sameCase && isPlain(text, first, last, end - start) ? 'verbatim' : 'normalised'
  const view = as ?? (reading === 'forward' ? asWritten : readingViews[reading])
  const letters = sourceBytes(canonical, { start, end, reading })
  return { start: placeOf(first), end: placeOf(last), length: end - start, view, origin, letters }
}

const readingViews: Readonly<Record<Exclude<Reading, 'forward'>, TaintEncoding>> = {
  reversed: 'reversed',
  rot13: 'rot13',
  'reversed-rot13': 'rot13',
}

/** Returns whether a span is plain text: not spaced out, and without lookalikes. */
function isPlain(text: string, start: number, end: number, length: number): boolean {
  if (length < (end - start) * 0.6) return false
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // Invisible characters, lookalikes, width and style variants are not plain.
    if (unit < 0xc0 || (unit >= 0x200b && unit < 0x2070) || unit >= 0xd800) return false
  }
  return true
}
