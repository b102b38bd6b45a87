import { z } from 'zod'

import { consoleLabel, consoleSession, tokenCounts } from './console-schema.ts'
import type {
  CompareAnswer,
  CostAnswer,
  ConsoleOverrides,
  ForkAnswer,
  ImportAnswer,
  PolicyAnswer,
  ReplayAnswer,
  RulesAnswer,
  StateAnswer,
  SystemAnswer,
  TraceAnswer,
  TracePlace,
  WhatIfAnswer,
  WhatIfVerdict,
} from './insight-answer.ts'

const count = z.int().min(0)
const named = z.looseObject({ id: z.string(), callId: z.string(), toolName: z.string() })

export const policyAnswer: z.ZodType<PolicyAnswer> = z.object({
  rows: z.array(
    z.object({
      rule: z.string(),
      toolName: z.string().describe('Empty for answers of the model.'),
      sessions: count,
      allowed: count,
      asked: count,
      approved: count,
      refused: count,
      denied: count,
      declassified: count,
      flagged: count,
    }),
  ),
  sessions: count,
  more: z.boolean().describe('More sessions match: narrow `from` and `to`.'),
})

export const rulesAnswer: z.ZodType<RulesAnswer> = z.object({
  sets: z.array(z.object({ set: z.string(), rules: z.array(z.string()) })),
})

const verdict: z.ZodType<WhatIfVerdict> = z.object({
  decision: z.enum(['allow', 'ask', 'deny', 'unknown']),
  rule: z.string().optional(),
  reason: z.string().optional(),
  missing: z.array(z.string()).optional(),
})

export const whatIfAnswer: z.ZodType<WhatIfAnswer> = z.object({
  calls: z.array(
    z.object({
      sessionId: z.string(),
      log: z.string(),
      callId: z.string(),
      agent: z.string(),
      tool: z.string(),
      arguments: z.array(
        z.object({ path: z.string(), role: z.string(), origin: z.string().optional(), value: z.string() }),
      ),
      before: verdict,
      would: verdict,
      change: z.string(),
      counterfactual: z.boolean(),
      ran: z.boolean(),
      human: z.enum(['approve', 'deny']).optional(),
    }),
  ),
  counts: z.record(z.string(), count),
  more: z.boolean(),
})

export const costAnswer: z.ZodType<CostAnswer> = z.object({
  by: z.enum(['day', 'agent', 'model']),
  rows: z.array(
    z.object({
      name: z.string(),
      usage: tokenCounts,
      discarded: tokenCounts,
      cost: z.number(),
      unpriced: z.boolean(),
    }),
  ),
  sessions: count,
  more: z.boolean(),
})

export const systemAnswer: z.ZodType<SystemAnswer> = z.object({
  process: z.object({
    name: z.string(),
    running: z.array(z.string()),
    room: count,
    engine: z.string(),
    startedAt: z.number(),
    feeds: count,
  }),
  store: z.object({ kind: z.string(), summaries: z.enum(['stored', 'in-memory']) }),
  leases: z.array(
    z.object({
      sessionId: z.string(),
      agent: z.string(),
      holder: z.enum(['none', 'alive', 'lapsed']),
      process: z.string().optional(),
      renewedAt: z.number().optional(),
      takeovers: count,
      until: z.number().optional(),
    }),
  ),
  processes: z.array(
    z.object({ name: z.string(), state: z.enum(['alive', 'silent']), runs: count, renewedAt: z.number() }),
  ),
  due: z.array(z.object({ sessionId: z.string(), agent: z.string(), at: z.number(), waits: z.array(z.string()) })),
  quarantined: z.array(z.object({ sessionId: z.string(), agent: z.string(), updatedAt: z.number() })),
})

const overrides: z.ZodType<ConsoleOverrides> = z.object({
  policy: z.string().optional(),
  prompt: z.string().optional(),
  promptText: z.string().optional(),
})

export const stateAnswer: z.ZodType<StateAnswer> = z.object({
  log: z.string(),
  at: count,
  status: z.enum(['idle', 'running', 'suspended', 'failed', 'closed', 'quarantined', 'completed', 'aborted']),
  agent: z.string(),
  view: z.array(
    z.object({
      id: z.string(),
      role: z.string(),
      agent: z.string().optional(),
      label: consoleLabel,
      content: z.array(z.looseObject({ type: z.string() })),
    }),
  ),
  earlier: count,
  label: consoleLabel,
  pending: z.array(z.object({ kind: z.string(), wait: named })),
  usage: tokenCounts,
  cost: z.number().optional(),
  overrides: overrides.optional(),
  step: count,
  calls: z.array(z.object({ callId: z.string(), toolName: z.string(), stage: z.string() })),
})

const tracePlace: z.ZodType<TracePlace> = z.object({
  log: z.string(),
  offset: count,
  pointer: z.string(),
  start: count,
  end: count,
  kind: z.enum(['text', 'label']),
  view: z.string(),
  excerpt: z.string(),
})

export const traceAnswer: z.ZodType<TraceAnswer> = z.object({
  label: consoleLabel,
  text: z.string(),
  sources: z.array(tracePlace),
  sinks: z.array(tracePlace),
  more: z.boolean(),
})

const side = z.object({ offset: count, text: z.string() }).nullable()

export const compareAnswer: z.ZodType<CompareAnswer> = z.object({
  common: count,
  first: z.object({ a: side, b: side }),
  sums: z.object({ a: consoleSession, b: consoleSession }),
  overrides: z.object({ a: overrides.optional(), b: overrides.optional() }),
})

export const replayAnswer: z.ZodType<ReplayAnswer> = z.object({
  difference: z.object({ offset: count, expected: z.string(), got: z.string() }).optional(),
})

export const forkAnswer: z.ZodType<ForkAnswer> = z.object({
  sessionId: z.string(),
  offset: count,
  left: z.array(z.string()),
})

export const importAnswer: z.ZodType<ImportAnswer> = z.object({
  sessionId: z.string(),
  agent: z.string(),
  entries: count,
  trusted: z.boolean(),
  existing: z.boolean(),
})
