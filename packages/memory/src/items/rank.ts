import type { Timestamp } from '@provost/core'

import type { MemoryReason } from './item.ts'
import type { Candidate, MemoryStore, NearestItem, Postings, Shelf } from './memory-store.ts'

/** Weights of an item's surroundings, relative to its own words. */
export interface RankWeights {
  /** The previous turn; the one before it has the square of the weight. Default 0.6. */
  readonly previous?: number
  /** The next turn; the one after it has the square of the weight. Default 0.3. */
  readonly next?: number
  /** The best turns of its session. Default 0.5. */
  readonly session?: number
  /** The similarity of embeddings, from 0 to 1. Default 0.3. Words have the rest. */
  readonly similarity?: number
}

/** An item with its score and the reasons for it. */
export interface Ranked {
  readonly item: Candidate
  readonly score: number
  readonly why: MemoryReason
}

/** Items of the most frequent word that still selects candidates, while rarer words exist. */
const mostPostings = 200
const mostCandidates = 48
const k1 = 1.2
const b = 0.75
/** Turns on each side of a turn whose words count for it. */
const reach = 2

/**
 * Returns the items of some shelves that match these terms best. Rare words select candidates, which are scored with all
 * words. A turn is rarely understood without those around it: the words of neighbouring turns count for it, by weight, as
 * fields of one document (BM25F, Robertson, Zaragoza and Taylor 2004). Each turn also gets a share of its session's score.
 */
export async function rank(
  store: MemoryStore,
  shelves: readonly Shelf[],
  terms: readonly string[],
  weights: RankWeights = {},
  extra: readonly NearestItem[] = [],
  at?: Timestamp,
): Promise<readonly Ranked[]> {
  const numbers = shelves.map(({ no }) => no)
  const total = shelves.reduce((sum, { items }) => sum + items, 0)
  const average = shelves.reduce((sum, { terms: count }) => sum + count, 0) / Math.max(1, total)
  const postings =
    terms.length > 0
      ? await store.postings(
          numbers,
          terms.map((term) => [term]),
          mostPostings,
          at,
        )
      : []
  const idf = new Map(terms.map((term, i) => [term, idfOf(postings[i], total)]))
  const chosen = await candidates(store, numbers, terms, postings, idf, at)
  const similar = new Map(extra.map(({ no, similarity }) => [no, similarity]))
  const found = await store.candidates([...new Set([...chosen, ...similar.keys()])], numbers, reach)
  const scopes = new Map(shelves.map(({ no, scope }) => [no, scope]))
  // A session may be remembered in several scopes, each of which numbers the turns separately.
  const place = ({ shelf, sessionId }: Candidate): string => `${scopes.get(shelf)}\0${sessionId}`
  return weigh(found, idf, average, place, weights, similar)
}

/** Returns the inverse document frequency of a word. For a very frequent word, the newest items give an estimate. */
function idfOf(found: Postings | undefined, total: number): number {
  if (!found) return 0
  const [newest = 1] = found.nos
  const oldest = found.nos.at(-1) ?? newest
  const frequency = found.all
    ? found.nos.length
    : Math.min(total, Math.max(found.nos.length, (total * found.nos.length) / Math.max(total, newest - oldest)))
  return Math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
}

async function candidates(
  store: MemoryStore,
  shelves: readonly number[],
  terms: readonly string[],
  postings: readonly Postings[],
  idf: ReadonlyMap<string, number>,
  at: Timestamp | undefined,
): Promise<readonly number[]> {
  const sums = new Map<number, number>()
  const add = (nos: readonly number[], weight: number): void => {
    for (const no of nos) sums.set(no, (sums.get(no) ?? 0) + weight)
  }
  const frequent: string[] = []
  for (const [i, term] of terms.entries()) {
    const found = postings[i]
    if (!found) continue
    if (!found.all) frequent.push(term)
    add(found.nos, idf.get(term) ?? 0)
  }
  const [first, second] = frequent.toSorted((x, y) => (idf.get(y) ?? 0) - (idf.get(x) ?? 0))
  if (first !== undefined && second !== undefined && frequent.length === terms.length) {
    // All words are frequent: select items of any age with the two rarest words.
    const [both] = await store.postings(shelves, [[first, second]], mostPostings, at)
    if (both) add(both.nos, (idf.get(first) ?? 0) + (idf.get(second) ?? 0))
  }
  return highest(sums, mostCandidates)
}

/** Returns the items with the highest sums, newest first among equals, without sorting all of them. */
function highest(sums: ReadonlyMap<number, number>, most: number): readonly number[] {
  const top: { readonly no: number; readonly sum: number }[] = []
  for (const [no, sum] of sums) {
    let at = top.length
    for (; at > 0; at--) {
      const { no: other = 0, sum: higher = 0 } = top[at - 1] ?? {}
      if (higher > sum || (higher === sum && other > no)) break
    }
    if (at >= most) continue
    top.splice(at, 0, { no, sum })
    if (top.length > most) top.pop()
  }
  return top.map(({ no }) => no)
}

