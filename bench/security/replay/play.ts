import { createAgent, memoryStore, rich, tool, untrustedLabel, z } from 'provost'
import type { ArgRole, Extension, Json, JsonPointer, LabelInit, Tool } from 'provost'
import { scriptedModel } from 'provost/testing'
import type { ScriptedStep } from 'provost/testing'

import { clockOf } from './suite.ts'
import type { Suite, SuiteCall, SuiteTool, SuiteTurn } from './suite.ts'

/**
 * Where the tools of a suite come from. `own`: the developer made them and said what they do. `mcp`: they are those of an
 * MCP server without any declaration. `mcp-reads`: the operator lowered by name those
 * that only read. `mcp-lowered`: the operator said by name what the developer would.
 * `mcp-changed`: their definitions have changed since they were accepted, and are offered all the same.
 */
export const toolOrigins = ['own', 'mcp', 'mcp-reads', 'mcp-lowered', 'mcp-changed'] as const
export type ToolOrigin = (typeof toolOrigins)[number]

/** What a policy did about the calls of a task. */
export type Outcome = 'passed' | 'asked' | 'blocked'

/** One call of a task, and what became of it. */
export interface Played {
  readonly phase: string
  readonly tool: string
  readonly outcome: Outcome
  readonly rule?: string
  readonly reason?: string
  /** The question that the human answered. Calls of one batch share it. */
  readonly question?: string
}

/** A conversation: the human's messages, and the calls between them. */
export interface Conversation {
  readonly prompt: string
  /** The messages after the first. */
  readonly turns: readonly SuiteTurn[]
  readonly calls: readonly SuiteCall[]
}

/**
 * Replays a conversation through the runtime: each message of the human is a run of one session. The model makes these
 * calls, one a step unless they share a `step`, and the tools give what they gave. A human agrees to what the user's own task asks for, and to nothing
 * else.
 */
export async function play(
  { prompt, turns, calls }: Conversation,
  suite: Pick<Suite, 'tools' | 'today'>,
  extensions: () => readonly Extension<unknown>[],
  origin: ToolOrigin = 'own',
): Promise<readonly Played[]> {
  const indexes = new Map<string, number>()
  const agent = createAgent({
    name: 'replay',
    model: scriptedModel(stepsOf(turns, calls)),
    tools: fromOrigin(
      origin,
      suite.tools.map((one) => replayed(said(origin, one), (_, callId) => outputOf(calls, indexes.get(callId)))),
    ),
    extensions: extensions(),
    store: memoryStore({ clock: clockOf(suite) }),
    maxSteps: calls.length + 2,
  })
  const played: Played[] = []
  const rules = new Map<string, string>()
  const callOf = (callId: string): SuiteCall | undefined => calls[indexes.get(callId) ?? -1]
  const note = (callId: string, outcome: Outcome, reason: string, question?: string): void => {
    const { tool: name = '', phase = 'user' } = callOf(callId) ?? {}
    const rule = rules.get(callId)
    const more = { ...(rule !== undefined && { rule }), ...(question !== undefined && { question }) }
    played[indexes.get(callId) ?? 0] = { phase, tool: name, outcome, reason, ...more }
  }
  let sessionId: string | undefined
  for (const message of [prompt, ...turns.map(({ text }) => text)]) {
    const stream = agent.stream(message, {
      ...(sessionId !== undefined && { sessionId }),
      onApproval: ({ id, batch, reason, callId }) => {
        note(callId, 'asked', reason, batch ?? id)
        return (callOf(callId)?.phase ?? 'user') === 'attack' ? 'deny' : 'approve'
      },
    })
    for await (const event of stream) {
      if (event.type === 'governance.flagged' || event.type === 'governance.blocked')
        rules.set(event.callId ?? '', event.rule)
      if (event.type === 'tool.call.end') indexes.set(event.callId, indexes.size)
      if (event.type === 'tool.execute.error' && event.error.code === 'dataflow_policy_blocked')
        note(event.callId, 'blocked', event.error.message)
    }
    const result = await stream.result
    if (result.status !== 'completed')
      throw new Error(`The replay of “${prompt.slice(0, 60)}” ended ${result.status}.`, { cause: result.error })
    ;({ sessionId } = result)
  }
  return calls.map(({ phase = 'user', tool: name }, index) => played[index] ?? { phase, tool: name, outcome: 'passed' })
}

