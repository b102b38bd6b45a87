import { ProvostError } from './error.ts'
import { isRecord } from './json.ts'
import { checkOptions } from './known-options.ts'
import type { KnownKeys } from './known-options.ts'

/** Whether content may influence what an agent does. */
export type Integrity = 'trusted' | 'untrusted'
/** How widely content may be disclosed, from all readers (`public`) to no outside party (`secret`). */
export type Confidentiality = 'public' | 'internal' | 'secret'

/** Where data comes from and who may see it. Travels with the data through everything a run does. */
export interface Label {
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  /** Absent: all readers that the confidentiality allows. */
  readonly readers?: readonly string[]
  /** The origins of the content, sorted; more than 32 sources become `['*']`. */
  readonly sources: readonly string[]
}

/** A label as users write it; missing fields get the default of the place. */
export type LabelInit = Partial<Label>

/** How many sources a label names before it becomes `*`. */
export const maxSources = 32

/** From the least confidential to the most. */
export const confidentialities: readonly Confidentiality[] = ['public', 'internal', 'secret']

/** The label of content from a human or from the application's own source. */
export const trustedLabel: Label = Object.freeze({
  integrity: 'trusted',
  confidentiality: 'internal',
  sources: Object.freeze([]),
})

/** Returns the label of outside content without a label: it fails closed. */
export function untrustedLabel(source: string): Label {
  return { integrity: 'untrusted', confidentiality: 'internal', sources: [source] }
}

/** The identity of {@link joinLabels}: trusted, public, from nowhere. */
const bottom: Label = Object.freeze({ integrity: 'trusted', confidentiality: 'public', sources: Object.freeze([]) })

/**
 * Returns the label of content made from all of these: untrusted wins, the more confidential wins, readers intersect,
 * sources unite. A semilattice: order, grouping and repetition do not matter. No labels give trusted and public.
 *
 * @example
 * joinLabels(untrustedLabel('mail'), trustedLabel).integrity // 'untrusted'
 */
export function joinLabels(...labels: readonly Label[]): Label {
  let joined = bottom
  for (const label of labels) {
    joined = joined === bottom && isCanonical(label) ? label : joinTwo(joined, label)
  }
  return joined
}

function joinTwo(a: Label, b: Label): Label {
  // Most joins add nothing: the same object is returned, and long histories share one label.
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

/** Returns whether joining `b` to `a` gives `a`. */
function covers(a: Label, b: Label): boolean {
  return (
    (a.integrity === 'untrusted' || b.integrity === 'trusted') &&
    confidentialities.indexOf(a.confidentiality) >= confidentialities.indexOf(b.confidentiality) &&
    (b.readers === undefined || (a.readers !== undefined && isSubset(a.readers, b.readers))) &&
    isCanonical(a) &&
    (b.sources.length === 0 || a.sources[0] === '*' || isSubset(b.sources, a.sources))
  )
}

/** Whether the lists of a label are as a join writes them. Those of labels that users wrote may not be. */
function isCanonical(label: Label): boolean {
  // Nearly all labels have nothing to sort.
  if (label.readers === undefined && label.sources.length < 2) return true
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
  return confidentialities.indexOf(a) >= confidentialities.indexOf(b) ? a : b
}

function isSubset(a: readonly string[], b: readonly string[]): boolean {
  const isIn = memberOf(b)
  for (const item of a) if (!isIn(item)) return false
  return true
}

/** A label from outside may name any number of readers. */
function memberOf(list: readonly string[]): (item: string) => boolean {
  if (list.length <= maxSources) return (item) => list.includes(item)
  const all = new Set(list)
  return (item) => all.has(item)
}

function intersect(a?: readonly string[], b?: readonly string[]): readonly string[] | undefined {
  if (a === undefined || b === undefined) {
    const one = a ?? b
    return one && [...new Set(one)].toSorted()
  }
  return [...new Set(a.filter(memberOf(b)))].toSorted()
}

function unite(a: readonly string[], b: readonly string[]): readonly string[] {
  const all = new Set([...a, ...b])
  if (all.has('*') || all.size > maxSources) return ['*']
  return [...all].toSorted()
}

/**
 * Returns a complete label from a partial one. It fails closed: an invalid value becomes the strictest one, and an unknown
 * key makes the whole label the strictest.
 *
 * @param defaults values for the fields that `init` omits or leaves undefined.
 */
export function fillLabel(init: LabelInit | undefined, defaults: Label): Label {
  if (!init) return defaults
  if (init === trustedLabel && defaults.readers === undefined) return trustedLabel
  // A misspelt word may have been meant to keep a secret.
  if (!isRecord(init) || hasUnknownKey(init)) return strictest
  const {
    integrity = defaults.integrity,
    confidentiality = defaults.confidentiality,
    readers = defaults.readers,
    sources = defaults.sources,
  }: LabelInit = init
  if (readers === init.readers && isLabel(init)) return init
  return {
    integrity: integrity === 'trusted' ? integrity : 'untrusted',
    confidentiality: confidentialities.includes(confidentiality) ? confidentiality : 'secret',
    ...(readers !== undefined && { readers: isNames(readers) ? readers : [] }),
    sources: isNames(sources) ? sources : ['*'],
  }
}

function hasUnknownKey(init: LabelInit): boolean {
  for (const key in init) if (!Object.hasOwn(labelKeys, key)) return true
  return false
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
 * Rejects an invalid label in code or configuration. {@link fillLabel} makes the same value the strictest label.
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
      : [`integrity is ${shownValue(integrity)}; give 'trusted' or 'untrusted'`]),
    ...(confidentiality === undefined || levels.includes(confidentiality)
      ? []
      : [`confidentiality is ${shownValue(confidentiality)}; give ${confidentialities.join(', ')}`]),
    ...(readers === undefined || isNames(readers) ? [] : ['readers is not a list of names']),
    ...(sources === undefined || isNames(sources) ? [] : ['sources is not a list of names']),
  ]
  const [fault] = faults
  if (fault === undefined) return
  throw new ProvostError('invalid-label', `The label in ${where} is invalid: ${fault}.`, {
    hint: "Give { integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] }, or a part of it.",
  })
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : typeof value
}

/** Returns whether a label is complete: it is then used as it is, and many messages share one. */
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
