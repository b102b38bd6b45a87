import type { Entry, EntryReader, NewEntry } from '@provost/core'

/** Returns an entry with its offset as one line of JSON, to be stored. */
export function writeEntry(entry: NewEntry, offset: number): string {
  // An entry that already has its offset is not copied.
  return JSON.stringify('offset' in entry && entry.offset === offset ? entry : { ...entry, offset })
}

/**
 * Parses a line of {@link writeEntry}. The entry is deeply frozen, as entries from a store are.
 *
 * @throws SyntaxError for a line that is not JSON.
 */
export function readEntry(text: string): Entry {
  const entry: Entry = JSON.parse(text)
  freezeParsed(entry)
  return entry
}

/** Characters that are parsed as one text at most. */
const mostAtOnce = 2 ** 24

/** Parses the lines of a page. Parsing them as one text is faster than line by line. */
export function readEntries(texts: readonly string[]): readonly Entry[] {
  let length = 0
  for (const text of texts) length += text.length
  if (length > mostAtOnce) return texts.map(readEntry)
  const entries: Entry[] = JSON.parse(`[${texts.join(',')}]`)
  // A manipulated line may hold two values: parsed alone it is rejected.
  if (entries.length !== texts.length) return texts.map(readEntry)
  for (const entry of entries) freezeParsed(entry)
  return entries
}

/**
 * Parses a JSON list of the entries after an offset and up to another.
 *
 * @returns undefined where the list does not have exactly these entries.
 */
export function readPage(text: string, after: number, to: number): readonly Entry[] | undefined {
  const entries: Entry[] = JSON.parse(text)
  if (entries.length > to - after) return undefined
  for (let n = 0; n < entries.length; n++) if (entries[n]?.offset !== after + n + 1) return undefined
  for (const entry of entries) freezeParsed(entry)
  return entries
}

/** Freezes a parsed value deeply. It needs no check for shared or frozen parts, which dominates the cost of reading a log. */
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

/** Returns a reader of a log that is read in pages. */
export function entriesOf(pages: () => AsyncIterable<readonly Entry[]>): EntryReader {
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page
    },
  }
}
