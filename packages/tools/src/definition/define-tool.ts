import { isRecord, isStandardSchema, nearestName, ProvostError } from '@provost/core'
import type {
  AnySchema,
  ArgRole,
  Effect,
  InboundPolicy,
  Isolation,
  JsonPointer,
  JsonSchema,
  Tool,
  ToolDefinition,
  Truncation,
} from '@provost/core'

import { jsonCheckOf, jsonSchemaOf } from './json-schema.ts'
import { mayHave } from './schema-place.ts'
import { checkSchemaSize } from './schema-size.ts'

/** The parts of a tool after all checks that do not need its schema. */
export interface ToolParts {
  readonly name: string
  readonly version?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly effect: Effect
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  readonly idempotent: boolean
  readonly remote: boolean
  readonly composite?: boolean | undefined
  readonly deferred: boolean
  readonly modelOnly?: boolean | undefined
  readonly set?: string | undefined
  readonly maxResultTokens?: number | undefined
  readonly truncation?: Truncation | undefined
  readonly sanitize?: boolean | InboundPolicy | undefined
  readonly sandbox?: Isolation | undefined
  readonly definition: ToolDefinition
  /** Converts the schema into JSON Schema on first use, because few of thousands of deferred tools are ever used. */
  readonly lazy: boolean
}

/**
 * Returns a tool from its parts.
 *
 * @throws ProvostError `invalid-tool` for a name or, unless it is lazy, for a schema that cannot work.
 */
export function makeTool<In = never, Out = unknown, App = never>(parts: ToolParts): Tool<In, Out, App> {
  const { name, version, title, description, effect, roles, idempotent, remote, deferred, set, definition } = parts
  const { maxResultTokens, truncation, sanitize, sandbox = 'none', modelOnly, composite = false } = parts
  checkName(name)
  const rest = {
    name,
    ...(version !== undefined && { version }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    effect,
    roles: Object.freeze(roles),
    idempotent,
    remote,
    composite,
    deferred,
    ...(modelOnly && { modelOnly }),
    ...(set !== undefined && { set }),
    ...(maxResultTokens !== undefined && { maxResultTokens }),
    ...(truncation && { truncation }),
    ...(sanitize !== undefined && { sanitize }),
    ...(sandbox !== 'none' && { sandbox }),
    '~tool': definition,
  }
  if (!parts.lazy) {
    const outputSchema = outputSchemaOf(definition)
    return Object.freeze({
      ...rest,
      inputSchema: inputSchemaOf(name, definition.input, roles),
      ...(outputSchema && { outputSchema }),
    })
  }
  let inputSchema: JsonSchema | undefined
  let outputSchema: JsonSchema | undefined
  return Object.freeze({
    ...rest,
    get inputSchema() {
      return (inputSchema ??= inputSchemaOf(name, definition.input, roles))
    },
    get outputSchema() {
      return (outputSchema ??= outputSchemaOf(definition) ?? {})
    },
  })
}

/**
 * Returns a copy with another name, in a set, or with a sandbox. Lazy schemas stay lazy.
 */
export function withInfo<T extends Tool>(
  tool: T,
  info: Partial<Pick<Tool, 'name' | 'set' | 'reading' | 'sandbox'>>,
): T {
  const changes = Object.getOwnPropertyDescriptors(info)
  const copy: T = Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(tool), ...changes })
  return Object.freeze(copy)
}

function checkName(name: string): void {
  if (typeof name === 'string' && /^[^\p{C}\p{Z}]{1,128}$/u.test(name)) return
  throw invalidTool(
    name,
    'its name is invalid',
    'Use 1 to 128 visible characters without spaces, best only letters, digits, _ and -.',
  )
}

function inputSchemaOf(name: string, schema: AnySchema, roles: ToolParts['roles']): JsonSchema {
  try {
    if (!isStandardSchema(schema)) {
      checkSchemaSize(schema)
      jsonCheckOf(schema)
    }
    const json = jsonSchemaOf(schema)
    checkSchemaSize(json)
    if (json.type === undefined || json.type === 'object') {
      for (const pointer of Object.keys(roles)) checkPlace(name, pointer, json)
      return json
    }
  } catch (cause) {
    if (cause instanceof ProvostError && cause.code === 'invalid-tool') throw cause
    if (cause instanceof ProvostError) throw invalidTool(name, cause.message.replace(/\.$/, ''), cause.hint, cause)
    throw cause
  }
  throw invalidTool(
    name,
    'its input is not an object',
    'Use an object: models write the input of a call as a JSON object.',
  )
}

/** A role at an impossible place would govern nothing. */
function checkPlace(name: string, pointer: string, schema: JsonSchema): void {
  if (mayHave(schema, `/${pointer.slice(1)}`)) return
  const { properties } = schema
  const near = nearestName(pointer.slice(1), isRecord(properties) ? Object.keys(properties) : [])
  throw invalidTool(
    name,
    `args has a role at ${JSON.stringify(pointer.slice(0, 200))}, and its input has no such place`,
    near === undefined ? 'Name a key of the input, or a JSON pointer into it such as /items/0/id.' : `Write "${near}".`,
  )
}

/** Returns the JSON Schema of the output. Undefined if it has none: the output is then validated but not described. */
function outputSchemaOf({ output }: ToolDefinition): JsonSchema | undefined {
  if (!output) return undefined
  try {
    const json = jsonSchemaOf(output, 'output')
    checkSchemaSize(json)
    return json
  } catch {
    return undefined
  }
}

/** Returns the error for an invalid tool. */
export function invalidTool(name: unknown, what: string, hint: string | undefined, cause?: unknown): ProvostError {
  const shown = JSON.stringify(typeof name === 'string' ? name.slice(0, 200) : name) ?? 'undefined'
  return new ProvostError('invalid-tool', `The tool ${shown} cannot be used: ${what}.`, { hint, cause })
}
