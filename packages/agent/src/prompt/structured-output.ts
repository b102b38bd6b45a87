import type { Json, Message, StandardSchemaV1 } from '@provost/core'
import { ProvostError, parseWith, textOf } from '@provost/core'

import type { Repair } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/** How often a run asks the model to mend its output. */
const mostRepairs = 1

/**
 * Holds a final answer against the output schema.
 *
 * @returns the complaint to send to the model, or nothing when the answer will do.
 * @throws RunEnding `output-invalid` when it was asked before.
 */
export async function checkOutput(scope: RunContext, message: Message): Promise<Repair | undefined> {
  const { output } = scope.plan
  if (!output || message.content.some((part) => part.type === 'tool-call' && !part.providerExecuted)) return undefined
  const problem = await outputProblem(output, textOf(message))
  if (problem === undefined) return undefined
  if ((scope.state.run?.repairs ?? 0) < mostRepairs) {
    return {
      of: 'output',
      content: `The answer does not fit the required output: ${problem}. Answer again with JSON that does, and nothing else.`,
    }
  }
  const error = new ProvostError('output-invalid', `The answer does not fit the output schema: ${problem}.`, {
    hint: 'Loosen the schema, describe its fields, or use a stronger model.',
  })
  throw new RunEnding('failed', error.toJSON(), error)
}

async function outputProblem(schema: NonNullable<ResolvedAgent['output']>, text: string): Promise<string | undefined> {
  const read = readJson(text)
  if (!read.ok) return `it is not JSON (${read.reason})`
  const parsed = await parseWith(schema, read.value)
  if (parsed.ok) return undefined
  return parsed.issues
    .slice(0, 10)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
    .join('; ')
    .slice(0, 1000)
}

/** What a text says by a schema: itself where there is none; undefined where it does not fit. */
export async function readOutput(
  schema: StandardSchemaV1 | undefined,
  text: string,
): Promise<{ readonly value: unknown } | undefined> {
  if (!schema) return { value: text }
  const read = readJson(text)
  const parsed = read.ok ? await parseWith(schema, read.value) : undefined
  return parsed?.ok ? { value: parsed.value } : undefined
}

/** What an answer says as data: its text, or the JSON in it where the agent has an output schema. */
export function answerJson(plan: ResolvedAgent, answer: Message): Json {
  const text = textOf(answer)
  if (!plan.output) return text
  const read = readJson(text)
  return read.ok ? read.value : text
}

/** JSON that was read, or why it could not be. */
export type ReadJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string }

/** Reads JSON from a model's text; a code fence around it is forgiven. */
export function readJson(text: string): ReadJson {
  let body = text.trim()
  if (body.startsWith('```')) {
    const end = body.lastIndexOf('```')
    const start = body.indexOf('\n')
    if (start > 0 && end > start) body = body.slice(start + 1, end).trim()
  }
  try {
    const value: Json = JSON.parse(body)
    return { ok: true, value }
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? cause.message.slice(0, 300) : 'not JSON' }
  }
}
