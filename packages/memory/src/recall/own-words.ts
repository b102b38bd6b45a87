import type { HookContext, Label, Message } from '@provost/core'
import { isRecord, labelOf, textOf } from '@provost/core'

import { plainOf, word } from '../items/search-terms.ts'
import type { HeardWords, SpokenWords } from './spoken-words.ts'
import { heardWords, isHeard, spokenWords } from './spoken-words.ts'

/** One to three consecutive sentences of a message of the user. */
export interface Quote {
  readonly text: string
  readonly message: Message
  readonly label: Label
  /** The place of the text in the message. */
  readonly start: number
  /** The message is the latest of the user. */
  readonly isLatest: boolean
}

/** A sentence of a message in the user's own words; undefined stands for a question or for text from elsewhere. */
type Sentence = { readonly start: number; readonly end: number; readonly heard: HeardWords } | undefined

/** How many of the newest messages of the user are searched, and characters of them. */
const [mostMessages, mostCharacters] = [50, 40_000]
/** A longer message is taken for pasted text. */
const longestMessage = 4_000
const [mostSentences, longestQuote] = [3, 600]

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
const question = /(?:[?？؟]|か。?|吗。?|嗎。?)["”»」]?\s*$/u

/**
 * Returns the words of the user that say what a note says: all of its words, and a negation in both or in neither. Only
 * messages of the human count: no input of a child, handoff note or other message that the runtime wrote.
 */
export function quoteFor(note: string, ctx: HookContext): Quote | undefined {
  const spoken = spokenWords(note, namesOf(ctx))
  const newest = ctx.intent.slice(-mostMessages)
  let left = mostCharacters
  for (const message of newest.filter(isOwn).toReversed()) {
    left -= textOf(message).length
    const found = left < 0 ? undefined : placeOf(spoken, sentencesOf(message))
    if (!found) continue
    const text = textOf(message).slice(found.start, found.end).trim()
    return { text, message, label: labelOf(message), start: found.start, isLatest: message === newest.at(-1) }
  }
  return undefined
}

/** Returns whether a subject stands in a quote as it is: it is shown beside the quote, so no character may be added. */
export function isNamedIn(subject: string, { text }: Quote): boolean {
  return plainOf(text).includes(plainOf(subject)) && isHeard(spokenWords(subject), [heardWords(text)])
}

/** Returns the sentences of a text. */
export function sentencesIn(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment.trim()).filter((sentence) => sentence !== '')
}

/** The label of a part may differ from that of its message. */
function isOwn(message: Message): boolean {
  return labelOf(message).integrity === 'trusted' && textOf(message).length <= longestMessage
}

/** Returns the words that name the principal of a run: its id, and the name in its claims. */
function namesOf({ run: { principal } }: HookContext): ReadonlySet<string> {
  const claimed = isRecord(principal?.claims) ? principal.claims['name'] : undefined
  const names = `${principal?.id ?? ''} ${typeof claimed === 'string' ? claimed : ''}`
  return new Set(plainOf(names).match(word))
}

/** Returns the shortest run of sentences that says it all. */
function placeOf(spoken: SpokenWords, sentences: readonly Sentence[]): { start: number; end: number } | undefined {
  for (let count = 1; count <= mostSentences; count++) {
    for (let at = 0; at + count <= sentences.length; at++) {
      const some = sentences.slice(at, at + count).filter((sentence) => sentence !== undefined)
      const [first, last] = [some[0], some.at(-1)]
      if (!first || !last || some.length < count || last.end - first.start > longestQuote) continue
      const heard = some.map((sentence) => sentence.heard)
      if (isHeard(spoken, heard)) return { start: first.start, end: last.end }
    }
  }
  return undefined
}

const known = new WeakMap<Message, readonly Sentence[]>()

function sentencesOf(message: Message): readonly Sentence[] {
  let sentences = known.get(message)
  if (!sentences) known.set(message, (sentences = readSentences(textOf(message))))
  return sentences
}

function readSentences(text: string): readonly Sentence[] {
  const foreign = foreignIn(text)
  return Array.from(segmenter.segment(text), ({ segment, index: start }): Sentence => {
    const end = start + segment.length
    const isForeign = foreign.subarray(start, end).includes(1)
    return isForeign || question.test(segment) ? undefined : { start, end, heard: heardWords(segment) }
  })
}

const fence = /^\s*(?:```|~~~)/
/** Before text that another author wrote, or that the user gives to work on. */
const introduction =
  /\b(?:translate|proofread|correct|summari[sz]e|rewrite|explain|übersetze?|korrigiere?|traduis|corrige|traduce)\b[^.!?]{0,60}:|\b(?:wrote|writes|said|says|schrieb|schreibt|sagte|sagt|dit|escribe|dijo|dice)\s*:|(?:écrit|escribió|写道|说|說|さんから)\s*[:：]|^\s*(?:from|to|subject|von|an|betreff|de|objet|asunto)\s*:\s|(?:forwarded|original|weitergeleitete)\s+(?:message|mail|nachricht)/iu
/** A quotation, also one that is not closed. Shorter ones are names and titles. */
const quotation = /["“„«「『]([^"”“»」』]*)["”“»」』]?/gu
const longestTitle = 24

const line = /[^\n\r\u2028\u2029]+/gu

/** Marks the characters that the user passes on: code blocks, quoted lines and quotations, and what follows "she wrote:". */
function foreignIn(text: string): Uint8Array {
  const marks = new Uint8Array(text.length)
  for (const { index, 0: whole, 1: quoted = '' } of text.matchAll(quotation))
    if (quoted.length > longestTitle) marks.fill(1, index, index + whole.length)
  let isFenced = false
  for (const { index, 0: found } of text.matchAll(line)) {
    if (introduction.test(found)) return marks.fill(1, index)
    const isFence = fence.test(found)
    if (isFence || isFenced || /^\s*[>|]/.test(found)) marks.fill(1, index, index + found.length)
    if (isFence) isFenced = !isFenced
  }
  return marks
}
