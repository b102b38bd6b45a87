import type { Issues, Place, Work } from './schema-work.ts'
import type { References } from './subschemas.ts'

/** What a schema refers to while a value is checked. */
export interface Scope {
  readonly references: References
  /** Whether a text matches a pattern of the schema; undefined for a pattern that cannot be used. */
  matches(source: string, text: string, work: Work): boolean | undefined
}

/** One check: of which schema, and with what left to spend. */
export interface Check {
  readonly scope: Scope
  readonly work: Work
  readonly issues: Issues | undefined
  /** Checks a value inside the value, or the same one by a schema inside the schema. */
  readonly fits: (schema: unknown, value: unknown, check: Check, place?: Place) => boolean
}

export type Schema = Readonly<Record<string, unknown>>

/** Whether a value fits, without telling why not, and whether that can be relied upon. */
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
