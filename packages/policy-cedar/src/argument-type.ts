import type { Json, JsonSchema } from '@provost/core'
import { isRecord } from '@provost/core'

/** A value as Cedar receives it. */
export type CedarValue = string | number | boolean | CedarValue[] | { [key: string]: CedarValue }

/** The Cedar type of an argument. */
export type ArgumentType =
  | { readonly type: 'String' | 'Long' | 'Boolean' }
  | { readonly type: 'Set'; readonly element: ArgumentType }
  | RecordType

/** The Cedar type of an object. */
export interface RecordType {
  readonly type: 'Record'
  readonly attributes: Readonly<Record<string, ArgumentType & { readonly required: boolean }>>
}

/** Levels of objects and lists that have types. */
const deepest = 8

const scalars: Readonly<Record<string, 'String' | 'Long' | 'Boolean'>> = {
  string: 'String',
  integer: 'Long',
  // A fraction fails, and what fails is denied: money is counted in whole cents.
  number: 'Long',
  boolean: 'Boolean',
}

/**
 * Returns the Cedar type of the arguments of a tool. An argument whose schema has no such type, such as a union, is left
 * out: a policy cannot read it.
 */
export function argumentsType(schema: JsonSchema): RecordType {
  const type = typeOf(schema, 0)
  return type?.type.type === 'Record' ? type.type : { type: 'Record', attributes: {} }
}

function typeOf(
  schema: unknown,
  depth: number,
): { readonly type: ArgumentType; readonly nullable: boolean } | undefined {
  if (!isRecord(schema) || depth > deepest) return undefined
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const others = options.filter((one) => !isRecord(one) || one['type'] !== 'null')
    const only = others.length === 1 ? typeOf(others[0], depth + 1) : undefined
    return only && { type: only.type, nullable: only.nullable || others.length < options.length }
  }
  const names = schema['type']
  if (Array.isArray(names)) {
    const others = names.filter((name) => name !== 'null')
    const only = others.length === 1 ? typeOf({ ...schema, type: others[0] }, depth + 1) : undefined
    return only && { type: only.type, nullable: others.length < names.length }
  }
  const type = plainType(schema, depth)
  return type && { type, nullable: false }
}

function plainType(schema: Readonly<Record<string, unknown>>, depth: number): ArgumentType | undefined {
  const name = typeName(schema)
  if (name === 'object') return recordType(schema, depth)
  if (name === 'array') {
    const items = typeOf(schema['items'], depth + 1)
    return items && !items.nullable ? { type: 'Set', element: items.type } : undefined
  }
  const scalar = name !== undefined && Object.hasOwn(scalars, name) ? scalars[name] : undefined
  return scalar && { type: scalar }
}

function typeName(schema: Readonly<Record<string, unknown>>): string | undefined {
  const { type, enum: values } = schema
  if (typeof type === 'string') return type
  const all = Array.isArray(values) ? values : 'const' in schema ? [schema['const']] : []
  return all.length > 0 && all.every((value) => typeof value === 'string') ? 'string' : undefined
}

function recordType(schema: Readonly<Record<string, unknown>>, depth: number): RecordType | undefined {
  const { properties, required } = schema
  // An object with free keys has no type in Cedar.
  if (!isRecord(properties)) return depth === 0 ? { type: 'Record', attributes: {} } : undefined
  const names = new Set<unknown>(Array.isArray(required) ? required : [])
  const attributes: Record<string, ArgumentType & { required: boolean }> = {}
  for (const [key, property] of Object.entries(properties)) {
    const type = isReserved(key) ? undefined : typeOf(property, depth + 1)
    if (type) attributes[key] = { ...type.type, required: names.has(key) && !type.nullable }
  }
  return { type: 'Record', attributes }
}

/** Keys that Cedar reads as an entity or a function, and those of JavaScript. */
function isReserved(key: string): boolean {
  return key.startsWith('__')
}

/** A value that has no place in its type: the call is denied. */
export class UntypedValue extends Error {}

/**
 * Returns the arguments as Cedar receives them: without those that have no type, and without `null` where the schema allows
 * it. Cedar itself checks the types.
 *
 * @throws UntypedValue for a key that the schema does not have, and for a number that is not a whole one.
 */
export function typedArguments(
  value: Json | undefined,
  schema: JsonSchema,
  type: RecordType,
): Record<string, CedarValue> {
  if (!isRecord(value)) throw new UntypedValue('the arguments are no object')
  return typedRecord(value, schema, type)
}

function typedRecord(
  value: Readonly<Record<string, unknown>>,
  schema: unknown,
  { attributes }: RecordType,
): Record<string, CedarValue> {
  const properties = isRecord(schema) && isRecord(schema['properties']) ? schema['properties'] : {}
  const typed: Record<string, CedarValue> = {}
  for (const [key, item] of Object.entries(value)) {
    if (!Object.hasOwn(properties, key)) throw new UntypedValue('an argument is not in the schema of the tool')
    const type = Object.hasOwn(attributes, key) ? attributes[key] : undefined
    if (!type || (item === null && !type.required)) continue
    typed[key] = typedValue(item, properties[key], type)
  }
  return typed
}

function typedValue(value: unknown, schema: unknown, type: ArgumentType): CedarValue {
  if (type.type === 'Record') {
    if (!isRecord(value)) throw new UntypedValue('an argument is no object')
    return typedRecord(value, withoutNull(schema), type)
  }
  if (type.type === 'Set') {
    if (!Array.isArray(value)) throw new UntypedValue('an argument is no list')
    const items = isRecord(schema) ? withoutNull(schema) : {}
    return value.map((item) => typedValue(item, items['items'], type.element))
  }
  if (type.type === 'String' && typeof value === 'string') return value
  if (type.type === 'Boolean' && typeof value === 'boolean') return value
  if (type.type === 'Long' && typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new UntypedValue(`an argument is no ${type.type === 'Long' ? 'whole number' : type.type}`)
}

/** Returns the alternative of a schema that is not null. */
function withoutNull(schema: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(schema)) return {}
  const options = schema['anyOf'] ?? schema['oneOf']
  const only = Array.isArray(options) ? options.find((one) => isRecord(one) && one['type'] !== 'null') : undefined
  return isRecord(only) ? withoutNull(only) : schema
}
