import { lazily } from '@provost/core'
import { z } from 'zod'

import type { Check, Schema } from './check.ts'
import { report, spend } from './schema-work.ts'
import type { Place } from './schema-work.ts'
import { ownOf } from './subschemas.ts'

export function fitsString(schema: Schema, value: string, check: Check, place: Place | undefined): boolean {
  const { issues, work, scope } = check
  const least = ownOf(schema, 'minLength')
  const most = ownOf(schema, 'maxLength')
  if (typeof least === 'number' || typeof most === 'number') {
    const length = charactersIn(value, check)
    if (typeof least === 'number' && length < least)
      return report(issues, place, `It has ${length} characters, and at least ${least} are wanted`)
    if (typeof most === 'number' && length > most)
      return report(issues, place, `It has ${length} characters, and at most ${most} are wanted`)
  }
  const pattern = ownOf(schema, 'pattern')
  if (typeof pattern === 'string' && scope.matches(pattern, value, work) === false)
    return report(issues, place, `It does not match the pattern ${pattern.slice(0, 200)}`)
  const format = ownOf(schema, 'format')
  const test = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined
  if (!test) return true
  spend(work, 1 + value.length / 16)
  return (
    (value.length <= longestFormal && test(value)) || report(issues, place, `It is not of the format ${String(format)}`)
  )
}

function charactersIn(value: string, { work }: Check): number {
  spend(work, value.length / 16)
  let length = value.length
  for (let at = 0; at < value.length; at++) {
    // A pair of code units is one character.
    if (value.charCodeAt(at) >> 10 === 0x36 && value.charCodeAt(at + 1) >> 10 === 0x37) length--
  }
  return length
}

/** No value of a format is longer. */
const longestFormal = 2_000

function parsedBy(make: () => z.ZodType): (value: string) => boolean {
  const schema = lazily(make)
  return (value) => schema().safeParse(value).success
}

/** Formats that are checked. Others are annotations. */
const formats: Readonly<Record<string, (value: string) => boolean>> = {
  date: parsedBy(() => z.iso.date()),
  'date-time': parsedBy(() => z.iso.datetime({ offset: true })),
  time: (value) =>
    /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(value),
  email: (value) => /^[^\s@]+@[^\s@]+$/.test(value),
  uri: (value) => /^[a-z][a-z\d+.-]*:/i.test(value) && URL.canParse(value),
  uuid: (value) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value),
  ipv4: parsedBy(() => z.ipv4()),
  ipv6: parsedBy(() => z.ipv6()),
}

export function fitsNumber(schema: Schema, value: number, { issues }: Check, place: Place | undefined): boolean {
  for (const [key, fits, what] of bounds) {
    const bound = ownOf(schema, key)
    if (typeof bound === 'number' && !fits(value, bound))
      return report(issues, place, `It is ${value}, and ${what} ${bound} is wanted`)
  }
  // Draft 4: whether the bound itself is excluded.
  if (ownOf(schema, 'exclusiveMinimum') === true && value === ownOf(schema, 'minimum'))
    return report(issues, place, `It is ${value}, and a number above that is wanted`)
  if (ownOf(schema, 'exclusiveMaximum') === true && value === ownOf(schema, 'maximum'))
    return report(issues, place, `It is ${value}, and a number below that is wanted`)
  return true
}

const bounds: readonly (readonly [key: string, fits: (value: number, bound: number) => boolean, what: string])[] = [
  ['minimum', (value, bound) => value >= bound, 'at least'],
  ['maximum', (value, bound) => value <= bound, 'at most'],
  ['exclusiveMinimum', (value, bound) => value > bound, 'more than'],
  ['exclusiveMaximum', (value, bound) => value < bound, 'less than'],
  ['multipleOf', isMultiple, 'a multiple of'],
]

/** 0.3 is a multiple of 0.1, in spite of floating-point error. */
function isMultiple(value: number, of: number): boolean {
  if (!(of > 0)) return true
  const times = value / of
  return !Number.isFinite(times) || Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}