function outputOf(calls: readonly SuiteCall[], index: number | undefined): Json {
  const { output, output_text: text } = calls[index ?? -1] ?? {}
  return output ?? text ?? null
}

/** Returns the answers of the model: in each turn its calls, then what it said before the human's next message. */
function stepsOf(turns: readonly SuiteTurn[], calls: readonly SuiteCall[]): readonly ScriptedStep[] {
  const steps: ScriptedStep[] = []
  let from = 0
  for (const { before, said: answer } of [...turns, { before: calls.length, said: 'Done.' }]) {
    for (const together of stepsIn(calls.slice(from, before)))
      steps.push({ toolCalls: together.map(({ tool: name, args }) => ({ name, input: args })) })
    steps.push({ text: answer === '' ? 'Done.' : answer })
    from = before
  }
  return steps
}

/** Neighbours with the same `step` are made in one step. */
function stepsIn(calls: readonly SuiteCall[]): readonly (readonly SuiteCall[])[] {
  const steps: SuiteCall[][] = []
  for (const call of calls) {
    const last = steps.at(-1)
    if (last && call.step !== undefined && last[0]?.step === call.step) last.push(call)
    else steps.push([call])
  }
  return steps
}

/** What is said of the tool: of one that a server gives, what the operator said, and nothing by the server itself. */
function said(origin: ToolOrigin, one: SuiteTool): SuiteTool {
  if (origin === 'own' || origin === 'mcp-lowered') return one
  const lowered = origin === 'mcp-reads' && one.effect === 'read' && !one.egress
  const reach = lowered ? { egress: false } : { egress: true, effect: 'egress' as const }
  return { ...one, ...reach, arg_roles: {}, returns_untrusted: true, trusted_fields: [] }
}

function fromOrigin(origin: ToolOrigin, tools: readonly ReplayedTool[]): readonly ReplayedTool[] {
  if (origin === 'own') return tools
  const reading = origin === 'mcp-changed' && { reading: untrustedLabel('mcp:suite') }
  return tools.map((one) => ({ ...one, set: 'suite', ...reading }))
}

type ReplayedTool = Tool<never, unknown, unknown>

/** A tool of a suite: it gives what it gave when the suite was recorded. */
export function replayed(
  from: SuiteTool,
  output: (args: SuiteCall['args'], callId: string) => Json,
): Tool<never, unknown, unknown> {
  const { name, description, parameters, effect, egress, returns_untrusted, returns_private } = from
  const args: Record<string, ArgRole> = {}
  const { properties } = parameters
  const places = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  // A recorder may classify an argument that the schema lacks.
  for (const [key, role] of Object.entries(from.arg_roles))
    if (places.includes(key)) args[key] = role === 'payload' ? 'attachment' : role
  const label: LabelInit = {
    integrity: returns_untrusted ? 'untrusted' : 'trusted',
    confidentiality: returns_private ? 'internal' : 'public',
    sources: [name],
  }
  return tool({
    name,
    ...(description !== undefined && { description }),
    input: lenient(parameters),
    effect: egress ? 'egress' : effect,
    args,
    returns: label,
    execute(given, { callId }) {
      const value = output(argsSchema.parse(given), callId)
      const trusted = new Set(from.trusted_fields)
      const fields: Record<JsonPointer, LabelInit> = {}
      if (returns_untrusted)
        for (const pointer of pointersTo(value, trusted, '')) fields[pointer] = { ...label, integrity: 'trusted' }
      return rich(value, { fields })
    },
  })
}

const argsSchema = z.record(z.string(), z.custom<Json>())

/** Recorded calls are valid; what the recorder's schemas say of defaults and null is not for the replay to judge. */
function lenient(schema: SuiteTool['parameters']): { readonly [key: string]: Json } {
  return { ...schema, required: [] }
}

function pointersTo(value: Json, keys: ReadonlySet<string>, at: string): readonly JsonPointer[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => pointersTo(item, keys, `${at}/${index}`))
  return Object.entries(value).flatMap(([key, item]) => {
    const pointer: JsonPointer = `/${`${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(1)}`
    return keys.has(key) ? [pointer] : pointersTo(item ?? null, keys, pointer)
  })
}
