import { stemmer } from 'stemmer'

/** Stop words, which are not indexed. */
const stopWords: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being both but by can could did do does
  doing done down each few for from further had has have having he her here hers him his how i if in into is it its
  just let like me might more most must my no nor not now of off on once only or other our ours out over own please s
  same shall she should so some such t than that the their theirs them then there these they this those through to too
  under until up us very was we were what when where which while who whom whose why will with would you your yours ll
  re ve d m don didn doesn isn wasn tell`.split(/\s+/),
)

const longestWord = 40
/** In other scripts, whose letters take more room. */
const longestOther = 20
const mostQueryTerms = 24
/** Terms of an item that are indexed at most. */
const mostTerms = 4_096

// These scripts have no spaces between words, so pairs of neighbouring characters are indexed instead.
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}`
/** Matches a run of such a script, as the first group, or another part of a word. */
export const piece: RegExp = new RegExp(`([${unspaced}]+)|[^${unspaced}]+`, 'gu')
export const word: RegExp = /[\p{L}\p{N}]+/gu

/** A cache of stems, which is cleared when it is full. */
const stems = new Map<string, string>()

function stemOf(text: string): string {
  const known = stems.get(text)
  if (known !== undefined) return known
  const stem = /^[a-z]+$/.test(text) ? stemmer(text) : text
  if (stems.size >= 50_000) stems.clear()
  stems.set(text, stem)
  return stem
}

/** Returns a text in lower case, without accents and compatibility forms. */
export function plainOf(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}+/gu, '')
}

function* termsIn(text: string): Generator<string> {
  for (const [found] of plainOf(text).matchAll(word)) {
    if (stopWords.has(found)) continue
    if (!/[^\x20-\x7f]/.test(found)) {
      yield stemOf(found.slice(0, longestWord))
      continue
    }
    for (const [part, run] of found.matchAll(piece)) {
      if (run === undefined) {
        yield encoded(part.slice(0, longestOther))
        continue
      }
      const characters = Array.from(run)
      if (characters.length === 1) yield encoded(run)
      for (let i = 1; i < characters.length; i++) yield encoded(`${characters[i - 1]}${characters[i]}`)
    }
  }
}

/** Returns a term in ASCII, so that every index treats it as one word. */
function encoded(term: string): string {
  if (/^[a-z0-9]+$/.test(term)) return stemOf(term)
  return `u${Buffer.from(term.toWellFormed()).toString('hex')}`
}

/**
 * Returns the stems of a text for an index, in order and with repetitions, without stop words. Stems have letters and
 * digits only, so that they contain no query syntax.
 */
export function termsOf(text: string): readonly string[] {
  const terms: string[] = []
  for (const term of termsIn(text)) {
    if (terms.push(term) >= mostTerms) break
  }
  return terms
}

/** Returns the distinct stems of a query. */
export function queryTerms(query: string): readonly string[] {
  const terms = new Set<string>()
  for (const term of termsIn(query.slice(0, 4_000))) {
    terms.add(term)
    if (terms.size >= mostQueryTerms) break
  }
  return [...terms]
}
