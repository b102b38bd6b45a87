import { isBase64 } from '@provost/core'
import { z } from 'zod'

interface GivenFile {
  type: 'file'
  mediaType: string
  filename?: string | undefined
  data: { type: 'data'; data: string } | { type: 'url'; url: string } | { type: 'text'; text: string }
}
/** Input of a client. */
export type GivenInput = string | ({ type: 'text'; text: string } | GivenFile)[]

/** Decisions of a client. */
export interface DecisionsBody {
  approvals?:
    | {
        id: string
        decision: 'approve' | 'deny'
        reason?: string | undefined
        args?: unknown
        sticky?: 'session' | undefined
      }[]
    | undefined
  toolResults?: { callId: string; output?: unknown }[] | undefined
  uncertain?: { callId: string; decision: 'retry' | 'done' | 'fail'; output?: unknown }[] | undefined
  inputs?: { id: string; value?: unknown }[] | undefined
}

/** The body of `POST /api/agent/execute`. */
export interface ExecuteBody extends DecisionsBody {
  agent?: string | undefined
  sessionId?: string | undefined
  input?: GivenInput | undefined
  messages?: { role: 'system' | 'user' | 'assistant' | 'tool'; content: unknown }[] | undefined
  tools?:
    | {
        name: string
        description?: string | undefined
        inputSchema: { type: 'object'; [key: string]: unknown }
        timeoutMs?: number | undefined
      }[]
    | undefined
  options?: { maxSteps?: number | undefined } | undefined
}

/** The body of a steer or a follow-up. */
interface SendBody {
  input: GivenInput
  to?: string | undefined
}

interface AbortBody {
  drain?: boolean | undefined
  graceMs?: number | undefined
  onPendingApprovals?: 'deny' | 'hold' | 'fail' | undefined
}

interface ListQuery {
  after?: string | undefined
  limit?: number | undefined
  status?: 'idle' | 'running' | 'suspended' | 'failed' | 'quarantined' | undefined
}

/** User input: text, or parts. A client cannot set other fields of a message, such as labels and roles. */
const textPart = z.strictObject({ type: z.literal('text'), text: z.string() })
const filePart = z.strictObject({
  type: z.literal('file'),
  mediaType: z.string().min(1).max(200),
  filename: z.string().max(500).optional(),
  data: z.union([
    z.strictObject({ type: z.literal('data'), data: z.string().refine(isBase64, 'this is not base64') }),
    z.strictObject({ type: z.literal('url'), url: z.url({ protocol: /^https?$/u }) }),
    z.strictObject({ type: z.literal('text'), text: z.string() }),
  ]),
})
const inputSchema: z.ZodType<GivenInput> = z.union([
  z
    .string()
    .min(1)
    .refine((text) => text.trim() !== '', 'there is no text in it'),
  z
    .array(z.union([textPart, filePart]))
    .min(1)
    .max(100),
])

const name = z.string().min(1).max(200)
const waitId = z.string().min(1).max(1_000)
const runId = z.string().min(1).max(1_000)

const approval = z.strictObject({
  id: waitId,
  decision: z.enum(['approve', 'deny']),
  reason: z.string().max(10_000).optional(),
  args: z.unknown().optional(),
  sticky: z.literal('session').optional(),
})
const toolResult = z.strictObject({ callId: waitId, output: z.unknown() })
const uncertain = z.strictObject({
  callId: waitId,
  decision: z.enum(['retry', 'done', 'fail']),
  output: z.unknown().optional(),
})
const answer = z.strictObject({ id: waitId, value: z.unknown() })

const decisions = {
  approvals: z.array(approval).max(100).optional(),
  toolResults: z.array(toolResult).max(100).optional(),
  uncertain: z.array(uncertain).max(100).optional(),
  inputs: z.array(answer).max(100).optional(),
}
export const decisionsSchema: z.ZodType<DecisionsBody> = z.strictObject(decisions)

export const toolResultsSchema: z.ZodType<DecisionsBody> = z.strictObject({
  toolResults: z.array(toolResult).min(1).max(100),
})

const remoteTool = z.strictObject({
  name: z.string().regex(/^[A-Za-z_][\w-]{0,63}$/u),
  description: z.string().max(10_000).optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  timeoutMs: z.int().min(1).max(604_800_000).optional(),
})

/** A message of a client's history. The server rebuilds, repairs and imports it as untrusted; system messages lose their authority. */
const historyMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
})

export const executeSchema: z.ZodType<ExecuteBody> = z
  .strictObject({
    agent: name.optional(),
    sessionId: z.string().min(1).max(200).optional(),
    input: inputSchema.optional(),
    ...decisions,
    messages: z.array(historyMessage).max(10_000).optional(),
    tools: z
      .array(remoteTool)
      .refine((tools) => new Set(tools.map((one) => one.name)).size === tools.length, 'two have the same name')
      .optional(),
    options: z.strictObject({ maxSteps: z.int().min(1).max(1_000).optional() }).optional(),
  })
  .describe(
    '`input` begins a run; `approvals`, `toolResults`, `uncertain` and `inputs` answer what a suspended one waits for. `messages` and `tools` are for a new session.',
  )

export const sendSchema: z.ZodType<SendBody> = z.strictObject({
  input: inputSchema,
  to: runId.optional().describe('Id of the receiving run, from its events: a descendant of the active run.'),
})

export const abortSchema: z.ZodType<AbortBody> = z.strictObject({
  drain: z.boolean().optional(),
  graceMs: z.int().min(0).max(60_000).optional(),
  onPendingApprovals: z.enum(['deny', 'hold', 'fail']).optional(),
})

export const listQuery: z.ZodType<ListQuery> = z.object({
  after: z.string().min(1).max(200).optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  status: z.enum(['idle', 'running', 'suspended', 'failed', 'quarantined']).optional(),
})

export const waitsQuery: z.ZodType<{ after?: string | undefined; limit?: number | undefined }> = z.object({
  after: z.string().min(1).max(4_000).optional(),
  limit: z.coerce.number().int().min(1).max(100).optional(),
})

export const eventsQuery: z.ZodType<{ after?: string | undefined }> = z.object({
  after: z.string().min(1).max(10_000).optional(),
})

/** Depth of a client's JSON at most, since recursive code reads it. */
const deepest = 100

/** Whether a JSON text is nested deeper than the limit. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === '\\') i++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') {
      if (++depth > deepest) return true
    } else if (char === '}' || char === ']') depth--
  }
  return false
}
