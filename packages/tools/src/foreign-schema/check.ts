import type { Issues, Place, Work } from './schema-work.ts'
import type { References } from './subschemas.ts'

/** The references of a schema while a value is checked. */
export interface Scope {
  readonly references: References
  /** Returns whether a text matches a pattern of the schema; undefined for an unusable pattern. */
  matches(source: string, text: string, work: Work): boolean | undefined
}

/** One check: of which schema, and with what left to spend. */
export interface Check {
  readonly scope: Scope
  readonly work: Work
  readonly issues: Issues | undefined
  /** Checks a part of the value, or the same value with a part of the schema. */
  readonly fits: (schema: unknown, value: unknown, check: Check, place?: Place) => boolean
}

export type Schema = Readonly<Record<string, unknown>>

/** Returns whether a value is valid, without the problems, and whether that is certain. */
export function tells(
  schema: unknown,
  value: unknown,
  check: Check,
): { readonly fits: boolean; readonly sure: boolean } {
  const { work } = check
  const before = work.unsure
  work.unsure = false
  const good = check.fits(schema, value, { ...check, issues: undefined })
  const sure = !work.unsure
  work.unsure ||= before
  return { fits: good, sure }
}
