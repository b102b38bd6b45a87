import { ProvostError } from './error.ts'
import { isRecord } from './json.ts'
import { checkOptions } from './known-options.ts'
import type { KnownKeys } from './known-options.ts'

/** Whether content may steer what an agent does. */
export type Integrity = 'trusted' | 'untrusted'
/** Who may learn of content, from everybody to nobody outside. */
export type Confidentiality = 'public' | 'internal' | 'secret'

/** Where data comes from and who may see it. Travels with the data through everything a run does. */
export interface Label {
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  /** Absent: everybody whom the confidentiality allows. */
  readonly readers?: readonly string[]
  /** What it was made from, sorted; over 32 sources become `['*']`. */
  readonly sources: readonly string[]
}

/** A label as users write it; what they leave out is filled from the default of the place. */
export type LabelInit = Partial<Label>

/** How many sources a label names before it says `*`. */
export const maxSources = 32

/** From the least confidential to the most. */
export const confidentialities: readonly Confidentiality[] = ['public', 'internal', 'secret']

/** The label of what a human or our own source wrote. */
export const trustedLabel: Label = Object.freeze({
  integrity: 'trusted',
  confidentiality: 'internal',
  sources: Object.freeze([]),
})

/** The label of what came from outside and says nothing of itself: it fails closed. */
export function untrustedLabel(source: string): Label {
  return { integrity: 'untrusted', confidentiality: 'internal', sources: [source] }
}

/** The identity of {@link joinLabels}: trusted, public, from nowhere. */
const bottom: Label = Object.freeze({ integrity: 'trusted', confidentiality: 'public', sources: Object.freeze([]) })

/**
 * The label of something made from all of these: untrusted wins, the more confidential wins, readers intersect,
 * sources unite. A semilattice: order, grouping and repetition do not matter. No labels give trusted and public.
 *
 * @example
 * joinLabels(untrustedLabel('mail'), trustedLabel).integrity // 'untrusted'
 */
export function joinLabels(...labels: readonly Label[]): Label {
  let joined = bottom
  for (const label of labels) joined = joinTwo(joined, label)
  return joined
}

function joinTwo(a: Label, b: Label): Label {
  // Most joins add nothing new: the same object comes back, and long histories share one label.
  if (a === b || covers(a, b)) return a
  if (covers(b, a)) return b
  const readers = intersect(a.readers, b.readers)
  return {
    integrity: a.integrity === 'untrusted' ? a.integrity : b.integrity,
    confidentiality: moreConfidential(a.confidentiality, b.confidentiality),
    ...(readers && { readers }),
    sources: unite(a.sources, b.sources),
  }
}

/** Whether joining `b` to `a` gives `a`. */
function covers(a: Label, b: Label): boolean {
  return (
    (a.integrity === 'untrusted' || b.integrity === 'trusted') &&
    moreConfidential(a.confidentiality, b.confidentiality) === a.confidentiality &&
    (b.readers === undefined || (a.readers !== undefined && isSubset(a.readers, b.readers))) &&
    isCanonical(a) &&
    (a.sources[0] === '*' || isSubset(b.sources, a.sources))
  )
}

/** Labels that users wrote may be unsorted: joined once, they are sorted for good. */
function isCanonical(label: Label): boolean {
  return (
    label.sources.length <= maxSources &&
    isSorted(label.sources) &&
    (label.sources.length < 2 || !label.sources.includes('*')) &&
    (label.readers === undefined || isSorted(label.readers))
  )
}

function isSorted(list: readonly string[]): boolean {
  for (let i = 1; i < list.length; i++) if ((list[i - 1] ?? '') >= (list[i] ?? '')) return false
  return true
}

function moreConfidential(a: Confidentiality, b: Confidentiality): Confidentiality {
  if (a === b) return a
  return confidentialities.indexOf(a) >= confidentialities.indexOf(b) ? a : b
}

function isSubset(a: readonly string[], b: readonly string[]): boolean {
  for (const item of a) if (!b.includes(item)) return false
  return true
}

