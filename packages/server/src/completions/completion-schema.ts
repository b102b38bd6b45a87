import { z } from 'zod'

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().regex(/^[A-Za-z_][\w-]{0,63}$/u),
    description: z.string().max(10_000).nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
})
const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).max(10_000)]).nullish(),
})

/** A part of a message. */
interface PartBody {
  [field: string]: unknown
  type: string
}

/** A message of a request. */
export interface MessageBody {
  [field: string]: unknown
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  content?: string | PartBody[] | null | undefined
}

interface FunctionBody {
  [field: string]: unknown
  name: string
  description?: string | null | undefined
  parameters?: Record<string, unknown> | null | undefined
}

/** The body of `POST /v1/chat/completions`. */
export interface CompletionBody {
  [field: string]: unknown
  model: string
  messages: MessageBody[]
  stream?: boolean | null | undefined
  stream_options?: { [field: string]: unknown; include_usage?: boolean | null | undefined } | null | undefined
  tools?: { [field: string]: unknown; type: 'function'; function: FunctionBody }[] | null | undefined
  n?: 1 | null | undefined
  response_format?: { [field: string]: unknown; type: 'text' } | null | undefined
}

/** Fields that the agent decides, such as sampling, have no effect. */
export const completionSchema: z.ZodType<CompletionBody> = z.looseObject({
  model: z.string().min(1).max(200).describe('Name of the agent.'),
  messages: z.array(message).min(1).max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).max(128).nullish().describe('Tools of the client.'),
  n: z.literal(1).nullish(),
  response_format: z
    .looseObject({ type: z.literal('text') })
    .nullish()
    .describe('The agent decides the form of its output: only `text`.'),
})

export const completionAnswer: z.ZodType = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.number(), finish_reason: z.string() })),
})

const model = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.number(),
  owned_by: z.string(),
  description: z.string().optional(),
})
export const modelSchema: z.ZodType = model
export const modelsSchema: z.ZodType = z.object({ object: z.literal('list'), data: z.array(model) })
