import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { systemClock, z } from 'provost'
import type { Clock, Json } from 'provost'
import type { OutputTrust } from 'provost/governance'

/** Whatever a file holds is JSON. */
const json = z.custom<Json>()
const role = z.enum([
  'destination',
  'content',
  'selector',
  'payload',
  'attachment',
  'amount',
  'time',
  'flag',
  'credential',
])

const toolSchema = z.object({
  name: z.string(),
  description: z.string().optional(),
  parameters: z.record(z.string(), json),
  effect: z.enum(['none', 'read', 'write', 'egress']),
  returns_untrusted: z.boolean(),
  returns_private: z.boolean(),
  egress: z.boolean(),
  arg_roles: z.record(z.string(), role),
  trusted_fields: z.array(z.string()).default([]),
})
const callSchema = z.object({
  tool: z.string(),
  args: z.record(z.string(), json),
  output: json.optional(),
  output_text: z.string().optional(),
  phase: z.string().optional(),
  /** Neighbours with the same number are made in one step. Without it a call is a step of its own. */
  step: z.int().nonnegative().optional(),
})
/** A further message of the human: what the assistant had `said` before it, and the index of the call that follows it. */
const turnSchema = z.object({ text: z.string(), said: z.string().default(''), before: z.int().nonnegative() })
const suiteSchema = z.object({
  suite: z.string(),
  /** The day on which the tasks take place. */
  today: z.iso.date().optional(),
  tools: z.array(toolSchema),
  user_tasks: z.array(
    z.object({
      id: z.string(),
      prompt: z.string(),
      turns: z.array(turnSchema).default([]),
      calls: z.array(callSchema),
    }),
  ),
  attacks: z.array(
    z.object({
      id: z.string(),
      prompt: z.string(),
      injectable: z.boolean().default(true),
      text_only: z.boolean().default(false),
      turns: z.array(turnSchema).default([]),
      calls: z.array(callSchema),
      after: z.array(callSchema).default([]),
    }),
  ),
})

export type Suite = z.infer<typeof suiteSchema>
export type SuiteTool = z.infer<typeof toolSchema>
export type SuiteCall = z.infer<typeof callSchema>
export type SuiteTurn = z.infer<typeof turnSchema>

/** Returns the clock of a suite's day. Of a suite without a day it says a year that no recording has. */
export function clockOf({ today = '2000-01-01' }: Pick<Suite, 'today'>): Clock {
  const begin = Date.parse(today) - systemClock.elapsed()
  return { ...systemClock, now: () => begin + systemClock.elapsed() }
}

const trustSchema = z.record(z.string(), z.record(z.string(), z.enum(['trusted', 'untrusted'])))

/** Reads what an operator declares for each suite: `{ "retail": { "get_order": "trusted" } }`. */
export function readTrust(file: string): Readonly<Record<string, OutputTrust>> {
  return trustSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** The suites of a folder: its JSON files that have tools and tasks, by name. */
export function readSuites(folder: string): readonly Suite[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
  return files.flatMap((file) => {
    const value: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    if (typeof value !== 'object' || value === null || !('user_tasks' in value)) return []
    return [suiteSchema.parse(value)]
  })
}
