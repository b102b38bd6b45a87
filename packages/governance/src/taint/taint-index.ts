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

/** Finds texts that were tracked in the arguments of calls, also where they were rewritten. */
export interface TaintIndex {
  /** Tracks a text. Adding it again costs no memory. */
  add(text: string, from: { source: string; label: Label }): void
  /** What stands in this text as a whole is no hit: the user's own words, trusted data. Several texts are not joined. */
  exempt(text: string): void
  /** Registers a value that is found at any length: a key, a password. Below 4 letters and digits only as a whole value. */
  secret(value: string, from: { source: string; label: Label }): void
  /**
   * The spans in all values of the arguments, in their order; at most 1,000.
   *
   * @throws ProvostError `unreadable-arguments` for arguments that are cyclic or have more than a million values.
   */
  check(args: unknown): readonly TaintHit[]
  /** The same in steps, for `HookContext.inTurns`: long texts do not hold up the process. */
  readonly inSteps: {
    add(text: string, from: { source: string; label: Label }): Steps<void>
    exempt(text: string): Steps<void>
    check(args: unknown): Steps<readonly TaintHit[]>
  }
  /** What it holds. */
  readonly stats: TaintStats
}

/** What a taint index holds. */
export interface TaintStats {
  /** Letters and digits tracked. */
  readonly characters: number
  /** A text found no room: from then on every argument that is long enough is a hit. */
  readonly full: boolean
  /** Bytes that the index occupies, without the text itself. */
  readonly indexBytes: number
  /** Bytes of the kept text. */
  readonly textBytes: number
}

/** What a {@link createTaintIndex} counts as a span, and how much it holds. */
export interface TaintIndexOptions {
  /** The shortest span that counts, in letters and digits: 20 unless given, at least 12. */
  readonly minSpan?: number
  /** How many letters and digits are tracked: all there is room for, which is 16 million, unless given. */
  readonly capacity?: number
}

interface Origin {
  readonly source: string
  readonly label: Label
}

/** Text to look at: the arguments, or what was decoded from them. */
interface Layer {
  readonly text: string
  readonly stretches: readonly number[]
  readonly as?: TaintEncoding
  /** Its letters were looked at elsewhere: what counts is what is encoded in it. */
  readonly isKnown?: true
  placeOf(index: number): number
}

const shortestSpan = 12
const mostGroups = 16
/** Canonical texts of arguments, one for each depth of encodings: made once, used for one check after the other. */
const spareCanonicals: Canonical[][] = []
/** Room for longer ones is given back. */
const mostScratch = 1 << 18
/** Encodings in one another that are undone. */
const deepest = 3
/** Decoded characters for each one of the arguments; an argument that would need more counts as found. */
const mostDecoded = 16

const optionKeys = {
  minSpan: true,
  capacity: true,
} satisfies KnownKeys<TaintIndexOptions>

