import type { Entry } from '@provost/core'

import { readEntry, readPage } from '../text/entry-text.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { row, rows } from './sqlite-row.ts'
import { logSpan } from './sqlite-schema.ts'

/** Entries that are read at once, and their approximate length in characters. */
export interface Page {
  readonly entries: readonly Entry[]
  readonly length: number
}

const pageSize = 256
const firstPage = 64
/** Approximate characters of a page. */
const pageLength = 2 ** 20
const sized = 'select sum(octet_length(body)) from entries where place > ? and place <= ?'
/** Joins entries in the order of their keys, in which SQLite scans them; the reader checks their offsets. */
const joined = `select '[' || group_concat(body, ',') || ']' from entries where place > ? and place <= ?`

/** Returns the offset of the last entry of a log; 0 for an empty one. */
export function tailOf({ sql }: SqliteFile, no: number): number {
  const [place] =
    row(sql('select max(place) from entries where place between ? and ?'), no * logSpan, (no + 1) * logSpan - 1) ?? []
  return place === null || place === undefined ? 0 : Number(place) - no * logSpan
}

/** Returns the entry at an offset. */
export function entryAt({ sql }: SqliteFile, no: number, offset: number): Entry {
  const [body] = row(sql('select body from entries where place = ?'), no * logSpan + offset) ?? []
  return readEntry(String(body))
}

/** Returns the id at an offset; undefined for a deleted log, whose writer fails at its next append. */
export function idAt({ sql }: SqliteFile, no: number, offset: number): string | undefined {
  const [body] = row(sql('select body from entries where place = ?'), no * logSpan + offset) ?? []
  return body === undefined ? undefined : readEntry(String(body)).id
}

/** Yields the entries after an offset up to the tail: a log has no gaps. Pages of long entries have fewer entries. */
export function* pagesIn(file: SqliteFile, no: number, after: number, tail: number): Iterable<Page> {
  let size = firstPage
  for (let from = after; from < tail;) {
    let to = Math.min(from + size, tail)
    while (to - from > 1 && bytesOf(file, no, from, to) > pageLength) to = from + Math.ceil((to - from) / 4)
    const page = pageOf(file, no, from, to)
    const { entries, length } = page
    // The log was deleted during the read.
    if (entries.length === 0) return
    yield page
    size = Math.min(pageSize, Math.max(1, Math.floor((pageLength * (to - from)) / length)))
    from = to
  }
}

/** Returns the size of entries without reading them. */
function bytesOf({ sql }: SqliteFile, no: number, from: number, to: number): number {
  const [bytes] = row(sql(sized), no * logSpan + from, no * logSpan + to) ?? []
  return Number(bytes ?? 0)
}

function pageOf({ sql }: SqliteFile, no: number, from: number, to: number): Page {
  const places = [no * logSpan + from, no * logSpan + to] as const
  try {
    // One text for all entries, as the parser takes it: separate rows would have to be joined again.
    const [text] = row(sql(joined), ...places) ?? []
    const entries = typeof text === 'string' ? readPage(text, from, to) : undefined
    if (entries && typeof text === 'string') return { entries, length: text.length }
  } catch {
    // Too long for one text, or manipulated: reading row by row tells which.
  }
  const found = rows(sql('select body from entries where place > ? and place <= ? order by place'), ...places)
  const texts = found.map(([body]) => String(body))
  return { entries: texts.map(readEntry), length: texts.reduce((sum, text) => sum + text.length, 1) }
}
