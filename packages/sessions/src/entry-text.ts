import type { Entry, NewEntry } from '@provost/core'

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

/** What JSON.parse made has no shared and no frozen parts: this is the bulk of reading a log, and looks for neither. */
export function freezeParsed(value: object): void {
  Object.freeze(value)
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) freezeParsed(item)
    return
  }
  for (const key in value) {
    const item: unknown = Reflect.get(value, key)
    if (typeof item === 'object' && item !== null) freezeParsed(item)
  }
}
