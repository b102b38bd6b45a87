import { createHash } from 'node:crypto'

import type { HookContext, Label } from '@provost/core'
import { joinLabels } from '@provost/core'

import type { MemoryInit, MemoryItem, MemoryKind, MemoryScope } from '../items/item.ts'
import { scopeKey } from '../items/item.ts'
import type { MemoryObject } from './memory-options.ts'
import type { Quote } from './own-words.ts'

/** The place of an item: of its live items with one key, the newest applies. */
interface NotePlace {
  readonly kind: MemoryKind
  readonly scope: MemoryScope
}

/** A note in the user's own words, as it is stored. */
interface QuotedNote {
  readonly text: string
  readonly init: Pick<MemoryInit, 'id' | 'label' | 'at' | 'speaker' | 'key'>
}

/** Loads the language data at the first use. */
const ownWords = (): Promise<typeof import('./own-words.ts')> => import('./own-words.ts')

/**
 * Returns the user's own words for a note that the model wrote after it read untrusted content; undefined if the user did
 * not say it. They are dated to when the user said them, and stored once.
 *
 * @param subject is kept if the words name it, and if they are newer than the fact whose place they take.
 */
export async function quotedNote(
  note: string,
  subject: string | undefined,
  place: NotePlace,
  memory: MemoryObject,
  ctx: HookContext,
): Promise<QuotedNote | undefined> {
  const { isNamedIn, quoteFor } = await ownWords()
  const quote = quoteFor(note, ctx)
  if (!quote) return undefined
  const { text, label, message, start, isLatest } = quote
  const position = [scopeKey(place.scope), place.kind, ctx.run.sessionId, message.id, start, text.length]
  const id = `quote:${createHash('sha256').update(JSON.stringify(position)).digest('hex')}`
  const init = { id, label, at: message.createdAt, speaker: 'user' }
  if (subject === undefined || !isNamedIn(subject, quote)) return { text, init }
  const earlier = await liveItem(subject, place, memory)
  const applies = !earlier || (isLatest && earlier.validFrom < message.createdAt)
  return { text, init: applies ? { ...init, key: subject } : init }
}

/**
 * Returns a block as the model rewrote it after it read untrusted content: the block as it was, and the user's own words
 * for each sentence that is new. Returns undefined if a sentence is missing, or if the user did not say a new one.
 */
export async function quotedBlock(
  text: string,
  block: string,
  scope: MemoryScope,
  memory: MemoryObject,
  ctx: HookContext,
): Promise<{ readonly text: string; readonly label: Label } | undefined> {
  const { quoteFor, sentencesIn } = await ownWords()
  const earlier = await liveItem(block, { kind: 'block', scope }, memory)
  const kept = sentencesIn(earlier?.text ?? '')
  const written = sentencesIn(text)
  if (!kept.every((sentence) => written.includes(sentence))) return undefined
  const quotes: Quote[] = []
  for (const sentence of new Set(written.filter((one) => !kept.includes(one)))) {
    const quote = quoteFor(sentence, ctx)
    if (!quote) return undefined
    quotes.push(quote)
  }
  return {
    text: [...new Set([...(earlier ? [earlier.text] : []), ...quotes.map((quote) => quote.text)])].join('\n'),
    label: joinLabels(...[...(earlier ? [earlier] : []), ...quotes].map(({ label }) => label)),
  }
}

async function liveItem(
  key: string,
  { kind, scope }: NotePlace,
  memory: MemoryObject,
): Promise<MemoryItem | undefined> {
  const [item] = await memory.list({ scopes: [scope], kinds: [kind], states: ['live'], key, limit: 1 })
  return item
}
