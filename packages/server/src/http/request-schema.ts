import { isBase64 } from '@provost/core'
import { z } from 'zod'

import type { RequestedOptions } from '../options/request-options.ts'

interface GivenFile {
  type: 'file'
  mediaType: string
  filename?: string | undefined
  data: { type: 'data'; data: string } | { type: 'url'; url: string } | { type: 'text'; text: string }
}
/** Input of a client. */
export type GivenInput = string | ({ type: 'text'; text: string } | GivenFile)[]

/** How a remote call of a client ended. */
export type RemoteResultBody =
  | { callId: string; output: unknown }
  | { callId: string; error: { message: string; code?: string | undefined } }

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
  batches?:
    | {
        id: string
        decision: 'approve' | 'deny'
        reason?: string | undefined
        except?: string[] | undefined
        edits?: Record<string, unknown> | undefined
      }[]
    | undefined
  toolResults?: RemoteResultBody[] | undefined
  uncertain?: { callId: string; decision: 'retry' | 'done' | 'fail'; output?: unknown }[] | undefined
  inputs?: { id: string; value?: unknown }[] | undefined
}

/** Options of a run that a client may give. */
interface RunOptionsBody extends RequestedOptions {
  maxSteps?: number | undefined
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
  options?: RunOptionsBody | undefined
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

/** The body of a compensation: where it begins, or answers to what it waits for. */
export interface CompensateBody extends DecisionsBody {
  since?: string | number | { time: number } | undefined
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
const mostRows = 1_000
const batch = z
  .strictObject({
    id: waitId,
    decision: z.enum(['approve', 'deny']),
    reason: z.string().max(10_000).optional(),
    except: z.array(waitId).max(mostRows).optional().describe('Ids of approvals whose calls are denied.'),
    edits: z.record(waitId, z.unknown()).optional().describe('New arguments, by the id of the approval.'),
  })
  .refine(
    ({ decision, except = [], edits = {} }) =>
      decision === 'approve' || except.length + Object.keys(edits).length === 0,
    '`except` and `edits` belong to `approve`',
  )
const toolResult: z.ZodType<RemoteResultBody> = z.union(
  [
    z.strictObject({
      callId: waitId,
      output: z.unknown().refine((output) => output !== undefined, 'it has no output'),
    }),
    z.strictObject({
      callId: waitId,
      error: z.strictObject({ message: z.string().max(10_000), code: z.string().min(1).max(100).optional() }),
    }),
  ],
  'give either `output`, or `error: { message, code? }`',
)
const uncertain = z.strictObject({
  callId: waitId,
  decision: z.enum(['retry', 'done', 'fail']),
  output: z.unknown().optional(),
})
const answer = z.strictObject({ id: waitId, value: z.unknown() })

const decisions = {
  approvals: z.array(approval).max(100).optional(),
  batches: z.array(batch).max(100).optional(),
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

const runOptions = z.strictObject({
  maxSteps: z.int().min(1).max(1_000).optional(),
  model: name.optional().describe('One of the models that the server offers to requests.'),
  temperature: z.number().optional(),
  toolChoice: z
    .union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: name })])
    .optional()
    .describe('`required` and `tool` hold for the first model call of the run.'),
})

const history = z.array(historyMessage).max(10_000)

export const executeSchema: z.ZodType<ExecuteBody> = z
  .strictObject({
    agent: name.optional(),
    sessionId: z.string().min(1).max(200).optional(),
    input: inputSchema.optional(),
    ...decisions,
    messages: history.optional(),
    tools: z
      .array(remoteTool)
      .refine((tools) => new Set(tools.map((one) => one.name)).size === tools.length, 'two have the same name')
      .optional(),
    options: runOptions.optional(),
  })
  .describe(
    '`input` begins a run; `approvals`, `batches`, `toolResults`, `uncertain` and `inputs` answer what a suspended one waits for. `messages` and `tools` are for a new session.',
  )

/** The body of `PUT /api/agent/session/{id}`. */
export type CreateBody = Pick<ExecuteBody, 'agent' | 'messages'>

export const createSchema: z.ZodType<CreateBody> = z.strictObject({
  agent: name.optional(),
  messages: history.optional(),
})

export const sendSchema: z.ZodType<SendBody> = z.strictObject({
  input: inputSchema,
  to: runId.optional().describe('Id of the receiving run, from its events: a descendant of the active run.'),
})

export const abortSchema: z.ZodType<AbortBody> = z.strictObject({
  drain: z.boolean().optional(),
  graceMs: z.int().min(0).max(60_000).optional(),
  onPendingApprovals: z.enum(['deny', 'hold', 'fail']).optional(),
})

export const compensateSchema: z.ZodType<CompensateBody> = z.strictObject({
  since: z
    .union([z.string().min(1).max(1_000), z.int().min(0), z.strictObject({ time: z.int().min(0) })])
    .optional()
    .describe(
      'Later effects are undone: the id of a message, an offset in the log, or a time in milliseconds. Default: all.',
    ),
  ...decisions,
})

export const acceptSchema: z.ZodType<{ change: string }> = z.strictObject({
  change: z.string().min(1).max(100).describe('Id of the change, from `GET /api/waits`.'),
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

const verbose = z.enum(['0', '1']).optional().describe('1: each frame is the whole event.')
type Verbose = '0' | '1' | undefined

export const streamQuery: z.ZodType<{ verbose?: Verbose }> = z.object({ verbose })

export const eventsQuery: z.ZodType<{
  after?: string | undefined
  verbose?: Verbose
  follow?: '0' | '1' | undefined
  recover?: '0' | '1' | undefined
}> = z.object({
  after: z.string().min(1).max(10_000).optional(),
  verbose,
  follow: z.enum(['0', '1']).optional().describe('1: the stream stays open while no run is active.'),
  recover: z.enum(['0', '1']).optional().describe('0: only reads. A run whose process died is not resumed.'),
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
