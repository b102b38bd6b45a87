import { z } from 'zod'

export const errorSchema: z.ZodType = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string(),
    retryable: z.boolean().optional(),
  }),
})

const status = z.enum(['idle', 'running', 'suspended', 'failed', 'completed', 'aborted', 'closed', 'quarantined'])
const pending = z.object({
  approvals: z.array(
    z.looseObject({
      id: z.string(),
      callId: z.string(),
      toolName: z.string(),
      effect: z.string(),
      roles: z.record(z.string(), z.string()),
      label: z.looseObject({ integrity: z.string(), confidentiality: z.string(), sources: z.array(z.string()) }),
      definitionHash: z.string().optional(),
      batch: z.string().optional(),
      warnings: z.array(z.object({ path: z.string(), kind: z.string(), text: z.string() })).optional(),
    }),
  ),
  remoteCalls: z.array(z.looseObject({ id: z.string(), callId: z.string(), toolName: z.string() })),
  uncertain: z.array(z.looseObject({ id: z.string(), callId: z.string(), toolName: z.string() })),
  inputs: z.array(z.looseObject({ id: z.string(), callId: z.string(), message: z.string() })),
})

const change = z
  .object({
    id: z.string(),
    agent: z.string(),
    from: z.string().optional(),
    to: z.string().optional(),
    instructions: z.boolean(),
    tools: z.array(z.object({ name: z.string(), change: z.enum(['added', 'removed', 'changed']) })),
    rule: z.enum(['continue', 'ask', 'refuse']),
  })
  .describe('What changed in the agent since the run began. The run is not resumed with it, or once it is accepted.')

export const sessionSchema: z.ZodType = z.object({
  id: z.string(),
  agent: z.string(),
  status,
  messages: z.array(
    z.looseObject({ id: z.string(), role: z.string(), content: z.array(z.looseObject({ type: z.string() })) }),
  ),
  pending,
  change: change.optional().describe('For operators: what keeps this server from resuming the run.'),
  model: z.string().optional().describe('`provider/model` of the last answer.'),
  usage: z.looseObject({ byModel: z.record(z.string(), z.looseObject({})) }),
  cost: z.number().optional().describe('In US dollars; absent if a price is unknown.'),
  lastEventId: z.string().optional(),
})

export const listSchema: z.ZodType = z.object({
  sessions: z.array(z.object({ id: z.string(), agent: z.string(), status, updatedAt: z.number() })),
  next: z.string().optional(),
})

export const waitsSchema: z.ZodType = z.object({
  waits: z.array(
    z.object({
      kind: z.enum(['approval', 'input', 'uncertain', 'remote', 'quarantined', 'change']),
      sessionId: z.string(),
      agent: z.string(),
      requester: z.string().optional(),
      updatedAt: z.number(),
      text: z.string().describe('The question as one printable line.'),
      wait: z.looseObject({ id: z.string(), callId: z.string(), toolName: z.string() }).optional(),
      change: change.optional(),
    }),
  ),
  next: z.string().optional(),
})

const effect = z.object({ callId: z.string(), toolName: z.string() })

export const compensationSchema: z.ZodType = z.object({
  status: z
    .enum(['completed', 'denied', 'suspended'])
    .describe('`suspended`: decide on `pending`, with this route or `approvals`.'),
  undone: z.array(effect),
  impossible: z.array(effect.extend({ reason: z.string(), error: z.looseObject({ code: z.string() }).optional() })),
  reason: z.string().optional().describe('Of `denied`.'),
  pending: pending.optional(),
})
export const acceptedSchema: z.ZodType = z.object({ sessionId: z.string(), status })
export const createdSchema: z.ZodType = z.object({ sessionId: z.string(), agent: z.string(), created: z.boolean() })
export const releaseSchema: z.ZodType = z.object({ sessionId: z.string(), released: z.boolean() })
export const acceptedChangeSchema: z.ZodType = z.object({
  sessionId: z.string(),
  accepted: z.boolean().describe('False if no change keeps this server from resuming the run.'),
})
export const healthSchema: z.ZodType = z.object({ status: z.string() })
/** The readiness of a process: its store and engine, its active sessions, and how many more it takes. */
export const readySchema: z.ZodType = z.object({
  status: z.enum(['ready', 'not-ready']),
  store: z.enum(['reachable', 'unreachable']),
  engine: z.string(),
  running: z.number(),
  room: z.number(),
})