/**
 * An index of texts that must not go where the arguments of a call would take them. Finds spans that are verbatim or
 * nearly so: case, white space, punctuation, Unicode forms, lookalikes and invisible characters, escapes of JSON, HTML
 * and URLs, base64 and hexadecimal, reversal and rot13, and spans split over several values. Adding costs time
 * proportional to the text, checking time proportional to the arguments, however much was added.
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
    throw new ProvostError('invalid-taint-index', `minSpan is ${minSpan}.`, {
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

  /** Copies under one label never stand for those under another. With very many labels the last group takes the rest. */
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
    // Too short for a span of its own, long enough to be told from a word.
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

    /** Looks through a layer and what is below; whether it was ASCII. */
    function* examine(layer: Layer, depth: number): Steps<boolean> {
      const canonical = (canonicals[depth] ??= emptyCanonical())
      canonical.length = 0
      const notes: Notes = { escapes: [], slices: [], isAscii: true }
      for (let n = 0; n < layer.stretches.length; n += 2) {
        if (n > 0) appendBreak(canonical)
        appendCanonical(canonical, layer.text, notes, layer.stretches[n], layer.stretches[n + 1])
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
        found.push(foundAt(layer, from, stretch, origin))
      }
      if (!layer.isKnown && !secrets.empty) {
        yield* secrets.find(canonical, (start, end, origin) => {
          found.push(foundAt(layer, from, { start, end, reading: 'forward', sameCase: true }, origin))
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
          const { text, stretches: parts } = decoded
          const placeOf = (index: number): number => layer.placeOf(decoded.placeOf(index))
          yield* examine({ text, stretches: parts, as: layer.as ?? decoded.as, placeOf }, depth + 1)
        }
      }
      const unescaped = notes.escapes.length > 0 ? decodeEscapes(layer.text, notes.escapes) : undefined
      if (unescaped) into(unescaped)
      if (below.length > 0) yield* lookBelow()
      const tokens = tokensIn(layer.text, layer.stretches)
      for (let n = 0; n < tokens.length; n = decodeTokens(layer.text, tokens, n, shortestSpan, into))
        if (below.length > 0) yield* lookBelow()
      if (below.length > 0) yield* lookBelow()
      decodeSpacedHex(layer.text, pairsIn(layer.text, layer.stretches), shortestSpan, into)
      if (below.length > 0) yield* lookBelow()
      return notes.isAscii
    }

    const whole = { text: joined.text, stretches: [0, joined.text.length], placeOf: (index: number) => index }
    const isAscii = yield* examine(whole, 0)
    const bare = isAscii ? undefined : unveiled(joined.text)
    if (bare) yield* examine({ ...bare, stretches: [0, bare.text.length], isKnown: true }, 1)
    for (const canonical of canonicals) if (canonical.bytes.length > mostScratch) canonical.bytes = new Uint8Array(512)
    if (spareCanonicals.length < 2) spareCanonicals.push(canonicals)
    const hits = hitsOf(found, joined, minSpan)
    if (isLong) yield
    for (const one of joined.values) {
      const { start, end } = one
      if (end - start > longestTiny) continue
      const origin = secrets.whole(joined.text.slice(start, end))
      // Its path is found only where it is wanted.
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
      // A word that begins alike is no part of what was copied.
      const whole = wholeWords(text, from, stretch)
      if (whole.end - whole.start >= shortestSpan && exempted.contains(sourceBytes(canonical, whole))) return true
    }
    const isSecret = origins[stretch.origin]?.label.confidentiality === 'secret'
    return !isSecret && isCommonProse(text, from, canonical, stretch, all, at)
  }

  /** What could not be looked through is taken for tracked, value by value. */
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

/** A secret text of fewer letters and digits is found only if it was registered as a value. */
const shortestSecretText = 8
/** Longer values are no very short secret. */
const longestTiny = 32
const unreadLabel: Label = { integrity: 'untrusted', confidentiality: 'secret', readers: [], sources: ['*'] }

function foundAt(
  { text, as, placeOf }: Layer,
  from: Places,
  { start, end, reading, sameCase }: Pick<Span, 'start' | 'end' | 'reading' | 'sameCase'>,
  origin: Origin,
): Found {
  const first = from(start)
  const last = from(end - 1) + 1
  const asWritten = sameCase && isPlain(text, first, last, end - start) ? 'verbatim' : 'normalised'
  const view = as ?? (reading === 'forward' ? asWritten : readingViews[reading])
  return { start: placeOf(first), end: placeOf(last), length: end - start, view, origin }
}

const readingViews: Readonly<Record<Exclude<Reading, 'forward'>, TaintEncoding>> = {
  reversed: 'reversed',
  rot13: 'rot13',
  'reversed-rot13': 'rot13',
}

/** Whether a stretch is written as people write: not spaced out, and with nothing that looks like something else. */
function isPlain(text: string, start: number, end: number, length: number): boolean {
  if (length < (end - start) * 0.6) return false
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // Invisible characters, lookalikes, width and style variants: what is left of the script is not what it seems.
    if (unit < 0xc0 || (unit >= 0x200b && unit < 0x2070) || unit >= 0xd800) return false
  }
  return true
}
