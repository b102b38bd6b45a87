import type { Json, MaybePromise } from '@provost/core'
import { isRecord, ProvostError, toErrorInfo, toJson } from '@provost/core'

/** A tool that runs where the client is. */
export interface ClientTool {
  /** A letter or `_`, then letters, digits, `_` and `-`; up to 64 characters. */
  readonly name: string
  readonly description?: string
  /** A schema that can say itself as JSON Schema (zod 4, arktype, …), or a JSON Schema. */
  readonly input: object
  /** Milliseconds that the result has. Default: as long as it takes. */
  readonly timeoutMs?: number
  /** What it throws is told to the model. */
  execute(input: never, call: { readonly callId: string; readonly signal: AbortSignal }): MaybePromise<unknown>
}

/** What the server is told of a tool. */
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
  throw new ProvostError('invalid-tool', `The input of tool ${name} cannot be said as JSON Schema.`, {
    hint: 'Give a JSON Schema, or a schema of zod 4.2 or later.',
  })
}

/** Runs a call here; an error is a result like any other, for the model to read. */
export async function runClientTool(
  tool: ClientTool,
  input: Json,
  call: { readonly callId: string; readonly signal: AbortSignal },
): Promise<Json> {
  try {
    const checked = await check(tool, input)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tool's own schema has let it through
    return toJson((await tool.execute(checked as never, call)) ?? null)
  } catch (thrown) {
    const { code, message, hint } = toErrorInfo(thrown, 'tool-error')
    return { error: { code, message, ...(hint !== undefined && { hint }) } }
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
    `The input of ${name} does not fit: ${JSON.stringify(isRecord(result) ? result['issues'] : result)}.`,
    {
      hint: 'Call it again with an input that fits its schema.',
    },
  )
}
