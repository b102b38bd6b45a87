import { isRecord } from '@provost/core'
import type { JsonSchema } from '@provost/core'

import { cut } from '../definition/issues.ts'

/** Characters that show nothing: control and format characters, lone surrogates, unassigned ones, hidden variation. */
const unseen = /[^\P{C}\n\t]|[\u{e0100}-\u{e01ef}]/gu

/** A text that a server wrote, made fit to be shown: nothing invisible in it, line ends as `\n`, bounded. */
export function serverText(text: string, maxLength: number): string {
  // Cut first too: what will not be kept need not be looked at.
  const kept = text.slice(0, maxLength * 2).replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
  return cut(kept.replaceAll(unseen, ''), maxLength).trim()
}

/** Keywords whose values are data: to clean them would change what the schema says. */
const data = new Set(['const', 'default', 'enum', 'examples'])
const maxNoteLength = 2_000

/** The schema with its titles and descriptions fit to be shown; all else stays as it is. */
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

/** Whether JSON is nested over so many levels, found out without going deeper than that. */
export function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1))
}
