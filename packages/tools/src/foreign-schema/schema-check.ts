import { isRecord } from '@provost/core'

import { fitsArray } from './array-check.ts'
import { tells } from './check.ts'
import type { Check, Schema } from './check.ts'
import { isAmong, isSame } from './equality.ts'
import { fitsObject } from './object-check.ts'
import { fitsNumber, fitsString } from './scalar-check.ts'
import { enter, isOpen, leave, report, spend } from './schema-work.ts'
import type { Place } from './schema-work.ts'
import { ownOf } from './subschemas.ts'

/**
 * Returns whether a value is valid for a schema. Unsupported parts count as valid and make the work `unsure`.
 *
 * @throws ProvostError `schema-too-costly`
 */
export function fits(schema: unknown, value: unknown, check: Check, place?: Place): boolean {
  const { work, issues } = check
  spend(work, visit)
  if (schema === false) return report(issues, place, 'Nothing may stand here')
  if (!isRecord(schema)) return true
  enter(work)
  // As many problems as can be result; silently, the first one is enough.
  let good = true
  for (const part of partsOf(schema)) {
    if (!good && !isOpen(issues)) break
    good = part(schema, value, check, place) && good
  }
  leave(work)
  return good
}

/** Steps to check one value. */
const visit = 2

type Part = (schema: Schema, value: unknown, check: Check, place: Place | undefined) => boolean

const parts: readonly (readonly [part: Part, keywords: readonly string[]])[] = [
  [fitsReference, ['$ref', '$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties']],
  [fitsType, ['type']],
  [fitsValues, ['enum', 'const']],
  [fitsAll, ['allOf']],
  [fitsAny, ['anyOf']],
  [fitsOne, ['oneOf']],
  [fitsNot, ['not']],
  [fitsIf, ['if', 'then', 'else']],
]
const others = new Set(parts.flatMap(([, keywords]) => keywords))
const notes = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  '$schema',
  '$id',
  '$anchor',
  '$defs',
  'definitions',
])

const known = new WeakMap<Schema, readonly Part[]>()

/** Returns the checks that a schema needs. The result is cached, since a list may need it for each item. */
function partsOf(schema: Schema): readonly Part[] {
  let needed = known.get(schema)
  if (!needed) {
    const made = parts.flatMap(([part, keywords]) => (keywords.some((key) => Object.hasOwn(schema, key)) ? [part] : []))
    if (Object.keys(schema).some((key) => !others.has(key) && !notes.has(key))) made.push(fitsKind)
    known.set(schema, (needed = made))
  }
  return needed
}

const notChecked = ['$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties']

function fitsReference(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  for (const key of notChecked) if (Object.hasOwn(schema, key)) check.work.unsure = true
  const reference = ownOf(schema, '$ref')
  if (typeof reference !== 'string') return true
  const target = check.scope.references.find(reference)
  if (target) return fits(target.schema, value, check, place)
  check.work.unsure = true
  return true
}

function fitsType(schema: Schema, value: unknown, { issues, work }: Check, place: Place | undefined): boolean {
  const type = ownOf(schema, 'type')
  const is = typeOf(value)
  if (typeof type === 'string') {
    return isType(type, is, value) || report(issues, place, `It is of type ${is}, and ${type} is wanted`)
  }
  if (!Array.isArray(type)) return true
  spend(work, type.length)
  if (type.some((one) => typeof one === 'string' && isType(one, is, value))) return true
  return report(issues, place, `It is of type ${is}, and one of ${type.slice(0, 7).join(', ')} is wanted`)
}

function isType(wanted: string, is: string, value: unknown): boolean {
  return wanted === is || (wanted === 'integer' && Number.isInteger(value))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function fitsValues(schema: Schema, value: unknown, { issues, work }: Check, place: Place | undefined): boolean {
  const values = ownOf(schema, 'enum')
  if (Array.isArray(values) && !isAmong(value, values, work))
    return report(issues, place, `It is not one of ${brief(values)}`)
  if (Object.hasOwn(schema, 'const') && !isSame(schema['const'], value, work))
    return report(issues, place, `It is not ${brief(schema['const'])}`)
  return true
}

function brief(value: unknown): string {
  const text = JSON.stringify(Array.isArray(value) ? value.slice(0, 10) : value) ?? 'undefined'
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

function fitsKind(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  if (typeof value === 'string') return fitsString(schema, value, check, place)
  if (typeof value === 'number') return fitsNumber(schema, value, check, place)
  if (Array.isArray(value)) return fitsArray(schema, value, check, place)
  return !isRecord(value) || fitsObject(schema, value, check, place)
}

function fitsAll(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  const all = ownOf(schema, 'allOf')
  if (!Array.isArray(all)) return true
  let good = true
  for (const one of all) {
    if (!good && !isOpen(check.issues)) break
    good = fits(one, value, check, place) && good
  }
  return good
}

function fitsAny(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  const any = ownOf(schema, 'anyOf')
  if (!Array.isArray(any)) return true
  if (any.length === 1) return fits(any[0], value, check, place)
  return any.some((one) => tells(one, value, check).fits) || noneOf(any, check, place)
}

function fitsOne(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  const one = ownOf(schema, 'oneOf')
  if (!Array.isArray(one)) return true
  if (one.length === 1) return fits(one[0], value, check, place)
  let sure = 0
  let perhaps = 0
  for (const each of one) {
    const result = tells(each, value, check)
    if (result.fits && result.sure) sure++
    else if (result.fits) perhaps++
  }
  if (sure + perhaps === 0) return noneOf(one, check, place)
  return sure < 2 || report(check.issues, place, `It fits ${sure} of the forms it may have, and one is wanted`)
}

function noneOf(forms: readonly unknown[], { issues }: Check, place: Place | undefined): boolean {
  return report(issues, place, `It fits none of the ${forms.length} forms it may have`)
}

function fitsNot(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  if (!Object.hasOwn(schema, 'not')) return true
  const result = tells(schema['not'], value, check)
  // An uncertain result may be wrong in the ignored part.
  return !(result.fits && result.sure) || report(check.issues, place, 'It has the form that `not` rules out')
}

function fitsIf(schema: Schema, value: unknown, check: Check, place: Place | undefined): boolean {
  if (!Object.hasOwn(schema, 'if')) return true
  const result = tells(schema['if'], value, check)
  if (result.fits && !result.sure) return true
  const next = ownOf(schema, result.fits ? 'then' : 'else')
  return next === undefined || fits(next, value, check, place)
}
