import type { FlexibleSchema } from '@ai-sdk/provider-utils'
import type { AnySchema, JsonSchema, MaybePromise, ReadonlyJsonSchema, StandardSchemaV1 } from '@provost/core'
import { isPromise, isRecord, isStandardSchema, ProvostError } from '@provost/core'

import { jsonCheckOf } from '../definition/json-schema.ts'
import { foreignSchema } from '../foreign-schema/foreign-schema.ts'

/** A schema of the AI SDK as a Standard Schema, created on first use. */
export interface AiSchema {
  /** @throws ProvostError `schema-not-ready` before `prepare` if the schema is asynchronous. */
  get(): AnySchema
  /** Waits for it, if that is needed. */
  prepare(): MaybePromise<void>
}

/** A schema as the AI SDK wraps it: JSON Schema, and perhaps a validator. */
type Wrapped = Extract<FlexibleSchema, { readonly jsonSchema: unknown }>

const none: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/**
 * Accepts any schema of an AI SDK tool: Standard Schemas unchanged; wrapped, lazy and promised ones unwrapped.
 *
 * @param foreign the schema comes from outside. Its checks are bounded if it is plain JSON Schema.
 */
export function aiSchema(given: FlexibleSchema | undefined, foreign = false): AiSchema {
  let ready: AnySchema | undefined

  function attempt(): MaybePromise<AnySchema> {
    if (ready) return ready
    if (given === undefined) return none
    if (isStandardSchema(given)) return isZod3(given) ? loadZod3(given) : given
    const wrapped: unknown = typeof given === 'function' ? given() : given
    if (isPromise(wrapped)) throw promisedSchema(wrapped)
    if (isStandardSchema(wrapped)) return wrapped
    if (isPlainSchema(wrapped)) return unwrapped({}, wrapped, foreign)
    if (!isWrapped(wrapped)) throw notASchema()
    const { jsonSchema } = wrapped
    return isPromise(jsonSchema)
      ? Promise.resolve(jsonSchema).then((json) => unwrapped(wrapped, json, foreign))
      : unwrapped(wrapped, jsonSchema, foreign)
  }

  return {
    get() {
      const schema = attempt()
      if (!isPromise(schema)) return (ready = schema)
      schema.then(undefined, () => {})
      throw new ProvostError('schema-not-ready', 'The asynchronous schema is not ready.', {
        hint: 'It is available after a run of the agent has started.',
      })
    },
    prepare() {
      const schema = attempt()
      if (!isPromise(schema)) return void (ready = schema)
      return Promise.resolve(schema).then((made) => void (ready = made))
    },
  }
}

function isWrapped(value: unknown): value is Wrapped {
  return isRecord(value) && 'jsonSchema' in value
}

/** Returns whether a value is a plain JSON Schema of an object. */
function isPlainSchema(value: unknown): value is JsonSchema {
  return isRecord(value) && !('~tool' in value) && (value['type'] === 'object' || isRecord(value['properties']))
}

/** Returns whether a value can be the schema of an AI SDK tool. Plain JSON Schema is accepted too. */
export function isAiSchema(value: unknown): boolean {
  return typeof value === 'function' || isStandardSchema(value) || isWrapped(value) || isPlainSchema(value)
}

function notASchema(): ProvostError {
  return new ProvostError('invalid-schema', 'The schema is not one that the AI SDK accepts.', {
    hint: 'Use a Standard Schema such as z.object({ … }), jsonSchema({ … }) of the AI SDK, or a plain JSON Schema of an object.',
  })
}

/** The AI SDK calls a lazy schema synchronously. The promise may reject later, which must not end the process. */
function promisedSchema(promise: PromiseLike<unknown>): ProvostError {
  promise.then(undefined, () => {})
  return new ProvostError('invalid-schema', 'The lazy schema returned a promise.', {
    hint: 'Return the schema synchronously, or give jsonSchema(async () => …) of the AI SDK.',
  })
}

/**
 * Validates input against a bare JSON Schema, which the AI SDK does not check.
 */
function unwrapped({ validate }: Pick<Wrapped, 'validate'>, json: JsonSchema, foreign: boolean): AnySchema {
  if (!validate) return foreign ? foreignSchema(json, { vendor: 'ai' }) : json
  return standard(json, async (value) => {
    const result = await validate(value)
    return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] }
  })
}

/** Returns a Standard Schema that carries its JSON Schema. */
function standard(json: ReadonlyJsonSchema, validate: StandardSchemaV1.Props['validate']): StandardSchemaV1 {
  const say = (): Record<string, unknown> => ({ ...json })
  const props = { version: 1, vendor: 'ai', validate, jsonSchema: { input: say, output: say } } as const
  return { '~standard': props }
}

/** Returns a schema that validates by itself, as an output schema must. */
export function asStandard(schema: AnySchema): StandardSchemaV1 {
  if (isStandardSchema(schema)) return schema
  return standard(schema, (value) => {
    const checked = jsonCheckOf(schema)(value)
    return checked.ok ? { value } : { issues: checked.issues.map(({ path, message }) => ({ message, path: [path] })) }
  })
}

/** Zod 3 has no JSON Schema; the AI SDK converts it. */
function isZod3(schema: StandardSchemaV1): boolean {
  return schema['~standard'].vendor === 'zod' && !('_zod' in schema)
}

async function loadZod3(schema: StandardSchemaV1): Promise<StandardSchemaV1> {
  const { asSchema } = await import('@ai-sdk/provider-utils')
  const json = await asSchema(schema).jsonSchema
  return standard(json, (value) => schema['~standard'].validate(value))
}
