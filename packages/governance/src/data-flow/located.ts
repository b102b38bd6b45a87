import type { Steps } from '@provost/core'

import type { Leaf } from '../provenance/leaf.ts'
import { collect, jsonOf } from '../provenance/output-value.ts'
import type { Provenance } from '../provenance/provenance-state.ts'
import { sourcesWithSteps } from '../provenance/source.ts'
import type { Source, SourcePlace } from '../provenance/source.ts'
import { placeOfLetters, placeOfValue } from '../text/letters-place.ts'
import { looseForm } from '../wording/exact-form.ts'

/** The place of a value in something that the session has read. */
export interface Located {
  readonly source: Source & { readonly place: SourcePlace }
  /** The value of the output that contains it; empty for a text. */
  readonly pointer: string
  /** In that value, in UTF-16 code units. */
  readonly start: number
  readonly end: number
}

/** Characters of sources that one search reads: a longer history is searched from its end. */
const mostSearched = 1_000_000

/** Returns the name of a source in hits of the taint index. */
export function nameOf({ label, name }: Source): string {
  return label.sources[0] ?? name
}

type Find = (text: string) => readonly [start: number, end: number] | undefined

/** Finds the letters of a hit in the latest source of this name; without a name, in any source. */
export function* locateLetters(state: Provenance, letters: Uint8Array, name?: string): Steps<Located | undefined> {
  const named = (source: Source): boolean => name === undefined || nameOf(source) === name
  const { sources } = state.untrusted
  let searched = 0
  for (const isNote of [undefined, true] as const) {
    for (let at = sources.length - 1; at >= 0 && searched < mostSearched; at--) {
      const source = sources[at]
      if (!source || source.isNote !== isNote || !named(source)) continue
      searched += source.text.length + 1
      yield
      const found = yield* locateIn(source, (text) => placeOfLetters(text, letters))
      if (found) return found
    }
  }
  return undefined
}

/** Finds a value in a source. */
export function* locateValue(source: Source, value: string): Steps<Located | undefined> {
  return yield* locateIn(source, (text) => placeOfValue(text, value))
}

/** Finds a word of a value in the latest source that has it. */
export function* locateWord({ untrusted }: Provenance, word: string): Steps<Located | undefined> {
  const having = yield* sourcesWithSteps(untrusted, looseForm(word))
  const source = having.findLast(({ isNote }) => !isNote) ?? having.at(-1)
  return source && (yield* locateValue(source, word))
}

/** Returns the place of a whole value of a result. */
export function* locateLeaf({ source, pointer }: Leaf): Steps<Located | undefined> {
  return yield* locateIn(source, (text) => [0, text.length], pointer)
}

function* locateIn(source: Source, find: Find, only?: string): Steps<Located | undefined> {
  const { place } = source
  if (!place) return undefined
  const { content } = place
  const values =
    typeof content === 'string'
      ? [{ pointer: '', value: content }]
      : yield* collect(jsonOf(content), source.label, undefined)
  let read = 0
  for (const { pointer, value } of values) {
    if (only !== undefined && pointer !== only) continue
    if ((read += value.length) > mostSearched) return undefined
    const found = find(value)
    if (found) return { source: { ...source, place }, pointer, start: found[0], end: found[1] }
  }
  return undefined
}
