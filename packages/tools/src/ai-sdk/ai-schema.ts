import type { FlexibleSchema } from '@ai-sdk/provider-utils'
import type { AnySchema, JsonSchema, MaybePromise, ReadonlyJsonSchema, StandardSchemaV1 } from '@provost/core'
import { isPromise, isRecord, isStandardSchema, ProvostError } from '@provost/core'

import { jsonCheckOf } from '../definition/json-schema.ts'
import { foreignSchema } from '../foreign-schema/foreign-schema.ts'

/** A schema of the AI SDK as one of ours, made when it is asked for. */
export interface AiSchema {
  /** @throws ProvostError `schema-not-ready` before `prepare` where the schema has to be waited for. */
  get(): AnySchema
  /** Waits for it, if that is needed. */
  prepare(): MaybePromise<void>
}

/** A schema as the AI SDK wraps it: JSON Schema, and perhaps a validator. */
type Wrapped = Extract<FlexibleSchema, { readonly jsonSchema: unknown }>

const none: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/**
 * Any schema that a tool of the AI SDK has: Standard Schemas as they are, wrapped, lazy and promised ones unwrapped.
 *
 * @param foreign the schema came with the tool from elsewhere: where it is bare JSON Schema, its checks are bounded.
 */
export function aiSchema(given: FlexibleSchema | undefined, foreign = false): AiSchema {
  let ready: AnySchema | undefined

  function attempt(): MaybePromise<AnySchema> {
    if (ready) return ready
    if (given === undefined) return none
    if (isStandardSchema(given)) return isZod3(given) ? loadZod3(given) : given
    const wrapped: unknown = typeof given === 'function' ? given() : given
    if (isStandardSchema(wrapped)) return wrapped
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
      throw new ProvostError('schema-not-ready', 'The schema is still being made.', {
        hint: 'It is there once a run of the agent has begun.',
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

/** Whether something can be the schema of an AI SDK tool. */
export function isAiSchema(value: unknown): value is FlexibleSchema {
  return typeof value === 'function' || isStandardSchema(value) || isWrapped(value)
}

function notASchema(): ProvostError {
  return new ProvostError('invalid-schema', 'The schema is not one that the AI SDK accepts.', {
    hint: 'Use a Standard Schema such as z.object({ … }), or jsonSchema({ … }) of the AI SDK.',
  })
}

/** The AI SDK does not check input against a bare JSON Schema; here everything that a model writes is checked. */
function unwrapped({ validate }: Wrapped, json: JsonSchema, foreign: boolean): AnySchema {
  if (!validate) return foreign ? foreignSchema(json, { vendor: 'ai' }) : json
  return standard(json, async (value) => {
    const result = await validate(value)
    return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] }
  })
}

/** A Standard Schema that says of itself what the JSON Schema says. */
function standard(json: ReadonlyJsonSchema, validate: StandardSchemaV1.Props['validate']): StandardSchemaV1 {
  const say = (): Record<string, unknown> => ({ ...json })
  const props = { version: 1, vendor: 'ai', validate, jsonSchema: { input: say, output: say } } as const
  return { '~standard': props }
}

/** An output schema has to validate by itself. */
export function asStandard(schema: AnySchema): StandardSchemaV1 {
  if (isStandardSchema(schema)) return schema
  return standard(schema, (value) => {
    const checked = jsonCheckOf(schema)(value)
    return checked.ok ? { value } : { issues: checked.issues.map(({ path, message }) => ({ message, path: [path] })) }
  })
}

/** Zod 3 says nothing in JSON Schema; the AI SDK says it for it. */
function isZod3(schema: StandardSchemaV1): boolean {
  return schema['~standard'].vendor === 'zod' && !('_zod' in schema)
}

async function loadZod3(schema: StandardSchemaV1): Promise<StandardSchemaV1> {
  const { asSchema } = await import('@ai-sdk/provider-utils')
  const json = await asSchema(schema).jsonSchema
  return standard(json, (value) => schema['~standard'].validate(value))
}
