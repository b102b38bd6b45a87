import { isRecord } from '@provost/core'
import type { JsonSchema, StandardSchemaV1 } from '@provost/core'

import { jsonCheckOf } from '../json-schema.ts'

/**
 * The schema of a server as one that validates. What it describes is all that the server wrote; what it checks is only
 * what takes time linear in schema and value, because a server could write a pattern or a tree of references that takes
 * for ever. The server checks the rest itself.
 */
export function serverChecked(schema: JsonSchema): StandardSchemaV1 {
  const check = jsonCheckOf(checkable({ ...schema }))
  const described = (): JsonSchema => schema
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate: (value) => {
        const parsed = check(value)
        return parsed.ok ? { value: parsed.value } : { issues: parsed.issues.map(issueOf) }
      },
      // Standard JSON Schema, which the type of a schema that only validates does not have.
      ...{ jsonSchema: { input: described, output: described } },
    },
  }
}

function issueOf({ path, message }: { readonly path: string; readonly message: string }): StandardSchemaV1.Issue {
  return { message, ...(path !== '' && { path: path.split('.') }) }
}

const numbers = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]

/** What can be checked of a server's schema. Never stricter than the original: what is left out, such as a reference, allows everything. */
export function checkable(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  const copy = (key: string, fits: (value: unknown) => boolean): void => {
    if (fits(schema[key])) kept[key] = schema[key]
  }
  copy('type', (value) => typeof value === 'string' || Array.isArray(value))
  copy('enum', Array.isArray)
  if ('const' in schema) kept['const'] = schema['const']
  copy('required', (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'))
  for (const key of numbers) copy(key, (value) => typeof value === 'number')
  const { properties, items, additionalProperties, anyOf, oneOf, allOf } = schema
  if (isRecord(properties))
    kept['properties'] = Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, part(below)]))
  if (isRecord(items)) kept['items'] = part(items)
  if (additionalProperties !== undefined && schema['patternProperties'] === undefined)
    kept['additionalProperties'] = part(additionalProperties)
  // Which one of them is right may hang on what is not checked, so one of them is enough.
  const either = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(either) && either.length > 0) kept['anyOf'] = either.map(part)
  if (Array.isArray(allOf) && allOf.length > 0) kept['allOf'] = allOf.map(part)
  return kept
}

function part(schema: unknown): unknown {
  if (schema === false) return false
  return isRecord(schema) && schema['$ref'] === undefined ? checkable(schema) : true
}
