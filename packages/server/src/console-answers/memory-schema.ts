import { z } from 'zod'

import { consoleLabel } from './console-schema.ts'
import type { ForgetAnswer, MemoriesAnswer } from './memory-answer.ts'

export const memoriesAnswer: z.ZodType<MemoriesAnswer> = z.object({
  memories: z.array(z.string()),
  items: z.array(
    z.object({
      memory: z.string(),
      id: z.string(),
      text: z.string(),
      kind: z.string(),
      scope: z.object({ kind: z.string(), id: z.string().optional() }),
      label: consoleLabel,
      source: z.string(),
      at: z.number(),
      state: z.enum(['live', 'quarantined', 'old']),
      validTo: z.number().optional(),
      key: z.string().optional(),
      replaces: z.string().optional(),
      supersededBy: z.string().optional(),
      confirmedBy: z.string().optional(),
      sessionId: z.string().optional(),
      speaker: z.string().optional(),
    }),
  ),
  more: z.boolean(),
})

export const forgetAnswer: z.ZodType<ForgetAnswer> = z.object({ forgotten: z.int().min(0) })
