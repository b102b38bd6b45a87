import { z } from 'zod'

const text = z.string().max(16_777_216)
const id = z.string().min(1).max(2_000)

/** An item of the input, with the fields that its type has. */
const inputItem = z.looseObject({ type: z.string().max(100).optional(), role: z.string().max(100).optional() })

/** A tool of the client. */
export interface FunctionTool {
  [field: string]: unknown
  type: 'function'
  name: string
  description?: string | null | undefined
  parameters?: Record<string, unknown> | null | undefined
}

/** The body of `POST /v1/responses/compact`. */
export interface CompactBody {
  [field: string]: unknown
  model: string
  input?: string | Record<string, unknown>[] | null | undefined
  instructions?: string | null | undefined
  previous_response_id?: string | null | undefined
}

/** The body of `POST /v1/responses`. */
export interface ResponseBody extends CompactBody {
  conversation?: string | { [field: string]: unknown; id: string } | null | undefined
  stream?: boolean | null | undefined
  background?: boolean | null | undefined
  store?: true | null | undefined
  tools?: FunctionTool[] | null | undefined
  metadata?: Record<string, string> | null | undefined
  text?:
    | { [field: string]: unknown; format?: { [field: string]: unknown; type: 'text' } | null | undefined }
    | null
    | undefined
}

/** Other types of tools would run at the provider, which an agent does not offer to its clients. */
const functionTool: z.ZodType<FunctionTool> = z.looseObject({
  type: z.literal('function'),
  name: z.string().regex(/^[A-Za-z_][\w-]{0,63}$/u),
  description: z.string().max(10_000).nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
})

const shared = {
  model: z.string().min(1).max(200).describe('Name of the agent.'),
  input: z
    .union([text.min(1), z.array(inputItem).min(1).max(10_000)])
    .nullish()
    .describe('Text, or items: messages, `function_call_output`, `mcp_approval_response`, `provost:input_response`.'),
  instructions: z
    .string()
    .max(100_000)
    .nullish()
    .describe('Context from the client: it has no authority over the agent.'),
  previous_response_id: id.nullish(),
}

/** Fields that the agent decides, such as sampling, are accepted and have no effect. */
export const responseSchema: z.ZodType<ResponseBody> = z.looseObject({
  ...shared,
  conversation: z
    .union([id, z.looseObject({ id })])
    .nullish()
    .describe('Id of a session; an unknown one begins it.'),
  stream: z.boolean().nullish(),
  background: z
    .boolean()
    .nullish()
    .describe('The response is read with GET: leaving the stream does not stop the run.'),
  store: z.literal(true).nullish().describe('The log keeps each run.'),
  tools: z.array(functionTool).max(128).nullish().describe('Tools of the client, with the first request.'),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((given) => Object.keys(given).length <= 16, 'it has more than 16 keys')
    .nullish(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.literal('text') }).nullish() })
    .nullish()
    .describe('The agent decides the form of its output: only `text`.'),
})

export const compactSchema: z.ZodType<CompactBody> = z.looseObject(shared)

/** The query of `GET /v1/responses/{id}`. */
export const retrieveQuery: z.ZodType<{ [field: string]: unknown; stream?: 'true' | 'false' | undefined }> =
  z.looseObject({ stream: z.enum(['true', 'false']).optional() })

const status = z.enum(['queued', 'in_progress', 'completed', 'failed', 'incomplete'])

/** A response as the server returns it. */
export const resourceSchema: z.ZodType = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status,
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  conversation: z.object({ id: z.string() }),
})

export const compactionSchema: z.ZodType = z.looseObject({
  id: z.string(),
  object: z.literal('response.compaction'),
  output: z.array(z.looseObject({ id: z.string(), type: z.literal('compaction') })),
})
