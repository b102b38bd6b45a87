import type { Entry, SessionStore } from '@provost/core'
import { escapePointer, isRecord } from '@provost/core'

import type { CutText, EntriesAnswer, TextAnswer } from '../console-answers/console-answer.ts'
import { badRequest } from '../http/request-error.ts'
import { entryAfter } from './child-logs.ts'
import { withholdEntry } from './withhold.ts'

/** UTF-16 code units of a text in a page of entries, and of one answer with a text. */
const longestText = 16_384
export const longestPiece = 65_536
export const mostEntries = 200
/** Approximate code units of a page; a page has at least one entry. */
const pageLength = 4_000_000

/** The entries of a log to read. */
interface EntryRange {
  readonly log: string
  readonly from: number
  readonly to: number
  /** Whether the reader sees secret values. */
  readonly cleared: boolean
}

/** Returns entries of a log. Long texts are cut, and `cut` says where. */
export async function readEntries(store: SessionStore, { log, from, to, cleared }: EntryRange): Promise<EntriesAnswer> {
  const entries: EntriesAnswer['entries'] = []
  const cut: CutText[] = []
  let length = 0
  const last = Math.min(to, from + mostEntries - 1)
  for await (const entry of store.read(log, from - 1)) {
    if (entry.offset > last || (length > pageLength && entries.length > 0)) {
      return { log, entries, cut, ...(entry.offset <= to && { next: entry.offset }) }
    }
    const shown = cutTexts(shownTo(entry, cleared), (pointer, whole) => {
      cut.push({ offset: entry.offset, pointer, length: whole })
    })
    length += JSON.stringify(shown).length
    entries.push({ ...shown, offset: entry.offset, type: entry.type })
  }
  return { log, entries, cut }
}

/** Returns an entry as a reader sees it. */
export function shownTo(entry: Entry, cleared: boolean): object {
  return cleared ? entry : withholdEntry(entry)
}

/**
 * Returns a piece of one text of an entry.
 *
 * @throws HttpError 400 for a pointer that leads to no text
 */
export async function readText(
  store: SessionStore,
  place: { readonly log: string; readonly offset: number; readonly pointer: string; readonly cleared: boolean },
  [start, end]: readonly [start: number, end: number],
): Promise<TextAnswer> {
  const entry = await entryAfter(store, place.log, place.offset - 1)
  const text = entry?.offset === place.offset ? valueAt(shownTo(entry, place.cleared), place.pointer) : undefined
  if (typeof text !== 'string') throw badRequest('`offset` and `pointer` do not lead to a text.')
  const to = Math.min(text.length, end, start + longestPiece)
  return { text: text.slice(start, to), start: Math.min(start, to), end: to, length: text.length }
}

/** Returns the value at a JSON pointer; undefined if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  if (pointer === '') return value
  let at: unknown = value
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) at = /^\d+$/u.test(key) ? at[Number(key)] : undefined
    else at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}

/** Returns the pointer of a key below another pointer. */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${escapePointer(String(key))}`
}

/** Returns a copy whose long texts are cut. */
export function cutTexts(value: object, cut: (pointer: string, length: number) => void): Record<string, unknown> {
  const walk = (one: unknown, pointer: string): unknown => {
    if (typeof one === 'string') {
      if (one.length <= longestText) return one
      cut(pointer, one.length)
      return one.slice(0, longestText)
    }
    if (Array.isArray(one)) return one.map((item, n) => walk(item, pointerTo(pointer, n)))
    return isRecord(one) ? each(one, pointer) : one
  }
  const each = (one: object, pointer: string): Record<string, unknown> =>
    Object.fromEntries(Object.entries(one).map(([key, item]) => [key, walk(item, pointerTo(pointer, key))]))
  return each(value, '')
}
