import { tells } from './check.ts'
import type { Check, Schema } from './check.ts'
import { repeatedIn } from './equality.ts'
import { isOpen, report, spend } from './schema-work.ts'
import type { Place } from './schema-work.ts'
import { ownOf } from './subschemas.ts'

export function fitsArray(schema: Schema, value: readonly unknown[], check: Check, place: Place | undefined): boolean {
  const { issues, work } = check
  const least = ownOf(schema, 'minItems')
  const most = ownOf(schema, 'maxItems')
  if (typeof least === 'number' && value.length < least)
    return report(issues, place, `It has ${value.length} items, and at least ${least} are wanted`)
  if (typeof most === 'number' && value.length > most)
    return report(issues, place, `It has ${value.length} items, and at most ${most} are wanted`)
  if (ownOf(schema, 'uniqueItems') === true) {
    const twice = repeatedIn(value, work)
    if (twice >= 0) return report(issues, { above: place, key: twice }, 'It stands there twice')
  }
  return fitsItems(schema, value, check, place) && fitsContains(schema, value, check, place)
}

/** `items` of today is one schema for what `prefixItems` leaves; before, it was a list, and `additionalItems` the rest. */
function fitsItems(schema: Schema, value: readonly unknown[], check: Check, place: Place | undefined): boolean {
  const items = ownOf(schema, 'items')
  const prefix = ownOf(schema, 'prefixItems') ?? (Array.isArray(items) ? items : undefined)
  const first: readonly unknown[] = Array.isArray(prefix) ? prefix : []
  const rest = Array.isArray(items) ? ownOf(schema, 'additionalItems') : items
  let good = true
  const end = rest === undefined ? Math.min(first.length, value.length) : value.length
  for (let index = 0; index < end; index++) {
    if (!good && !isOpen(check.issues)) break
    const own = index < first.length ? first[index] : rest
    good = check.fits(own, value[index], check, { above: place, key: index }) && good
  }
  return good
}

function fitsContains(schema: Schema, value: readonly unknown[], check: Check, place: Place | undefined): boolean {
  if (!Object.hasOwn(schema, 'contains')) return true
  const least = ownOf(schema, 'minContains') ?? 1
  const most = ownOf(schema, 'maxContains')
  let sure = 0
  let perhaps = 0
  for (const item of value) {
    spend(check.work, 1)
    const result = tells(schema['contains'], item, check)
    if (result.fits && result.sure) sure++
    else if (result.fits) perhaps++
  }
  if (typeof least === 'number' && sure + perhaps < least)
    return report(
      check.issues,
      place,
      `It contains ${sure + perhaps} items of the wanted form, and at least ${least} are wanted`,
    )
  if (typeof most === 'number' && sure > most)
    return report(check.issues, place, `It contains ${sure} items of one form, and at most ${most} are wanted`)
  return true
}