function intersect(a?: readonly string[], b?: readonly string[]): readonly string[] | undefined {
  if (a === undefined || b === undefined) {
    const one = a ?? b
    return one && [...new Set(one)].toSorted()
  }
  return [...new Set(a.filter((reader) => b.includes(reader)))].toSorted()
}

function unite(a: readonly string[], b: readonly string[]): readonly string[] {
  const all = new Set([...a, ...b])
  if (all.has('*') || all.size > maxSources) return ['*']
  return [...all].toSorted()
}

/**
 * A whole label from what a user wrote of it. It fails closed: what is not a label's word is taken for the strictest, and
 * a key that labels do not have makes all of it the strictest.
 *
 * @param defaults gives what `init` leaves out, or leaves undefined.
 */
export function fillLabel(init: LabelInit | undefined, defaults: Label): Label {
  if (!init) return defaults
  if (isLabel(init) && (init.readers ?? defaults.readers) === init.readers) return init
  // A misspelt word may have been meant to keep something secret.
  if (Object.keys(init).some((key) => !Object.hasOwn(labelKeys, key))) return strictest
  const { integrity = defaults.integrity, confidentiality = defaults.confidentiality } = init
  const readers = init.readers ?? defaults.readers
  const sources = init.sources ?? defaults.sources
  return {
    integrity: integrity === 'trusted' ? integrity : 'untrusted',
    confidentiality: confidentialities.includes(confidentiality) ? confidentiality : 'secret',
    ...(readers !== undefined && { readers: isNames(readers) ? readers : [] }),
    sources: isNames(sources) ? sources : ['*'],
  }
}

const strictest: Label = Object.freeze({
  integrity: 'untrusted',
  confidentiality: 'secret',
  readers: Object.freeze([]),
  sources: Object.freeze(['*']),
})

const labelKeys = {
  integrity: true,
  confidentiality: true,
  readers: true,
  sources: true,
} satisfies KnownKeys<LabelInit>

/**
 * Refuses what is no label, where an author writes one. {@link fillLabel} takes the same for the strictest label.
 *
 * @param where for the message: `"returns" of tool search`.
 * @throws ProvostError `unknown-option`, `invalid-label`
 */
export function checkLabel(label: unknown, where: string): void {
  if (label === undefined) return
  checkOptions(label, labelKeys, where)
  const { integrity, confidentiality, readers, sources }: Record<string, unknown> = isRecord(label) ? label : {}
  const levels: readonly unknown[] = confidentialities
  const faults = [
    ...(integrity === undefined || integrity === 'trusted' || integrity === 'untrusted'
      ? []
      : [`integrity is ${said(integrity)}; give 'trusted' or 'untrusted'`]),
    ...(confidentiality === undefined || levels.includes(confidentiality)
      ? []
      : [`confidentiality is ${said(confidentiality)}; give ${confidentialities.join(', ')}`]),
    ...(readers === undefined || isNames(readers) ? [] : ['readers is not a list of names']),
    ...(sources === undefined || isNames(sources) ? [] : ['sources is not a list of names']),
  ]
  const [fault] = faults
  if (fault === undefined) return
  throw new ProvostError('invalid-label', `The label in ${where} is invalid: ${fault}.`, {
    hint: "Give { integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] }, or a part of it.",
  })
}

function said(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : typeof value
}

/** Whether nothing is missing from a label: then it is taken as it is, and many messages share one. */
function isLabel(init: LabelInit): init is Label {
  const { integrity, confidentiality, readers, sources } = init
  return (
    (integrity === 'trusted' || integrity === 'untrusted') &&
    confidentiality !== undefined &&
    confidentialities.includes(confidentiality) &&
    (readers === undefined || isNames(readers)) &&
    isNames(sources)
  )
}

function isNames(list: unknown): list is readonly string[] {
  if (!Array.isArray(list)) return false
  for (const item of list) if (typeof item !== 'string') return false
  return true
}
