import { wordsOf } from '../entries/entry-words.ts'
import type { IndexEntry } from '../entries/indexed-log.ts'

/** A filter of entries: `type:call outcome:denied agent:desk words`. */
export interface EntryFilter {
  readonly fields: readonly (readonly [field: FilterField, value: string])[]
  readonly words: readonly string[]
  /** Fields that a filter does not have. */
  readonly unknown: readonly string[]
}

const values = {
  type: ({ type }: IndexEntry) => type,
  op: ({ op }: IndexEntry) => op,
  agent: ({ agent }: IndexEntry) => agent,
  name: ({ name }: IndexEntry) => name,
  log: ({ log }: IndexEntry) => log,
  step: ({ step }: IndexEntry) => String(step),
  outcome: ({ detail }: IndexEntry) => detail.outcome,
  by: ({ detail }: IndexEntry) => detail.by,
  integrity: ({ label }: IndexEntry) => label?.integrity,
  confidentiality: ({ label }: IndexEntry) => label?.confidentiality,
  source: ({ label }: IndexEntry) => label?.sources.join(' '),
} as const

export type FilterField = keyof typeof values
export const filterFields = Object.keys(values)

function isField(name: string): name is FilterField {
  return Object.hasOwn(values, name)
}

/** Reads a filter. Values with spaces stand in quotes: `agent:"the desk"`. */
export function readFilter(text: string): EntryFilter {
  const fields: (readonly [FilterField, string])[] = []
  const words: string[] = []
  const unknown: string[] = []
  for (const [, name, quoted, plain, word] of text.matchAll(/([a-z]+):(?:"([^"]*)"|(\S+))|(\S+)/gu)) {
    if (word !== undefined) words.push(word.toLowerCase())
    else if (name !== undefined && isField(name)) fields.push([name, (quoted ?? plain ?? '').toLowerCase()])
    else if (name !== undefined) unknown.push(name)
  }
  return { fields, words, unknown }
}

/** Whether an entry matches all parts of a filter. */
export function matches({ fields, words }: EntryFilter, entry: IndexEntry): boolean {
  for (const [field, value] of fields) {
    if (!(values[field](entry) ?? '').toLowerCase().includes(value)) return false
  }
  if (words.length === 0) return true
  const text = `${wordsOf(entry).title} ${entry.agent} ${entry.type} ${entry.name ?? ''}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
