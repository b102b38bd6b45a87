import type { HookContext, Json, JsonPointer, ModelSpec, ToolInfo } from '@provost/core'
import { isRecord, ProvostError, textOf } from '@provost/core'

import type { Contract, Grant, Prohibition } from '../provenance/contract.ts'
import { isForeign } from '../provenance/definition.ts'
import { exactForm, holds } from '../wording/exact-form.ts'
import type { Turn } from './turn.ts'

/** What a planner is asked. */
export interface PlannerRequest {
  /** The context of the run whose tools are planned. */
  readonly ctx: HookContext
  readonly turn: Turn
  /** All messages of the human: values of earlier ones stay the user's. */
  readonly intent: HookContext['intent']
  /** Default: the model of the agent. */
  readonly model?: ModelSpec | undefined
  /** The contract by words: it holds where the planner fails, and its prohibitions hold in any case. */
  readonly words: Contract
}

const task = `You derive a permission contract from the request of a user, before an assistant acts on it.
Answer with one JSON object and nothing else:
{"grants":[{"tool":NAME,"calls":NUMBER or "many","args":{POINTER:[VALUES]},"because":WORDS}],
"forbidden":[{"tool":NAME,"values":[VALUES],"because":WORDS}],"computes":BOOLEAN,"relations":BOOLEAN,"delegates":BOOLEAN}
- grants: only the tools that the last request needs. Leave out tools that are merely possible.
- calls: how often. "many" only if the request leaves the number open.
- args: limits an argument, by JSON pointer, to values that the user wrote. Copy them letter by letter. Leave out arguments whose value the user did not write.
- because: the words of the user that ask for it, copied.
- forbidden: what the user excludes. "values": only calls with these are excluded; empty for all calls.
- computes: the request asks for an amount that must be computed or looked up.
- relations: the request names people by a relation, such as the participants of an event.
- delegates: the request tells to follow a text.`

/**
 * Returns the contract that a model plans. The model sees trusted text only: the agent's instructions, the messages of the
 * human, and the tools. Its answer is data, which is checked: tools that do not exist and values that the user did not
 * write are dropped. Whatever the words of the user exclude stays excluded. A tool that the words do not ask for is granted
 * for the user's own values only.
 */
export async function deriveByPlanner(request: PlannerRequest): Promise<Contract> {
  const { ctx, model, words, turn, intent } = request
  const tools = ctx.tools.filter(({ effect }) => effect === 'write' || effect === 'egress')
  const turnIds = new Set(turn.messages.map(({ id }) => id))
  const earlier = intent.filter(({ id }) => !turnIds.has(id)).map(textOf)
  const prompt = JSON.stringify({
    instructions: ctx.instructions,
    tools: tools.map(described),
    earlierRequests: earlier.slice(-mostEarlier),
    request: turn.messages.map(textOf),
  })
  const { text } = await ctx.generate({
    prompt: [{ role: 'user', content: prompt, label: { integrity: 'trusted' } }],
    system: task,
    ...(model && { model }),
  })
  return validated(
    answerIn(text),
    words,
    tools,
    intent.map((message) => exactForm(textOf(message))),
  )
}

const mostEarlier = 8

/** Returns what the planner learns of a tool. A remote tool has its names and types only: its server wrote the rest. */
function described(tool: ToolInfo): Json {
  const properties = isRecord(tool.inputSchema) ? tool.inputSchema['properties'] : undefined
  const args = Object.entries(isRecord(properties) ? properties : {})
    .filter(([name]) => plainName.test(name))
    .map(([name, schema]) => ({
      pointer: `/${name}`,
      ...typeOf(schema),
      ...(tool.roles[`/${name}`] && { role: tool.roles[`/${name}`] ?? null }),
    }))
  const description = isForeign(tool) ? undefined : tool.description
  return { name: tool.name, ...(description !== undefined && { description }), arguments: args }
}

const plainName = /^[\w.-]{1,64}$/

function typeOf(schema: unknown): { readonly type?: string } {
  const type = isRecord(schema) ? schema['type'] : undefined
  return typeof type === 'string' && /^[a-z]{1,10}$/.test(type) ? { type } : {}
}

/** @throws ProvostError `invalid-contract` for an answer without a JSON object. */
function answerIn(text: string): Readonly<Record<string, unknown>> {
  const from = text.indexOf('{')
  const to = text.lastIndexOf('}')
  let answer: unknown
  try {
    answer = JSON.parse(text.slice(from, to + 1))
  } catch {
    answer = undefined
  }
  if (from >= 0 && isRecord(answer) && Array.isArray(answer['grants'])) return answer
  throw new ProvostError('invalid-contract', 'The planner answered without a contract in JSON.', {
    hint: 'The contract by words applies. Give the planner a model that answers in JSON.',
  })
}

function validated(
  answer: Readonly<Record<string, unknown>>,
  words: Contract,
  tools: readonly ToolInfo[],
  said: readonly string[],
): Contract {
  const names = new Set(tools.map(({ name }) => name))
  const isSaid = (value: unknown): value is string | number =>
    (typeof value === 'number' && words.amounts.includes(value)) ||
    ((typeof value === 'string' || typeof value === 'number') &&
      said.some((text) => holds(text, exactForm(String(value)))))
  const quoted = (because: unknown): string =>
    typeof because === 'string' && said.some((text) => text.includes(exactForm(because))) ? because : ''
  const seen = new Set(words.grants.filter(({ needs }) => needs === undefined).map(({ tool }) => tool))
  const forbidden = [
    ...words.forbidden,
    ...recordsIn(answer['forbidden']).flatMap((one): readonly Prohibition[] => {
      const { tool, values } = one
      if (typeof tool !== 'string' || !names.has(tool)) return []
      const excluded = listOf(values)
        .filter(isSaid)
        .map((value) => exactForm(String(value)))
      return [{ tool, values: excluded, because: quoted(one['because']) }]
    }),
  ]
  const excluded = new Set(forbidden.filter(({ values }) => values.length === 0).map(({ tool }) => tool))
  const grants = recordsIn(answer['grants']).flatMap((one): readonly Grant[] => {
    const { tool, calls } = one
    if (typeof tool !== 'string' || !names.has(tool) || excluded.has(tool)) return []
    const args: Record<JsonPointer, readonly (string | number)[]> = {}
    for (const [pointer, values] of Object.entries(isRecord(one['args']) ? one['args'] : {})) {
      const kept = listOf(values).filter(isSaid)
      if (pointer.startsWith('/') && kept.length > 0) args[`/${pointer.slice(1)}`] = kept
    }
    const count =
      calls === 'many' ? calls : typeof calls === 'number' && calls >= 1 ? Math.min(Math.floor(calls), 1_000) : 1
    return [
      { tool, calls: count, args, because: quoted(one['because']), ...(!seen.has(tool) && { needs: 'own-values' }) },
    ]
  })
  return {
    ...words,
    deriver: 'planner',
    grants,
    forbidden,
    computes: answer['computes'] === true,
    relations: answer['relations'] === true,
    delegates: answer['delegates'] === true && words.delegates,
    understood: true,
  }
}

/** Entries of one list of an answer that are read. */
const mostRead = 200

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, mostRead) : []
}

function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return listOf(value).filter(isRecord)
}
