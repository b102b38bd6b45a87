import { Validator } from '@cfworker/json-schema'
import type { OutputUnit, Schema, SchemaDraft } from '@cfworker/json-schema'
import { isRecord, isStandardSchema, ProvostError } from '@provost/core'
import type { AnySchema, JsonSchema, Parsed, ReadonlyJsonSchema, SchemaIssue, StandardSchemaV1 } from '@provost/core'
import { toJsonSchema } from '@valibot/to-json-schema'

/** The side of a schema: the input of validation, or its output. */
export type SchemaSide = 'input' | 'output'

const converted: Record<SchemaSide, WeakMap<StandardSchemaV1, JsonSchema>> = {
  input: new WeakMap(),
  output: new WeakMap(),
}

/**
 * Returns the JSON Schema (draft 7) of any schema that tools accept. A JSON Schema is returned unchanged; a Standard
 * Schema is converted once.
 *
 * @param side default `input`.
 * @throws ProvostError `schema-not-json` if the schema has no JSON Schema, such as zod's `Date`.
 *
 * @example
 * jsonSchemaOf(z.object({ id: z.string() })) // { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
 */
export function jsonSchemaOf(schema: AnySchema, side: SchemaSide = 'input'): JsonSchema {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is read only, which the AI SDK's type does not express
  if (!isStandardSchema(schema)) return schema as JsonSchema
  const known = converted[side].get(schema)
  if (known) return known
  const made = convert(schema, side)
  converted[side].set(schema, made)
  return made
}

function convert(schema: StandardSchemaV1, side: SchemaSide): JsonSchema {
  try {
    const { $schema: _, ...rest } = converterOf(schema, side)()
    return rest
  } catch (cause) {
    if (cause instanceof ProvostError) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ProvostError('schema-not-json', `The schema cannot be turned into JSON Schema: ${why}.`, {
      hint: 'Use JSON types. For input, parse a string into the richer type with a transform.',
      cause,
    })
  }
}

function converterOf(schema: StandardSchemaV1, side: SchemaSide): () => Record<string, unknown> {
  const standard = schema['~standard']
  // Standard JSON Schema, which zod and arktype implement.
  if ('jsonSchema' in standard && isRecord(standard.jsonSchema)) {
    const own = standard.jsonSchema[side]
    if (typeof own === 'function') return () => own({ target: 'draft-07' })
  }
  if (isValibot(schema)) return () => ({ ...toJsonSchema(schema, { typeMode: side, target: 'draft-07' }) })
  throw new ProvostError('schema-not-json', `A schema of ${standard.vendor} cannot be turned into JSON Schema.`, {
    hint: 'Use a library that implements Standard JSON Schema (zod 4, arktype, valibot), or pass a JSON Schema.',
  })
}

type ValibotSchema = Parameters<typeof toJsonSchema>[0]

function isValibot(schema: StandardSchemaV1): schema is StandardSchemaV1 & ValibotSchema {
  return schema['~standard'].vendor === 'valibot'
}

/** Validates values with one plain JSON Schema; they are not changed, and defaults not filled in. Never throws. */
export type JsonCheck = (value: unknown) => Parsed<unknown>

const checks = new WeakMap<ReadonlyJsonSchema, JsonCheck>()

/**
 * Returns the compiled check of a plain JSON Schema. It is compiled once.
 *
 * @throws ProvostError `invalid-schema` for an invalid schema.
 */
export function jsonCheckOf(schema: ReadonlyJsonSchema): JsonCheck {
  const known = checks.get(schema)
  if (known) return known
  const validator = validatorOf(schema)
  const check: JsonCheck = (value) => {
    try {
      const { valid, errors } = validator.validate(value)
      return valid ? { ok: true, value } : { ok: false, issues: issuesOf(errors) }
    } catch (error) {
      // A broken `$ref`, data that is nested too deeply, or keys with lone surrogates.
      return { ok: false, issues: [{ path: '', message: error instanceof Error ? error.message : String(error) }] }
    }
  }
  checks.set(schema, check)
  return check
}

function validatorOf(schema: ReadonlyJsonSchema): Validator {
  try {
    // A copy, since the validator writes into its schema.
    const copy: Schema = JSON.parse(JSON.stringify(schema))
    return new Validator(copy, draftOf(schema), false)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ProvostError('invalid-schema', `A JSON Schema cannot be used: ${why}`, {
      hint: 'Correct the schema.',
      cause,
    })
  }
}

function draftOf({ $schema }: ReadonlyJsonSchema): SchemaDraft {
  if ($schema?.includes('2020-12')) return '2020-12'
  if ($schema?.includes('2019-09')) return '2019-09'
  return $schema?.includes('draft-04') ? '4' : '7'
}

/** Keywords that only report a problem below them, or (`false`) repeat one. */
const wrappers = new Set([
  '$ref',
  'additionalItems',
  'allOf',
  'false',
  'if',
  'items',
  'patternProperties',
  'prefixItems',
  'properties',
])

function issuesOf(errors: readonly OutputUnit[]): SchemaIssue[] {
  const leaves = errors.filter(({ keyword }) => !wrappers.has(keyword))
  return (leaves.length > 0 ? leaves : errors).map(({ instanceLocation, error }) => ({
    path: instanceLocation.split('/').slice(1).map(segmentOf).join('.'),
    message: error,
  }))
}

function segmentOf(encoded: string): string {
  return decodeURIComponent(encoded).replaceAll('~1', '/').replaceAll('~0', '~')
}
