import type { JSONSchema7 } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { Flat, MaybePromise } from './json.ts'
import { isPromise } from './json.ts'

export type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'

/** A plain JSON Schema object. */
export type JsonSchema = JSONSchema7

/** The `input` of a tool: any Standard Schema (zod, valibot, arktype, …) or a JSON Schema, `as const` too. */
export type AnySchema = StandardSchemaV1 | ReadonlyJsonSchema

/** A read-only plain JSON Schema. */
export interface ReadonlyJsonSchema extends ReadonlyDeep<JsonSchema> {}

type ReadonlyDeep<T> = T extends object ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> } : T

/** Empty where the type does not tell: any field may then be missing. */
type RequiredKeys<S> = S extends { required: readonly (infer K)[] } ? (string extends K ? never : K) : never
type Properties<P, R> = Flat<
  { -readonly [K in keyof P as K extends R ? K : never]: FromJsonSchema<P[K]> } & {
    -readonly [K in keyof P as K extends R ? never : K]?: FromJsonSchema<P[K]>
  }
>

/** The type that a literal JSON Schema describes; `unknown` where it is known at run time only. */
export type FromJsonSchema<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'null' }
            ? null
            : S extends { anyOf: readonly (infer M)[] } | { oneOf: readonly (infer M)[] }
              ? M extends unknown
                ? FromJsonSchema<M>
                : never
              : S extends { type: 'array' }
                ? (S extends { items: infer I } ? FromJsonSchema<I> : unknown)[]
                : S extends { type: 'object'; properties: infer P }
                  ? Properties<P, RequiredKeys<S>>
                  : S extends { type: 'object' }
                    ? Record<string, S extends { additionalProperties: infer A } ? FromJsonSchema<A> : unknown>
                    : S extends { type: readonly (infer T)[] }
                      ? T extends unknown
                        ? FromJsonSchema<{ [K in keyof S]: K extends 'type' ? T : S[K] }>
                        : never
                      : unknown

/** The result of validation, after defaults and transforms: what `execute` receives. */
export type ParsedBy<S> = S extends StandardSchemaV1<infer _In, infer Out> ? Out : FromJsonSchema<S>

/** What the model writes and the log records, before defaults and transforms. */
export type WrittenFor<S> = S extends StandardSchemaV1<infer In, infer _Out> ? In : FromJsonSchema<S>

/** The outcome of validating a value. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] }

/** One problem of a value: its place and a message. */
export interface SchemaIssue {
  /** Dotted, as in `items.0.id`; empty for the value itself. */
  readonly path: string
  readonly message: string
}

/** Returns whether a schema is a Standard Schema, and not a plain JSON Schema. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  // arktype's schemas are functions, so objects are not enough.
  return ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema
}

/**
 * Validates with a Standard Schema. A synchronous schema gives its result without a promise.
 *
 * @example
 * const parsed = await parseWith(z.object({ n: z.number() }), { n: 1 })
 * if (parsed.ok) parsed.value.n
 */
export function parseWith<S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
): MaybePromise<Parsed<StandardSchemaV1.InferOutput<S>>> {
  const result = schema['~standard'].validate(value)
  return isPromise(result) ? Promise.resolve(result).then(toParsed<S>) : toParsed<S>(result)
}

function toParsed<S extends StandardSchemaV1>(
  result: StandardSchemaV1.Result<unknown>,
): Parsed<StandardSchemaV1.InferOutput<S>> {
  if (result.issues) return { ok: false, issues: result.issues.map(toIssue) }
  return { ok: true, value: result.value }
}

function toIssue(issue: StandardSchemaV1.Issue): SchemaIssue {
  // arktype's paths are arrays of a class of their own, whose `map` would make an empty one `0`.
  const path = Array.from(issue.path ?? [], (segment) => String(typeof segment === 'object' ? segment.key : segment))
  return { path: path.join('.'), message: issue.message }
}
