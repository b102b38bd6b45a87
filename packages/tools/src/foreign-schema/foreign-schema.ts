import { checkOptions, ProvostError } from '@provost/core'
import type { JsonSchema, KnownKeys, MaybePromise, ReadonlyJsonSchema, StandardSchemaV1 } from '@provost/core'

import type { Scope } from './check.ts'
import { fits } from './schema-check.ts'
import { patternAllowance, reviewSchema } from './schema-review.ts'
import type { PatternAllowance, SchemaProblem } from './schema-review.ts'
import { mostSteps, newWork, spend } from './schema-work.ts'
import type { Issues } from './schema-work.ts'
import { referencesOf } from './subschemas.ts'
import { pause, take } from './turn.ts'

/** Options of {@link foreignSchema}. */
export interface ForeignSchemaOptions {
  /** Stands in `~standard.vendor`. Default `json-schema`. */
  readonly vendor?: string
  /** The result for a value whose check would take too long. Default `invalid`. */
  readonly beyond?: 'invalid' | 'valid'
}

const optionKeys = { vendor: true, beyond: true } satisfies KnownKeys<ForeignSchemaOptions>

/**
 * Returns a JSON Schema from outside as a schema that validates in bounded time: a check takes at most 400,000 steps for
 * any schema and value. Consecutive checks yield to other work.
 *
 * Patterns run on a linear engine. Lookaround, backreferences, references to other documents and
 * `unevaluatedProperties` cannot be checked: they allow everything, and `schemaProblems` reports them. `format` is
 * checked for common formats. Values are not changed, and defaults not applied. The first check compiles the schema.
 *
 * @example
 * tool({ name: 'search', input: foreignSchema(definition.inputSchema) })
 */
export function foreignSchema(schema: ReadonlyJsonSchema, options: ForeignSchemaOptions = {}): StandardSchemaV1 {
  checkOptions(options, optionKeys, 'foreignSchema')
  const { vendor = 'json-schema', beyond = 'invalid' } = options
  let scope: MaybePromise<Scope> | undefined
  const described = (): JsonSchema | ReadonlyJsonSchema => schema

  function run(ready: Scope, value: unknown): StandardSchemaV1.Result<unknown> {
    const work = newWork()
    const issues: Issues = { list: [] }
    try {
      return fits(schema, value, { scope: ready, work, issues, fits }) ? { value } : { issues: issues.list }
    } catch (thrown) {
      if (!(thrown instanceof ProvostError)) throw thrown
      return beyond === 'valid' ? { value } : { issues: [{ message: thrown.message.replace(/\.$/, '') }] }
    } finally {
      take(mostSteps - Math.max(0, work.remaining))
    }
  }

  function validate(value: unknown): MaybePromise<StandardSchemaV1.Result<unknown>> {
    scope ??= scopeOf(schema)
    const waiting = pause()
    if (!waiting && !(scope instanceof Promise)) return run(scope, value)
    return Promise.all([scope, waiting]).then(async ([ready]) => {
      scope = ready
      // Several checks may have waited for the same turn.
      for (let more = pause(); more; more = pause()) await more
      return run(ready, value)
    })
  }

  // Standard JSON Schema, which the type of a schema that only validates does not have.
  const standard = { version: 1, vendor, validate, jsonSchema: { input: described, output: described } } as const
  return { '~standard': standard }
}

/**
 * Returns the parts of a schema that cannot be checked in bounded time or are not JSON Schema, at most 20 problems.
 * Empty for a schema that {@link foreignSchema} enforces entirely.
 *
 * @param allowance what patterns may cost, for several schemas together.
 */
export function schemaProblems(
  schema: ReadonlyJsonSchema,
  allowance: PatternAllowance = patternAllowance(),
): readonly SchemaProblem[] {
  return reviewSchema(schema, allowance).problems
}

/** Returns the scope of a schema. The first check compiles the patterns, and loads the engine if there are any. */
function scopeOf(schema: ReadonlyJsonSchema): MaybePromise<Scope> {
  const { patterns } = reviewSchema(schema)
  const references = referencesOf(schema)
  if (patterns.size === 0) return { references, matches: passOver }
  return compiled([...patterns]).then((tests): Scope => ({
    references,
    matches(source, text, work) {
      const test = tests.get(source)
      if (!test) return passOver(source, text, work)
      spend(work, test.size * (text.length + 1))
      return test.matches(text)
    },
  }))
}

const passOver: Scope['matches'] = (_, __, work) => {
  work.unsure = true
  return undefined
}

interface Test {
  readonly size: number
  matches(text: string): boolean
}

/** Steps to compile an instruction. */
const compiling = 100

async function compiled(
  patterns: readonly (readonly [source: string, { readonly re2: string; readonly size: number }])[],
): Promise<ReadonlyMap<string, Test>> {
  const { RE2JS } = await import('re2js')
  const tests = new Map<string, Test>()
  for (const [source, { re2, size }] of patterns) {
    for (let more = pause(); more; more = pause()) await more
    try {
      const made = RE2JS.compile(re2)
      tests.set(source, { size: Math.max(size, made.programSize()), matches: (text) => made.test(text) })
    } catch {
      // A property that the engine does not know.
    }
    take(compiling * size)
  }
  return tests
}
