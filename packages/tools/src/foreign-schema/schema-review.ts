import { escapePointer, isRecord } from '@provost/core'

import { linearPattern, patternCost } from './linear-pattern.ts'
import type { LinearPattern } from './linear-pattern.ts'
import { ownOf, referencesOf, subschemasOf } from './subschemas.ts'

/** Something in a schema that a linear check cannot hold a value to. */
export interface SchemaProblem {
  /** A JSON pointer into the schema. */
  readonly path: string
  /** A sentence without its full stop. */
  readonly what: string
}

/** The result of a review of a schema. */
export interface SchemaReview {
  /** By their source, those that can be used. */
  readonly patterns: ReadonlyMap<string, Extract<LinearPattern, { readonly re2: string }>>
  /** At most 20. A check ignores what they name. */
  readonly problems: readonly SchemaProblem[]
}

/** Costs of patterns that may still be spent, for several schemas together. */
export interface PatternAllowance {
  left: number
}

/** Characters and instructions of all patterns together. */
const mostPatterns = 10_000
const deepest = 64
const mostProblems = 20
const unsupported = new Set(['$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties'])

export function patternAllowance(): PatternAllowance {
  return { left: mostPatterns }
}

/** Looks once at each part of a schema, in time linear in its size. Never throws. */
export function reviewSchema(root: unknown, allowance: PatternAllowance = patternAllowance()): SchemaReview {
  const patterns = new Map<string, Extract<LinearPattern, { readonly re2: string }>>()
  const unfit = new Map<string, string>()
  const problems: SchemaProblem[] = []
  const references = referencesOf(root)
  const seen = new Set<unknown>()
  const left: { readonly schema: unknown; readonly path: readonly string[] }[] = [{ schema: root, path: [] }]

  const complain = (path: readonly string[], what: string): void => {
    if (problems.length < mostProblems) problems.push({ path: pointerOf(path), what })
  }
  const take = (source: string, path: readonly string[]): void => {
    if (patterns.has(source)) return
    const known = unfit.get(source) ?? compile(source)
    if (known === undefined) return
    unfit.set(source, known)
    complain(path, `the pattern ${shown(source)} cannot be checked: ${known}`)
  }
  /** @returns why it cannot be used. */
  const compile = (source: string): string | undefined => {
    const cost = patternCost(source)
    if (cost > allowance.left) return 'there are too many and too long patterns'
    const made = linearPattern(source)
    allowance.left -= 'unfit' in made ? cost : Math.max(cost, made.size)
    if ('unfit' in made) return made.unfit
    patterns.set(source, made)
    return undefined
  }

  for (let item = left.pop(); item; item = left.pop()) {
    const { schema, path } = item
    if (typeof schema === 'boolean' || seen.has(schema)) continue
    if (!isRecord(schema)) {
      complain(path, 'it is neither an object nor true or false')
      continue
    }
    seen.add(schema)
    if (path.length > deepest) {
      complain(path, `it is nested over ${deepest} levels`)
      continue
    }
    for (const key of Object.keys(schema)) {
      const form = forms.get(key)
      if (form && !form.fits(schema[key])) complain([...path, key], `it is not ${form.wanted}`)
      else if (unsupported.has(key)) complain([...path, key], `${key} is not supported`)
    }
    const pattern = ownOf(schema, 'pattern')
    if (typeof pattern === 'string') take(pattern, [...path, 'pattern'])
    const named = ownOf(schema, 'patternProperties')
    if (isRecord(named)) for (const source of Object.keys(named)) take(source, [...path, 'patternProperties', source])
    const reference = ownOf(schema, '$ref')
    if (typeof reference === 'string') {
      const target = references.find(reference)
      if (target) left.push({ schema: target.schema, path: reference.split('/').slice(1) })
      else complain([...path, '$ref'], `${shown(reference)} is not in the schema`)
    }
    for (const below of subschemasOf(schema)) left.push({ schema: below.schema, path: [...path, ...below.path] })
  }
  return { patterns, problems }
}

type Row = readonly [key: string, fits: (value: unknown) => boolean, wanted: string]

const isNumber = (value: unknown): boolean => typeof value === 'number'
const isCount = (value: unknown): boolean => typeof value === 'number' && value >= 0
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isSchemaMap = (value: unknown): boolean => isRecord(value)
const isList = (value: unknown): boolean => Array.isArray(value)
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value)
const types = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
const isType = (value: unknown): boolean => typeof value === 'string' && types.has(value)

/** The type that each keyword requires. A check ignores other values. */
const rows: readonly Row[] = [
  ['type', (value) => isType(value) || (Array.isArray(value) && value.every(isType)), 'a type of JSON'],
  ['enum', isList, 'a list'],
  ['required', isNames, 'a list of names'],
  ['pattern', (value) => typeof value === 'string', 'a text'],
  ['$ref', (value) => typeof value === 'string', 'a text'],
  ['multipleOf', (value) => typeof value === 'number' && value > 0, 'a number above 0'],
  ['uniqueItems', (value) => typeof value === 'boolean', 'true or false'],
  ...['minimum', 'maximum'].map((key): Row => [key, isNumber, 'a number']),
  ...['exclusiveMinimum', 'exclusiveMaximum'].map((key): Row => [
    key,
    (value) => isNumber(value) || typeof value === 'boolean',
    'a number',
  ]),
  ...[
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minContains',
    'maxContains',
    'minProperties',
    'maxProperties',
  ].map((key): Row => [key, isCount, 'a number from 0']),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key): Row => [key, isList, 'a list of schemas']),
  ...[
    '$defs',
    'definitions',
    'dependencies',
    'dependentSchemas',
    'dependentRequired',
    'patternProperties',
    'properties',
  ].map((key): Row => [key, isSchemaMap, 'an object']),
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'].map(
    (key): Row => [key, isSchema, 'a schema'],
  ),
  ['items', (value) => isSchema(value) || Array.isArray(value), 'a schema'],
]
const forms: ReadonlyMap<string, { readonly fits: Row[1]; readonly wanted: string }> = new Map(
  rows.map(([key, fits, wanted]) => [key, { fits, wanted }]),
)

function pointerOf(path: readonly string[]): string {
  const pointer = path.map((step) => `/${escapePointer(step.slice(0, 100))}`).join('')
  return pointer.length > 300 ? `${pointer.slice(0, 299)}…` : pointer
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 99)}…` : text)
}
