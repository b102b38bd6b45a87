import { exactForm } from './exact-form.ts'
import { consents, delegations, objects, refusals, verbs } from './lexicon.ts'

/** The meaning of a text: its verbs, its objects, and its words. */
export interface SemanticClasses {
  readonly verbs: ReadonlySet<string>
  readonly objects: ReadonlySet<string>
  readonly words: ReadonlySet<string>
}

/** Stems of one class, sorted by the kind of lookup. */
interface Stems {
  /** Whole words with their meanings. */
  readonly whole: ReadonlyMap<string, readonly string[]>
  /** Prefixes of words, by their first three letters. */
  readonly beginnings: ReadonlyMap<string, readonly (readonly [string, string])[]>
  /** Several words, each found as a whole, or a script without spaces: found anywhere. */
  readonly anywhere: readonly (readonly [readonly string[], string])[]
}

const unspaced = /[\p{Script=Han}\p{Script=Arabic}]/u

function stemsOf(table: Readonly<Record<string, string>>): Stems {
  const whole = new Map<string, string[]>()
  const beginnings = new Map<string, [string, string][]>()
  const anywhere: [string[], string][] = []
  for (const [meaning, list] of Object.entries(table)) {
    for (const raw of list.split(/\s+/u)) {
      const stem = exactForm(raw)
      const inner = stem.replace(/\.$/, '')
      if (unspaced.test(stem) || inner.includes('.')) anywhere.push([inner.split('.'), meaning])
      else if (stem.endsWith('.') || stem.length < 3) push(whole, inner, meaning)
      else push(beginnings, stem.slice(0, 3), [stem, meaning])
    }
  }
  return { whole, beginnings, anywhere }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

const verbStems = stemsOf(verbs)
const objectStems = stemsOf(objects)

/** Characters of a text that are read. Prompts are shorter, and text pasted below one is data. */
const longest = 20_000

/** Returns the meanings of a text's words, as far as the lexicon has them. */
export function semanticClassesOf(text: string): SemanticClasses {
  const form = exactForm(text.slice(0, longest))
  const words = new Set(form.match(/[\p{L}\p{M}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu) ?? [])
  const things = meanings(objectStems, form, words)
  if (mentionsMoney(form)) things.add('money')
  if (saysHour.test(form)) things.add('event')
  return { verbs: meanings(verbStems, form, words), objects: things, words }
}

function meanings(stems: Stems, form: string, words: ReadonlySet<string>): Set<string> {
  const found = new Set<string>()
  for (const word of words) {
    for (const meaning of stems.whole.get(word) ?? []) found.add(meaning)
    for (const [stem, meaning] of stems.beginnings.get(word.slice(0, 3)) ?? [])
      if (word.startsWith(stem)) found.add(meaning)
  }
  for (const [parts, meaning] of stems.anywhere) if (inOrder(form, parts)) found.add(meaning)
  return found
}

/** Signs of money, and the numbers of accounts. */
const saysMoney = /[€$£¥]|(?<![\p{L}\p{N}])[a-z]{2}\d{2}[a-z\d]{11,30}(?![\p{L}\p{N}])/u
/** Returns whether a text has a sign of money, or the number of an account. */
export function mentionsMoney(text: string): boolean {
  return saysMoney.test(text.toLowerCase())
}

/** A time of the day makes it an appointment. */
const saysHour = /(?<!\d)\d{1,2}[:.]\d{2}(?![\d.])|(?<!\d)\d{1,2} ?(?:uhr|o['’]clock|[ap]\.?m\b|点|時|时)/u

function inOrder(form: string, parts: readonly string[]): boolean {
  let at = 0
  for (const part of parts) {
    const found = indexOfPart(form, part, at)
    // The parts of one expression are close to each other.
    if (found < 0 || (at > 0 && found - at > 24)) return false
    at = found + part.length
  }
  return true
}

/** Returns the first place of a text. In a script with spaces it is a word of its own: `rent` is not in `rental`. */
function indexOfPart(form: string, part: string, from: number): number {
  let at = form.indexOf(part, from)
  if (unspaced.test(part)) return at
  while (at >= 0 && (isLetter.test(form[at - 1] ?? '') || isLetter.test(form[at + part.length] ?? '')))
    at = form.indexOf(part, at + 1)
  return at
}

const isLetter = /[\p{L}\p{M}\p{N}]/u

const delegating = delegations.map(exactForm)

const agreeing = consents.map(exactForm)
/** Characters of the longest message that only agrees. */
const longestConsent = 100

/** Returns whether a message only agrees to what was said before: it asks for nothing itself. */
export function onlyAgrees(text: string, { verbs: deeds }: SemanticClasses): boolean {
  const form = exactForm(text.slice(0, longestConsent + 1))
  return (
    form.length <= longestConsent &&
    !form.includes('?') &&
    deeds.size === 0 &&
    agreeing.some((phrase) => indexOfPart(form, phrase, 0) >= 0)
  )
}

const declining = refusals.map(exactForm)

/** Returns whether a message begins with a refusal of what was proposed before. */
export function declines(text: string): boolean {
  const form = exactForm(text.slice(0, longestConsent)).replace(/^[^\p{L}]+/u, '')
  return declining.some((phrase) => indexOfPart(form, phrase, 0) === 0)
}

/** Returns whether a request delegates to another text. */
export function delegates(text: string): boolean {
  const form = exactForm(text.slice(0, longest))
  return delegating.some((phrase) => indexOfPart(form, phrase, 0) >= 0)
}

/** Returns whether a word is a verb, an object or a stop word of the lexicon. */
export function isKnownWord(word: string): boolean {
  if (common.has(word)) return true
  const { verbs: deeds, objects: things } = semanticClassesOf(word)
  return deeds.size + things.size > 0
}

/** Words that begin sentences and addresses, and are not names. */
const common: ReadonlySet<string> = new Set(
  `the this that then and for from with into please all any our your their his her its what which who where when how why
  can could would should will may must not but has have had was were are been you they she him them there here also
  now today tomorrow week month year january february march april may june july august september october november
  december monday tuesday wednesday thursday friday saturday sunday support info admin contact office sales service help
  hello dear thanks news security alert noreply team billing accounts manager company bank shop store customer hotel
  die der das und für von mit bitte alle unser ihr sein wie was wer wann danke hallo el los las una por favor para con
  todos nuestro gracias hola`.split(/\s+/u),
)
