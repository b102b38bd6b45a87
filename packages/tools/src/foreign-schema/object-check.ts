import { isRecord } from '@provost/core'

import type { Check, Schema } from './check.ts'
import { isOpen, report, spend } from './schema-work.ts'
import type { Place } from './schema-work.ts'
import { ownOf } from './subschemas.ts'

type Fields = Readonly<Record<string, unknown>>

export function fitsObject(schema: Schema, value: Fields, check: Check, place: Place | undefined): boolean {
  const { issues, work } = check
  const keys = Object.keys(value)
  spend(work, keys.length)
  const least = ownOf(schema, 'minProperties')
  const most = ownOf(schema, 'maxProperties')
  if (typeof least === 'number' && keys.length < least)
    return report(issues, place, `It has ${keys.length} fields, and at least ${least} are wanted`)
  if (typeof most === 'number' && keys.length > most)
    return report(issues, place, `It has ${keys.length} fields, and at most ${most} are wanted`)
  let good = true
  for (const part of [fitsRequired, fitsFields, fitsNames, fitsDependencies]) {
    if (!good && !isOpen(issues)) break
    good = part(schema, value, check, place, keys) && good
  }
  return good
}

function fitsRequired(schema: Schema, value: Fields, check: Check, place: Place | undefined): boolean {
  return hasAll(ownOf(schema, 'required'), value, check, place, 'It is missing')
}

function hasAll(names: unknown, value: Fields, check: Check, place: Place | undefined, what: string): boolean {
  if (!Array.isArray(names)) return true
  let good = true
  for (const name of names) {
    spend(check.work, 1)
    if (typeof name !== 'string' || Object.hasOwn(value, name)) continue
    good = report(check.issues, { above: place, key: name }, what)
    if (!isOpen(check.issues)) break
  }
  return good
}

function fitsFields(
  schema: Schema,
  value: Fields,
  check: Check,
  place: Place | undefined,
  keys: readonly string[],
): boolean {
  const named = ownOf(schema, 'properties')
  const properties = isRecord(named) ? named : {}
  const others = ownOf(schema, 'patternProperties')
  const patterns = isRecord(others) ? Object.keys(others) : []
  const rest = ownOf(schema, 'additionalProperties')
  let good = true
  for (const key of keys) {
    if (!good && !isOpen(check.issues)) break
    const below = { above: place, key }
    let known = Object.hasOwn(properties, key)
    if (known) good = check.fits(properties[key], value[key], check, below) && good
    for (const source of patterns) {
      spend(check.work, 1)
      const matches = check.scope.matches(source, key, check.work)
      // A field that may match this unusable pattern is not an additional property.
      if (matches !== false) known = true
      if (matches === true && isRecord(others)) good = check.fits(others[source], value[key], check, below) && good
    }
    if (!known && rest !== undefined) good = check.fits(rest, value[key], check, below) && good
  }
  return good
}

function fitsNames(
  schema: Schema,
  _: Fields,
  check: Check,
  place: Place | undefined,
  keys: readonly string[],
): boolean {
  const names = ownOf(schema, 'propertyNames')
  if (names === undefined) return true
  let good = true
  for (const key of keys) {
    if (!good && !isOpen(check.issues)) break
    good = check.fits(names, key, check, { above: place, key }) && good
  }
  return good
}

function fitsDependencies(schema: Schema, value: Fields, check: Check, place: Place | undefined): boolean {
  let good = true
  for (const keyword of ['dependencies', 'dependentRequired', 'dependentSchemas']) {
    const dependencies = ownOf(schema, keyword)
    if (!isRecord(dependencies)) continue
    for (const key of Object.keys(dependencies)) {
      spend(check.work, 1)
      if (!Object.hasOwn(value, key)) continue
      if (!good && !isOpen(check.issues)) return good
      const needs = dependencies[key]
      const what = `It is missing, and ${key.slice(0, 100)} needs it`
      good =
        (Array.isArray(needs) ? hasAll(needs, value, check, place, what) : check.fits(needs, value, check, place)) &&
        good
    }
  }
  return good
}
