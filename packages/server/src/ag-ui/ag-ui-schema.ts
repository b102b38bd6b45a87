import { z } from 'zod'

/** A message of a thread. */
export interface ThreadMessage {
  [field: string]: unknown
  id: string
  role: string
  content?: unknown
}

/** A tool of the page. */
interface PageTool {
  [field: string]: unknown
  name: string
  description?: string | undefined
  parameters?: Record<string, unknown> | undefined
}

/** An answer to an interrupt. */
export interface ResumeBody {
  [field: string]: unknown
  interruptId: string
  status: 'resolved' | 'cancelled'
  payload?: unknown
}

/** The body of `POST /ag-ui/{agent}`: `RunAgentInput` of AG-UI. */
export interface RunBody {
  [field: string]: unknown
  threadId: string
  runId: string
  protocolVersion?: string | undefined
  state?: unknown
  messages: ThreadMessage[]
  tools?: PageTool[] | undefined
  context?: { [field: string]: unknown; description: string; value: string }[] | undefined
  resume?: ResumeBody[] | undefined
}

const id = z.string().min(1).max(200)

export const runSchema: z.ZodType<RunBody> = z.looseObject({
  threadId: id.describe('Of the thread; its session belongs to one principal and one agent.'),
  runId: id,
  protocolVersion: z.string().max(50).optional(),
  state: z.unknown().optional().describe('State of the page: the model reads it as untrusted context.'),
  messages: z
    .array(z.looseObject({ id: z.string().min(1).max(1_000), role: z.string().max(50) }))
    .max(10_000)
    .describe('The server reads what its thread lacks.'),
  tools: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[A-Za-z_][\w-]{0,63}$/u),
        description: z.string().max(10_000).optional(),
        parameters: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .max(128)
    .optional()
    .describe('Tools of the page, with the first run of a thread.'),
  context: z
    .array(z.looseObject({ description: z.string().max(10_000), value: z.string().max(100_000) }))
    .max(100)
    .optional(),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string().min(1).max(1_000),
        status: z.enum(['resolved', 'cancelled']),
        payload: z.unknown().optional(),
      }),
    )
    .max(1_000)
    .optional(),
})
