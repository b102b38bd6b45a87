import { isPromise, isRecord, isStandardSchema, parseWith } from '@provost/core'
import type { ErrorInfo, Json, JsonSchema, MaybePromise, Parsed, SchemaIssue, Tool } from '@provost/core'

import { cut, issuesText } from './issues.ts'
import { jsonCheckOf } from './json-schema.ts'

/** The input of a call as `execute` takes it, or what the model did wrong. */
export type ParsedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: ErrorInfo }

const maxFields = 30

/**
 * Validates what the model wrote for a call and applies the schema's defaults and transforms. Never throws.
 *
 * An error has the code `invalid-tool-input`. Its message names each path and problem in at most about 1 KB, and its
 * hint tells the model how to repair the call. A string in place of an object is reported as invalid JSON.
 */
export function parseInput(tool: Tool, input: Json): MaybePromise<ParsedInput> {
  let parsed: MaybePromise<Parsed<unknown>>
  try {
    const schema = tool['~tool'].input
    parsed = isStandardSchema(schema) ? parseWith(schema, input) : jsonCheckOf(schema)(input)
  } catch (thrown) {
    return judged(tool, input, failed(thrown))
  }
  if (!isPromise(parsed)) return judged(tool, input, parsed)
  return parsed.then(
    (done) => judged(tool, input, done),
    (thrown: unknown) => judged(tool, input, failed(thrown)),
  )
}

/** Returns the result for a validator that throws: the input is rejected. */
function failed(thrown: unknown): Parsed<unknown> {
  return { ok: false, issues: [{ path: '', message: thrown instanceof Error ? thrown.message : String(thrown) }] }
}

function judged(tool: Tool, input: Json, parsed: Parsed<unknown>): ParsedInput {
  // A schema that accepts any value also accepts what is not an object, such as invalid JSON as a string.
  if (parsed.ok && isRecord(input)) return parsed
  const issues = parsed.ok ? [{ path: '', message: 'expected an object' }] : parsed.issues
  return {
    ok: false,
    error: { code: 'invalid-tool-input', message: problem(tool, input, issues), hint: repair(tool) },
  }
}

function problem({ name }: Tool, input: Json, issues: readonly SchemaIssue[]): string {
  if (typeof input !== 'string') return `The input of ${name} does not fit its schema: ${issuesText(issues)}.`
  const why = whyNotJson(input)
  return why === undefined
    ? `The input of ${name} is JSON inside a string, or nested too deeply: the object itself is wanted.`
    : `The input of ${name} is not valid JSON: ${cut(why, 300)}.`
}

function whyNotJson(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function repair({ name, inputSchema }: Tool): string {
  const fields = fieldsOf(inputSchema)
  return `Call ${name} again with the corrected input as one JSON object.${fields && ` Its fields: ${fields}.`}`
}

/** `id: string, note?: string`: enough to repair most calls without another look at the schema. */
function fieldsOf({ properties, required }: JsonSchema): string {
  if (!isRecord(properties)) return ''
  const fields: string[] = []
  for (const [name, schema] of Object.entries(properties).slice(0, maxFields)) {
    fields.push(`${cut(name, 60)}${isRequired(required, name) ? '' : '?'}: ${typeName(schema)}`)
  }
  return cut(fields.join(', '), 500)
}

/** Returns whether a name is required. `required` of a foreign schema may be any value. */
function isRequired(required: unknown, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

function typeName(schema: unknown): string {
  if (!isRecord(schema)) return 'any'
  const { type } = schema
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value)).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  return typeof type === 'string' ? type : 'any'
}
