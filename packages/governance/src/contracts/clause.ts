/** A part of a request with one verb. */
export interface Clause {
  /** Quotations, addresses and file names are blanked: they are values, and their words ask for nothing. */
  readonly text: string
  /** The same part as the user wrote it. */
  readonly said: string
  /** The user excludes what it names. */
  readonly negated: boolean
}

/** Characters of a turn that are read. Requests are shorter, and text pasted below one is data. */
const longest = 20_000

const values = [
  /["“”„«][^"“”«»\n]{1,400}["”“»]|(?<![\p{L}\p{N}])['‘][^'‘’\n]{1,400}['’](?![\p{L}\p{N}])/gu,
  /(?:https?:\/\/|www\.)[^\s"“”'‘’，。]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/giu,
  /\b[\w-]{1,100}\.(?:txt|md|pdf|docx?|xlsx?|csv|pptx?|json|html?|png|jpe?g|zip|ics)\b/giu,
]
/** Ends a sentence, and with it the reach of a negation. */
const sentenceEnd = /[.!?;\n]+(?=\s|$)|(?<=\p{Ll})\.(?=\p{Lu})|[。！？；؟]/u
/** Begins something else: a negation does not reach over it. */
const contrast = /,?\s+(?:but|then|instead(?! of)|aber|sondern|dann|pero|sino|luego)\s+|但是?|然后/u
const joint = /,?\s+(?:and then|and|also|or|und|oder|y|o)\s+|[,，、،](?!\d)\s*/u
const cut = new RegExp(`${sentenceEnd.source}|${contrast.source}|${joint.source}`, 'giu')

/** `Do not forget to mail her` asks for a mail. */
const reminder = '(?!\\s+(?:forget|hesitate|fail|only|just)\\b)'
/** `I don't remember` and `it cannot be opened` state something, and exclude nothing. */
const statement = "(?!(?<=\\b(?:I|it|we|he|she|they|who)\\s+(?:do not|don['’]?t))\\s+(?!want|need|wish)|\\s+be\\b)"
const english = new RegExp(
  `\\b(?:(?:do not|don['’]?t|never|please not|must not|mustn['’]t|should not|shouldn['’]t|may not|cannot)${reminder}${statement}` +
    '|without|no need to|avoid|refrain from|rather than|instead of|under no circumstances)\\b',
  'iu',
)
const german = /(?<!\p{L})(?:nicht(?! (?:nur|vergessen))|kein(?:e[nrsm]?)?|niemals|ohne)(?!\p{L})/iu
const spanish = /(?<!\p{L})(?:no|nunca|jamás|sin) (?:(?:me|te|le|les|lo|la|los|las|se) )?\p{L}{3,}/iu
const spanishWords = /[¿¡áéíóúñ]|(?<!\p{L})(?:el|los|las|del|al|por|una?|que|con)(?!\p{L})/iu
const unspaced = /不要|不得|别(?!人)|勿|(?<!\p{L})لا\s/u
/** These exclude only what follows up to the next comma. */
const short = /^(?:without|rather|instead|ohne|sin)/iu

/** Returns the clauses of a request, in order. */
export function clausesOf(request: string): readonly Clause[] {
  const said = request.slice(0, longest)
  let plain = said
  for (const value of values) plain = plain.replaceAll(value, (text) => '·'.repeat(text.length))
  const clauses: Clause[] = []
  let [start, reaching] = [0, false]
  const add = (from: number, to: number, negated: boolean): void => {
    const text = plain.slice(from, to)
    if (/[\p{L}\p{N}·]/u.test(text)) clauses.push({ text, said: said.slice(from, to).trim(), negated })
  }
  for (const { 0: mark, index } of [...plain.matchAll(cut), { 0: '', index: plain.length }]) {
    const found = negationIn(plain.slice(start, index))
    if (found) {
      add(start, start + found.at, reaching)
      add(start + found.at, index, true)
    } else add(start, index, reaching)
    const ends = mark === '' || sentenceEnd.test(`${mark} `) || contrast.test(mark)
    reaching = !ends && !(found?.isShort === true && /[,，]/u.test(mark)) && (reaching || found !== undefined)
    start = index + mark.length
  }
  return clauses
}

/** `If you cannot find it` is a condition, and excludes nothing. */
const condition = /^\s*(?:(?:and|but|or|so)\s+)?(?:if|when|unless|in case|because|since)\b/iu

function negationIn(text: string): { readonly at: number; readonly isShort: boolean } | undefined {
  const conditional = condition.test(text) ? (english.exec(text)?.[0] ?? '') : ''
  const skipped = conditional === '' ? 0 : text.indexOf(conditional) + conditional.length
  const before = negationFrom(text, skipped)
  if (before) return { at: before.index, isShort: short.test(before[0]) }
  if (skipped > 0) return undefined
  // In these languages the verb can precede its negation.
  if (german.test(text) || unspaced.test(text) || (spanish.test(text) && spanishWords.test(text)))
    return { at: 0, isShort: false }
  return undefined
}

/** Returns the first English negation at or after a place. */
function negationFrom(text: string, from: number): { readonly 0: string; readonly index: number } | undefined {
  const found = english.exec(text.slice(from))
  return found ? { 0: found[0], index: from + found.index } : undefined
}

/** Returns the values that a clause names: quotations, addresses, files, and names with a capital. */
export function valuesIn({ said, text }: Clause): readonly string[] {
  const found: string[] = []
  for (const { 0: blanked, index } of text.matchAll(/·+/gu)) {
    const value = said.slice(index - leading(text), index - leading(text) + blanked.length)
    found.push(value.replace(/^["“”„«'‘]|["”“»'’]$/gu, ''))
  }
  // The first word of a sentence has a capital too.
  for (const [name] of text.matchAll(/(?<=\p{L}[^.!?\n]{0,200}\s)\p{Lu}[\p{L}\p{M}]{1,40}/gu)) found.push(name)
  return found
}

function leading(text: string): number {
  return text.length - text.trimStart().length
}
