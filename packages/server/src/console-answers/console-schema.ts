import { z } from 'zod'

import type {
  AccessAnswer,
  ConsoleLabel,
  ConsoleSession,
  ConsoleWaitsAnswer,
  EntriesAnswer,
  FeedFrame,
  IndexAnswer,
  IndexDetail,
  IndexRow,
  SessionsAnswer,
  TextAnswer,
  TokenCounts,
} from './console-answer.ts'

const count = z.int().min(0)
export const consoleStatus: z.ZodType<ConsoleSession['status']> = z.enum([
  'idle',
  'running',
  'suspended',
  'failed',
  'closed',
  'quarantined',
])

export const tokenCounts: z.ZodType<TokenCounts> = z.object({
  inputTokens: z.number().optional(),
  outputTokens: z.number().optional(),
  reasoningTokens: z.number().optional(),
  cacheReadTokens: z.number().optional(),
  cacheWriteTokens: z.number().optional(),
  estimated: z.literal(true).optional(),
})

export const consoleLabel: z.ZodType<ConsoleLabel> = z.object({
  integrity: z.string(),
  confidentiality: z.string(),
  readers: z.array(z.string()).optional(),
  sources: z.array(z.string()),
})

export const accessAnswer: z.ZodType<AccessAnswer> = z.object({
  principal: z.string(),
  role: z.enum(['view', 'decide', 'operate']),
  withheld: z.boolean(),
  agents: z.array(z.object({ name: z.string(), description: z.string().optional() })),
  models: z.array(z.string()),
  sendBytes: z.number(),
  policies: z.array(z.string()),
  prompts: z.array(z.string()),
})

export const consoleSession: z.ZodType<ConsoleSession> = z.object({
  id: z.string(),
  title: z.string(),
  agent: z.string(),
  principal: z.string().optional(),
  status: consoleStatus,
  createdAt: z.number(),
  updatedAt: z.number(),
  steps: count,
  usage: tokenCounts,
  cost: z.number().describe('US dollars of the calls whose price is known.'),
  unpriced: z.boolean(),
  waits: z.array(z.string()).describe('Ids of the open waits, oldest first; at most 100.'),
  verdicts: z.object({
    allowed: count,
    asked: count,
    approved: count,
    refused: count,
    denied: count,
    declassified: count,
    flagged: count,
  }),
  forkedFrom: z.string().optional(),
})

export const sessionsAnswer: z.ZodType<SessionsAnswer> = z.object({
  sessions: z.array(consoleSession),
  next: z.string().optional().describe('The `before` of the next page.'),
})

export const consoleWaitsAnswer: z.ZodType<ConsoleWaitsAnswer> = z.object({
  waits: z.array(
    z.object({
      kind: z.enum(['approval', 'input', 'uncertain', 'remote', 'quarantined', 'change']),
      id: z.string(),
      sessionId: z.string(),
      title: z.string(),
      agent: z.string(),
      requester: z.string().optional(),
      at: z.number(),
      expiresAt: z.number().optional(),
      log: z.string(),
      offset: count,
      text: z.string().describe('The question as one printable line.'),
      rule: z.string().optional(),
      sticky: z.literal('session').optional(),
      tool: z.object({ name: z.string(), effect: z.string(), idempotent: z.boolean(), schema: z.unknown() }).optional(),
      wait: z.looseObject({ id: z.string(), callId: z.string(), toolName: z.string() }).optional(),
      change: z
        .object({
          id: z.string(),
          agent: z.string(),
          from: z.string().optional(),
          to: z.string().optional(),
          instructions: z.boolean(),
          tools: z.array(z.object({ name: z.string(), change: z.enum(['added', 'removed', 'changed']) })),
        })
        .optional(),
    }),
  ),
  next: z.string().optional().describe('The `after` of the next page.'),
})

const indexDetail: z.ZodType<IndexDetail> = z.object({
  calls: z.array(z.object({ callId: z.string(), toolName: z.string() })).optional(),
  role: z.string().optional(),
  message: z.string().optional(),
  by: z.string().optional(),
  token: z.string().optional(),
  decision: z.string().optional(),
  outcome: z.string().optional(),
  parentCallId: z.string().optional(),
  child: z.string().optional(),
  to: z.string().optional(),
  batch: z.string().optional(),
  deadline: z.number().optional(),
  code: z.string().optional(),
})

const text = z.string().nullable()
const number = z.number().nullable()

const indexRow: z.ZodType<IndexRow> = z.tuple([
  ...([count, count, count, z.number()] as const),
  ...([z.string(), text, z.string(), z.number(), text, text] as const),
  ...([number, number, number, number, number, indexDetail.nullable()] as const),
])

export const indexAnswer: z.ZodType<IndexAnswer> = z.object({
  logs: z.array(
    z.object({
      log: z.string(),
      agent: z.string(),
      parent: z.string().optional(),
      callId: z.string().optional(),
      last: count,
    }),
  ),
  runs: z.array(z.string()),
  labels: z.array(consoleLabel),
  rows: z
    .array(indexRow)
    .describe(
      'Each: log, run, offset, at, type, op, agent, step, callId, name, label, milliseconds, tokens in, tokens out, US dollars, detail.',
    ),
  next: z.string().optional().describe('The `after` of the next page.'),
})

export const entriesAnswer: z.ZodType<EntriesAnswer> = z.object({
  log: z.string(),
  entries: z.array(z.looseObject({ offset: count, type: z.string() })),
  cut: z.array(z.object({ offset: count, pointer: z.string(), length: count })),
  next: count.optional(),
})

export const textAnswer: z.ZodType<TextAnswer> = z.object({
  text: z.string(),
  start: count,
  end: count,
  length: count,
})

/** @alias */
export const feedFrame: z.ZodType<FeedFrame> = consoleSession
