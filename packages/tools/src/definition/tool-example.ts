import { checkOptions, isPromise, isStandardSchema, parseWith } from '@provost/core'
import type { AnySchema, MaybePromise, Parsed, ToolExample } from '@provost/core'

import { invalidTool } from './define-tool.ts'
import { issuesText } from './issues.ts'
import { jsonCheckOf } from './json-schema.ts'
import { exampleKeys } from './known-tool-options.ts'

/**
 * Refuses worked calls that the schemas of their tool refuse: a model would copy them.
 *
 * @returns a promise where a schema validates asynchronously.
 * @throws ProvostError `invalid-tool`, `unknown-option`
 */
export function checkExamples(
  name: string,
  examples: readonly ToolExample[],
  input: AnySchema,
  output?: AnySchema,
): MaybePromise<void> {
  const waits: Promise<void>[] = []
  const look = (schema: AnySchema, value: unknown, what: string): void => {
    const checked = fits(name, schema, value, what)
    if (isPromise(checked)) waits.push(checked)
  }
  for (const [index, example] of examples.entries()) {
    checkOptions(example, exampleKeys, `examples[${index}] of tool ${name}`)
    look(input, example.input, `the input of examples[${index}]`)
    if (output && example.output !== undefined) look(output, example.output, `the output of examples[${index}]`)
  }
  return waits.length > 0 ? Promise.all(waits).then(() => {}) : undefined
}

function fits(name: string, schema: AnySchema, value: unknown, what: string): MaybePromise<void> {
  const validate = validatorOf(schema)
  if (!validate) return undefined
  const judge = (parsed: Parsed<unknown>): void => {
    if (parsed.ok) return
    throw invalidTool(name, `${what} does not fit its schema: ${issuesText(parsed.issues)}`, 'Correct the example.')
  }
  const parsed = validate(value)
  return isPromise(parsed) ? parsed.then(judge) : judge(parsed)
}

/** Undefined for a JSON Schema that is invalid itself: that is reported of the schema. */
function validatorOf(schema: AnySchema): ((value: unknown) => MaybePromise<Parsed<unknown>>) | undefined {
  if (isStandardSchema(schema)) return (value) => parseWith(schema, value)
  try {
    return jsonCheckOf(schema)
  } catch {
    return undefined
  }
}
