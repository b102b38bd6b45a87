import { z } from 'zod'

import type { ConsoleStatus } from './console-answer.ts'
import { consoleStatus } from './console-schema.ts'

const name = z.string().min(1).max(200)
const log = z.string().min(1).max(500)
const cursor = z.string().min(1).max(8_000)
const offset = z.coerce.number().int().min(1).max(1e9)
const time = z.coerce.number().int().min(0).max(8.64e15)

/** The query of `GET /api/console/sessions`. */
interface SessionsQuery {
  before?: string | undefined
  q?: string | undefined
  status?: ConsoleStatus | undefined
  agent?: string | undefined
  principal?: string | undefined
  rule?: string | undefined
  from?: number | undefined
  to?: number | undefined
  limit?: number | undefined
}

export const sessionsQuery: z.ZodType<SessionsQuery> = z.strictObject({
  before: cursor.optional(),
  q: z.string().min(1).max(200).optional().describe('Part of the title, or the id.'),
  status: consoleStatus.optional(),
  agent: name.optional(),
  principal: name.optional(),
  rule: name.optional(),
  from: time.optional(),
  to: time.optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
})

export const inboxQuery: z.ZodType<{ after?: string | undefined; limit?: number | undefined }> = z.strictObject({
  after: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(100).optional(),
})

export const indexQuery: z.ZodType<{
  log?: string | undefined
  after?: string | undefined
  limit?: number | undefined
}> = z.strictObject({
  log: log.optional().describe('Only this log; `after` is then an offset.'),
  after: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
})

export const entriesQuery: z.ZodType<{ log?: string | undefined; from: number; to?: number | undefined }> =
  z.strictObject({
    log: log.optional(),
    from: offset,
    to: offset.optional().describe('The last offset, included. An answer has at most 200 entries.'),
  })

export const textQuery: z.ZodType<{
  log?: string | undefined
  offset: number
  pointer: string
  start?: number | undefined
  end?: number | undefined
}> = z.strictObject({
  log: log.optional(),
  offset,
  pointer: z
    .string()
    .max(2_000)
    .regex(/^(?:\/.*)?$/su),
  start: z.coerce.number().int().min(0).optional(),
  end: z.coerce.number().int().min(0).optional(),
})

export const feedQuery: z.ZodType<{ after?: string | undefined }> = z.strictObject({
  after: z.string().min(1).max(20).optional(),
})

interface RangeQuery {
  from?: number | undefined
  to?: number | undefined
}

export const policyQuery: z.ZodType<RangeQuery & { rule?: string | undefined }> = z.strictObject({
  from: time.optional(),
  to: time.optional(),
  rule: name.optional(),
})

export const costQuery: z.ZodType<RangeQuery & { by?: 'day' | 'agent' | 'model' | undefined }> = z.strictObject({
  from: time.optional(),
  to: time.optional(),
  by: z.enum(['day', 'agent', 'model']).optional(),
})

export const stateQuery: z.ZodType<{ log?: string | undefined; at: number }> = z.strictObject({
  log: log.optional(),
  at: offset,
})

export const compareQuery: z.ZodType<{ a: string; b: string }> = z.strictObject({ a: name, b: name })

export const exportQuery: z.ZodType<{ for?: 'outside' | undefined }> = z.strictObject({
  for: z
    .enum(['outside'])
    .optional()
    .describe('For readers outside: without reasoning, prompts, secrets and the audit trail.'),
})

/** The selected words of a trace. */
interface TraceBody {
  log?: string | undefined
  offset: number
  pointer: string
  start: number
  end: number
}

export const traceBody: z.ZodType<TraceBody> = z
  .strictObject({
    log: log.optional(),
    offset: z.int().min(1).max(1e9),
    pointer: z
      .string()
      .max(2_000)
      .regex(/^(?:\/.*)?$/su),
    start: z.int().min(0),
    end: z.int().min(1),
  })
  .refine(({ start, end }) => start < end && end - start <= 20_000, 'select 1 to 20,000 characters')

/** What a fork is made of. */
interface ForkBody {
  at?: number | undefined
  unfinished?: 'leave-out' | 'end' | 'continue' | undefined
  results?: { callId: string; output: unknown }[] | undefined
  model?: string | undefined
  policy?: string | undefined
  prompt?: string | undefined
  promptText?: string | undefined
}

export const forkBody: z.ZodType<ForkBody> = z
  .strictObject({
    at: z.int().min(1).max(1e9).optional().describe('The offset of an entry. Default: the end of the log.'),
    unfinished: z
      .enum(['leave-out', 'end', 'continue'])
      .optional()
      .describe(
        'A turn that had not ended there: `leave-out` (default) ends the fork with the last turn before it, `end` ends it there, `continue` resumes it.',
      ),
    results: z
      .array(z.strictObject({ callId: z.string().min(1).max(1_000), output: z.unknown() }))
      .max(100)
      .optional()
      .describe('Results of calls of the step at the entry, in place of the recorded ones. They are untrusted.'),
    model: name
      .optional()
      .describe('One of the models that the server offers to requests, for the turn that continues.'),
    policy: name
      .optional()
      .describe(
        'One of `forks.policies` of the server: it takes the place of the policy of its name, as long as the fork lives.',
      ),
    prompt: name
      .optional()
      .describe('One of `forks.prompts` of the server: the instructions of the agent in the fork.'),
    promptText: z
      .string()
      .min(1)
      .max(100_000)
      .optional()
      .describe('The instructions of the agent in the fork as text. Not together with `prompt`.'),
  })
  .refine(({ prompt, promptText }) => prompt === undefined || promptText === undefined, 'give prompt or promptText')

export const importBody: z.ZodType<{ lines: string; id?: string | undefined }> = z.strictObject({
  lines: z.string().min(1).describe('An export, as text.'),
  id: z.string().min(1).max(200).optional(),
})

/** A policy as data: a set of rules, without some, and with tools that it denies or asks about. */
export interface EditedPolicy {
  set: 'intent' | 'classic'
  without?: string[] | undefined
  deny?: string[] | undefined
  ask?: string[] | undefined
  onViolation?: 'ask' | 'deny' | undefined
}

const names = z.array(name).max(200)

export const whatIfBody: z.ZodType<{ sessions: string[]; policy: EditedPolicy }> = z.strictObject({
  sessions: z.array(name).min(1).max(50),
  policy: z.strictObject({
    set: z.enum(['intent', 'classic']),
    without: names.optional().describe('Rules of the set that are left out.'),
    deny: names.optional().describe('Tools that are denied.'),
    ask: names.optional().describe('Tools that are asked about, unless a rule denies the call.'),
    onViolation: z.enum(['ask', 'deny']).optional().describe('`deny` turns questions of rules into denials.'),
  }),
})

/** An item to forget. */
interface ForgetBody {
  memory: string
  id: string
}

export const forgetBody: z.ZodType<ForgetBody> = z.strictObject({
  memory: z.string().min(1).max(200).describe('The name of the memory in `memories` of the server.'),
  id: z.string().min(1).max(500),
})
