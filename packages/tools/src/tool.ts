import { escapePointer, isRecord, isStandardSchema, ProvostError } from '@provost/core'
import type {
  AnySchema,
  ArgRole,
  JsonPointer,
  JsonSchema,
  StandardSchemaV1,
  Stated,
  Tool,
  ToolDefinition,
  WrittenFor,
} from '@provost/core'

import { jsonCheckOf, jsonSchemaOf } from './json-schema.ts'
import { fixLabel, isPointer } from './result-label.ts'
import type { ResultOf, ToolOptions } from './tool-options.ts'

/** Milliseconds a call may take unless its tool says otherwise. */
export const defaultTimeoutMs: number = 60_000

const longestTimeoutMs = 2 ** 31 - 1

/**
 * Defines a tool. Types follow from the schemas and from what `execute` returns.
 *
 * @throws ProvostError `invalid-tool` for a name, schema, timeout or pointer that cannot work, saying which.
 *
 * @example
 * const refund = tool({
 *   name: 'refund',
 *   input: z.object({ orderId: z.string(), amount: z.number() }),
 *   args: { orderId: 'selector', amount: 'amount' },
 *   needsApproval: ({ amount }) => amount > 50,
 *   execute: ({ orderId, amount }) => `refunded ${amount} on ${orderId}`,
 * })
 */
export function tool<
  const S extends AnySchema,
  R = unknown,
  App = unknown,
  O extends StandardSchemaV1 = StandardSchemaV1,
  Asking = unknown,
>(options: ToolOptions<S, R, App, O, Asking>): Tool<WrittenFor<S>, ResultOf<R, O>, Stated<App & Asking>> {
  const { name, title, description, output, effect = 'write', idempotent = false } = options
  checkName(name)
  const inputSchema = inputSchemaOf(name, options.input)
  const outputSchema = output && outputSchemaOf(output)
  return Object.freeze({
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    effect,
    roles: Object.freeze(rolesOf(options.args ?? {})),
    inputSchema,
    ...(outputSchema && { outputSchema }),
    idempotent,
    remote: options.execute === undefined,
    composite: false,
    deferred: false,
    '~tool': definitionOf(options),
  })
}

function definitionOf<S extends AnySchema, R, App, O extends StandardSchemaV1, Asking>(
  options: ToolOptions<S, R, App, O, Asking>,
): ToolDefinition {
  const { name, input, output, execute, returns, needsApproval, preferredModel } = options
  const { timeoutMs = defaultTimeoutMs, executionMode = 'parallel', examples = [] } = options
  const trustedFields = (options.trustedFields ?? []).map((field) => pointerIn(name, field))
  if (!(timeoutMs > 0 && timeoutMs <= longestTimeoutMs))
    throw invalid(name, `timeoutMs is ${timeoutMs}`, `Give milliseconds from 1 to ${longestTimeoutMs}.`)
  const definition: ToolDefinition = Object.freeze({
    input,
    ...(output && { output }),
    timeoutMs,
    executionMode,
    trustedFields,
    examples,
    ...(preferredModel && { preferredModel }),
    ...(execute && { execute }),
    ...(needsApproval && { needsApproval: needsApproval === true ? () => true : needsApproval }),
    ...(returns && { returns: typeof returns === 'function' ? returns : () => returns }),
  })
  if (returns && typeof returns !== 'function') fixLabel(definition, returns)
  return definition
}

function checkName(name: string): void {
  if (/^[\w-]{1,64}$/.test(name)) return
  throw invalid(name, 'its name is not one that models can call', 'Use 1 to 64 letters, digits, _ and -.')
}

function inputSchemaOf(name: string, schema: AnySchema): JsonSchema {
  if (!isStandardSchema(schema) && !isRecord(schema))
    throw invalid(name, 'its input is no schema', 'Give a Standard Schema such as z.object({ … }), or a JSON Schema.')
  try {
    if (!isStandardSchema(schema)) jsonCheckOf(schema)
    const json = jsonSchemaOf(schema)
    if (json.type === undefined || json.type === 'object') return json
  } catch (cause) {
    if (cause instanceof ProvostError) throw invalid(name, cause.message.replace(/\.$/, ''), cause.hint, cause)
    throw cause
  }
  throw invalid(name, 'its input is not an object', 'Models write the input of a call as a JSON object: use one.')
}

/** What cannot be said in JSON Schema is still validated; it is only not described. */
function outputSchemaOf(schema: StandardSchemaV1): JsonSchema | undefined {
  try {
    return jsonSchemaOf(schema, 'output')
  } catch {
    return undefined
  }
}

function rolesOf(args: Readonly<Record<string, ArgRole | undefined>>): Record<JsonPointer, ArgRole> {
  const roles: Record<JsonPointer, ArgRole> = {}
  for (const [key, role] of Object.entries(args)) {
    if (role !== undefined) roles[pointerOf(key)] = role
  }
  return roles
}

function pointerIn(name: string, field: string): JsonPointer {
  if (isPointer(field)) return field
  throw invalid(name, `trustedFields has ${JSON.stringify(field)}`, 'Give JSON pointers such as /id.')
}

function pointerOf(key: string): JsonPointer {
  return isPointer(key) ? key : `/${escapePointer(key)}`
}

function invalid(name: string, what: string, hint: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-tool', `The tool ${JSON.stringify(name)} cannot be used: ${what}.`, { hint, cause })
}
