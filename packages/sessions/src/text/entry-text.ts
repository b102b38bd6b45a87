import type { Entry, EntryReader, NewEntry } from '@provost/core'

/** An entry at its place in the log, as a line of JSON. */
export function writeEntry(entry: NewEntry, offset: number): string {
  // A writer that knows where its entry will stand hands it over placed: then it is not copied.
  return JSON.stringify('offset' in entry && entry.offset === offset ? entry : { ...entry, offset })
}

/** An entry from the line that {@link writeEntry} made; frozen all the way down. */
export function readEntry(text: string): Entry {
  const entry: Entry = JSON.parse(text)
  freezeParsed(entry)
  return entry
}

/** Characters of texts that are parsed as one. */
const mostAtOnce = 2 ** 24

/** Entries from their lines: all of a page are parsed as one text, which is quicker than one after the other. */
export function readEntries(texts: readonly string[]): readonly Entry[] {
  let length = 0
  for (const text of texts) length += text.length
  if (length > mostAtOnce) return texts.map(readEntry)
  const entries: Entry[] = JSON.parse(`[${texts.join(',')}]`)
  // A line that was meddled with may hold two: by itself it is refused.
  if (entries.length !== texts.length) return texts.map(readEntry)
  for (const entry of entries) freezeParsed(entry)
  return entries
}

/**
 * Entries of one text, a JSON list of those behind an offset and up to another.
 *
 * @returns undefined where the list is not what stands there.
 */
export function readPage(text: string, after: number, to: number): readonly Entry[] | undefined {
  const entries: Entry[] = JSON.parse(text)
  if (entries.length > to - after) return undefined
  for (let n = 0; n < entries.length; n++) if (entries[n]?.offset !== after + n + 1) return undefined
  for (const entry of entries) freezeParsed(entry)
  return entries
}

/** What JSON.parse made has no shared and no frozen parts: this is the bulk of reading a log, and looks for neither. */
export function freezeParsed(value: object): void {
  Object.freeze(value)
  if (Array.isArray(value)) {
    for (const item of value) if (isContainer(item)) freezeParsed(item)
  } else if (isContainer(value)) {
    for (const key in value) {
      const item = value[key]
      if (isContainer(item)) freezeParsed(item)
    }
  }
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A log that is read in pages. */
export function entriesOf(pages: () => AsyncIterable<readonly Entry[]>): EntryReader {
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page
    },
  }
}