/** The words of the query in one item. */
interface Matches {
  /** How often the item contains each word, in the order of the query. */
  readonly counts: readonly number[]
  /** Words of the item, with repetitions. */
  readonly length: number
}

function matchesOf({ terms: text }: Candidate, idf: ReadonlyMap<string, number>): Matches {
  const padded = ` ${text} `
  return { counts: Array.from(idf.keys(), (term) => countOf(padded, ` ${term} `)), length: lengthOf(text) }
}

/** How often a term stands in a text of terms; both begin and end with a space. */
function countOf(text: string, term: string): number {
  let count = 0
  for (let at = text.indexOf(term); at !== -1; at = text.indexOf(term, at + term.length - 1)) count++
  return count
}

function lengthOf(terms: string): number {
  let count = 1
  for (let at = 0; at < terms.length; at++) if (terms.charCodeAt(at) === 32) count++
  return count
}

function weigh(
  items: readonly Candidate[],
  idf: ReadonlyMap<string, number>,
  average: number,
  place: (item: Candidate) => string,
  weights: RankWeights,
  similar: ReadonlyMap<number, number>,
): readonly Ranked[] {
  const { previous = 0.6, next = 0.3, session = 0.5, similarity: share = 0.3 } = weights
  const terms = [...idf]
  /** The turns of each session that were fetched. */
  const talks = new Map<string, Map<number, Matches>>()
  const matched = items.map((item) => {
    const matches = matchesOf(item, idf)
    const { sessionId, turn } = item
    if (sessionId === undefined || turn === undefined) return { item, matches }
    const id = place(item)
    let talk = talks.get(id)
    if (!talk) talks.set(id, (talk = new Map()))
    talk.set(turn, matches)
    return { item, matches, talk }
  })
  const scored = matched.map(({ item, matches, talk }) => {
    const around = talk ? turnsAround(talk, item.turn ?? 0, previous, next) : []
    const length = around.reduce((sum, [other]) => sum + other.length, matches.length)
    const relative = average > 0 ? length / (average * (talk ? 2 * reach + 1 : 1)) : 1
    return { item, talk, ...scoreOf(matches, around, terms, k1 * (1 - b + b * relative)) }
  })
  const priors = new Map(
    [...Map.groupBy(scored, ({ talk }) => talk)].map(([talk, turns]) => [
      talk,
      talk ? session * priorOf(turns.map(({ own, near }) => own + near)) : 0,
    ]),
  )
  const weighed = scored.map(({ item, talk, words, own, near }) => {
    const prior = priors.get(talk) ?? 0
    return { item, words, own, near, prior, lexical: own + near + prior }
  })
  const most = weighed.reduce((top, { lexical }) => Math.max(top, lexical), 0)
  const fused = (lexical: number, alike: number): number =>
    similar.size === 0 ? lexical : (1 - share) * (most > 0 ? lexical / most : 0) + share * Math.max(0, alike)
  return weighed
    .map(({ item, words, own, near, prior, lexical }): Ranked => {
      const alike = similar.get(item.no)
      const why = { words, own, neighbours: near, session: prior, ...(alike !== undefined && { similarity: alike }) }
      return { item, score: fused(lexical, alike ?? 0), why }
    })
    .filter(({ score: one, why }) => one > 0 && (why.own > 0 || why.neighbours > 0 || why.similarity !== undefined))
    .toSorted((x, y) => y.score - x.score || y.item.no - x.item.no)
}

/** A neighbouring turn and its weight. */
type Around = readonly [matches: Matches, weight: number]

function turnsAround(
  talk: ReadonlyMap<number, Matches>,
  turn: number,
  previous: number,
  next: number,
): readonly Around[] {
  const around: Around[] = []
  for (let distance = 1; distance <= reach; distance++) {
    const [before, after] = [talk.get(turn - distance), talk.get(turn + distance)]
    if (before && previous > 0) around.push([before, previous ** distance])
    if (after && next > 0) around.push([after, next ** distance])
  }
  return around
}

/** Returns what the own words of an item score, and what its neighbours add. */
function scoreOf(
  { counts }: Matches,
  around: readonly Around[],
  terms: readonly (readonly [term: string, idf: number])[],
  norm: number,
): { readonly words: readonly string[]; readonly own: number; readonly near: number } {
  const words: string[] = []
  let [own, near] = [0, 0]
  for (const [i, [term, idf]] of terms.entries()) {
    const count = counts[i] ?? 0
    let all = count
    for (const [other, weight] of around) all += weight * (other.counts[i] ?? 0)
    if (all === 0) continue
    if (count > 0) words.push(term)
    const alone = idf * saturated(count, norm)
    own += alone
    near += idf * saturated(all, norm) - alone
  }
  return { words, own, near }
}

function saturated(count: number, norm: number): number {
  return (count * (k1 + 1)) / (count + norm)
}

/** How well a session answers: the mean of its three best turns. */
function priorOf(scores: readonly number[]): number {
  const best = scores.toSorted((x, y) => y - x).slice(0, 3)
  return best.reduce((sum, one) => sum + one, 0) / 3
}
