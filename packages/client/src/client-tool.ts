import type { Json, MaybePromise } from '@provost/core'
import { isRecord, ProvostError, toErrorInfo, toJson } from '@provost/core'

/** A tool that runs in the client's process. */
export interface ClientTool {
  /** Name: a letter or `_`, then letters, digits, `_` and `-`; up to 64 characters. */
  readonly name: string
  readonly description?: string
  /** A schema that converts to JSON Schema (zod 4, arktype, …), or a JSON Schema. */
  readonly input: object
  /** Milliseconds within which the result must arrive. Default: unlimited. */
  readonly timeoutMs?: number
  /** Runs the tool. A thrown error fails the call: the model receives its code, message and hint. */
  execute(input: never, call: { readonly callId: string; readonly signal: AbortSignal }): MaybePromise<unknown>
}

/** Returns the definition of a tool for the server. */
export function definitionOf({ name, description, input, timeoutMs }: ClientTool): Json {
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: toJson(schemaOf(name, input)),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
}

function schemaOf(name: string, input: object): unknown {
  const standard: unknown = '~standard' in input ? input['~standard'] : undefined
  if (standard === undefined) return input
  const maker: unknown = isRecord(standard) ? standard['jsonSchema'] : undefined
  const make: unknown = isRecord(maker) ? maker['input'] : undefined
  if (typeof make === 'function') {
    const { $schema: _, ...schema }: Record<string, unknown> = make({ target: 'draft-2020-12' })
    return schema
  }
  throw new ProvostError('invalid-tool', `The input schema of tool ${name} does not convert to JSON Schema.`, {
    hint: 'Give a JSON Schema, or a schema of zod 4.2 or later.',
  })
}

/** The server rejects longer ones. */
const longestCode = 100
const longestText = 10_000

/** Runs a call. Returns its result for the server: the output, or the error that the tool threw. */
export async function runClientTool(
  tool: ClientTool,
  input: Json,
  call: { readonly callId: string; readonly signal: AbortSignal },
): Promise<{ readonly [key: string]: Json }> {
  const { callId } = call
  try {
    const checked = await check(tool, input)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tool's own schema has validated it
    const output = toJson((await tool.execute(checked as never, call)) ?? null)
    return { callId, output }
  } catch (thrown) {
    const { code, message, hint } = toErrorInfo(thrown, 'tool-error')
    const text = hint === undefined ? message : `${message}\n${hint}`
    return { callId, error: { code: code.slice(0, longestCode), message: text.slice(0, longestText) } }
  }
}

async function check({ name, input: schema }: ClientTool, input: Json): Promise<unknown> {
  const standard: unknown = '~standard' in schema ? schema['~standard'] : undefined
  const validate: unknown = isRecord(standard) ? standard['validate'] : undefined
  if (typeof validate !== 'function') return input
  const result: unknown = await validate(input)
  if (isRecord(result) && !result['issues']) return result['value']
  throw new ProvostError(
    'invalid-tool-input',
    `The input of ${name} does not match its schema: ${JSON.stringify(isRecord(result) ? result['issues'] : result)}.`,
    {
      hint: 'Call the tool again with an input that matches its schema.',
    },
  )
}
