import type { Json, Message, StandardSchemaV1 } from '@provost/core'
import { ProvostError, parseWith, textOf } from '@provost/core'

import type { Repair } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/** Maximum number of output repairs per run. */
const mostRepairs = 1

/**
 * Validates a final answer against the output schema.
 *
 * @param model the name of the model that answered.
 * @returns the repair request for the model, or undefined for a valid answer.
 * @throws RunEnding `output-invalid` if a repair was already requested.
 */
export async function checkOutput(ctx: RunContext, message: Message, model: string): Promise<Repair | undefined> {
  const { output } = ctx.agent
  if (!output || message.content.some((part) => part.type === 'tool-call' && !part.providerExecuted)) return undefined
  const problem = await outputProblem(output, textOf(message))
  if (problem === undefined) return undefined
  if ((ctx.state.run?.outputRepairs ?? 0) < mostRepairs) {
    return {
      of: 'output',
      content: `The answer does not fit the required output: ${problem}. Answer again with JSON that does, and nothing else.${schemaText(ctx.agent)}`,
    }
  }
  const error = new ProvostError('output-invalid', `The answer does not fit the output schema: ${problem}.`, {
    hint: 'Relax the schema, describe its fields, or use a stronger model.',
  })
  throw new RunEnding('failed', error.toJSON(), error, { kind: 'model', name: model })
}

/** Largest schema that a repair request repeats, in characters. */
const longestSchema = 8_000

/** Returns the schema for a repair request: the provider may have told the model nothing of it. */
function schemaText({ responseFormat }: ResolvedAgent): string {
  const text = responseFormat ? JSON.stringify(responseFormat.schema) : ''
  return text === '' || text.length > longestSchema ? '' : ` Its JSON schema: ${text}`
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

/** Reads a text by a schema: the text itself without a schema; undefined if it does not fit. */
export async function readOutput(
  schema: StandardSchemaV1 | undefined,
  text: string,
): Promise<{ readonly value: unknown } | undefined> {
  if (!schema) return { value: text }
  const read = readJson(text)
  const parsed = read.ok ? await parseWith(schema, read.value) : undefined
  return parsed?.ok ? { value: parsed.value } : undefined
}

/** Returns an answer as data: its text, or the JSON in it if the agent has an output schema. */
export function answerJson(agent: ResolvedAgent, answer: Message): Json {
  const text = textOf(answer)
  if (!agent.output) return text
  const read = readJson(text)
  return read.ok ? read.value : text
}

/** Parsed JSON, or why parsing failed. */
export type ReadJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string }

/** Reads JSON from a model's text, with or without a code fence. */
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
