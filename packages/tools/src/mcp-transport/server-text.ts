import { isRecord } from '@provost/core'
import type { JsonSchema } from '@provost/core'

import { cut } from '../definition/issues.ts'

/** Invisible characters: control and format characters, lone surrogates, unassigned ones, hidden variation. */
const unseen = /[^\P{C}\n\t]|[\u{e0100}-\u{e01ef}]/gu

/** Returns a text of a server that is safe to show: bounded, without invisible characters, with `\n` as line ends. */
export function serverText(text: string, maxLength: number): string {
  // The cut comes first: the removed part need not be checked.
  const kept = text.slice(0, maxLength * 2).replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
  return cut(kept.replaceAll(unseen, ''), maxLength).trim()
}

/** Keywords whose values are data. Cleaning them would change the schema. */
const data = new Set(['const', 'default', 'enum', 'examples'])
const maxNoteLength = 2_000

/** Returns the schema with titles and descriptions that are safe to show, otherwise unchanged. */
export function serverSchema(schema: JsonSchema): JsonSchema {
  return shownIn({ ...schema })
}

function shownIn(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, data.has(key) ? value : shown(key, value)]),
  )
}

function shown(key: string, value: unknown): unknown {
  if (typeof value === 'string')
    return key === 'title' || key === 'description' || key === '$comment' ? serverText(value, maxNoteLength) : value
  if (Array.isArray(value)) return value.map((item: unknown) => (isRecord(item) ? shownIn(item) : item))
  return isRecord(value) ? shownIn(value) : value
}

/** Returns whether JSON exceeds this many levels, without a deeper traversal. */
export function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1))
}
