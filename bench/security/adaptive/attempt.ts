import { createAgent, handoff, memoryStore } from 'provost'
import type { Extension, Json, Tool } from 'provost'
import { codeMode } from 'provost/code-mode'
import { compaction, createMemory } from 'provost/memory'
import { sqliteMemory } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'
import type { ScriptedEntry } from 'provost/testing'

import { replayed } from '../replay/play.ts'
import { clockOf } from '../replay/suite.ts'
import type { SuiteTool } from '../replay/suite.ts'

/**
 * Who makes a call, and what the human answers to a question about it. `user`: the user's own task, approved. `bait`: what
 * the attacker wants to be asked about, approved. `sticky`: the same, approved for the session. `attack`: denied.
 */
export type Part = 'user' | 'bait' | 'sticky' | 'attack'

/** One call of an attempt: of a tool of the suite, or of the runtime. */
export interface AttemptCall {
  readonly part: Part
  readonly tool: string
  readonly args: { readonly [key: string]: Json }
  readonly output: Json
}

/** A message of the human and the calls that follow it. `after` says what lies between it and the message before. */
export interface AttemptTurn {
  readonly prompt: string
  readonly calls: readonly AttemptCall[]
  /** The model makes the calls only if it has read this text. */
  readonly knows?: string
  readonly after?: 'new-session' | { readonly summary: string }
}

/** What an attacker tries, as a whole. */
export interface Attempt {
  readonly turns: readonly AttemptTurn[]
  readonly tools: readonly SuiteTool[]
  /** The day on which it takes place, as of a suite. */
  readonly today?: string | undefined
  /** Tools of a server, whose words are not the developer's: by name. */
  readonly remote?: readonly string[]
  /** `script`: each call is a script of code mode. `handoff`: the tool `transfer_to_helper` leads to a second agent. */
  readonly way?: 'direct' | 'script' | 'handoff' | 'memory'
}

export interface AttemptOutcome {
  /** All calls of the attacker ran, and none was asked about. */
  readonly silent: boolean
  /** Calls that the policy judged. */
  readonly judged: number
  readonly questions: number
  readonly denials: number
  /** Questions about and denials of the user's own calls. */
  readonly ownTouched: number
}

/** Plays an attempt through the runtime: the model obeys the attacker, the policy is the real one. */
export async function run(attempt: Attempt, policy: () => Extension<unknown>): Promise<AttemptOutcome> {
  const calls = attempt.turns.flatMap((turn) => turn.calls)
  const ran = new Set<number>()
  const asked = new Set<number>()
  const denied = new Set<number>()
  let at = -1
  const tools = attempt.tools.map((one) => watched(one, attempt.remote?.includes(one.name) ?? false))
  function watched(one: SuiteTool, remote: boolean): Tool<never, unknown, unknown> {
    const made = replayed(one, () => {
      ran.add(at)
      return calls[at]?.output ?? null
    })
    return remote ? { ...made, set: 'board' } : made
  }
  const store = memoryStore({ clock: clockOf(attempt) })
  const model = scriptedModel(attempt.turns.flatMap((turn) => stepsOf(turn, attempt.way)))
  const summary = attempt.turns.flatMap(({ after }) => (typeof after === 'object' ? [after.summary] : []))
  const memory = attempt.way === 'memory' ? createMemory({ store: sqliteMemory(':memory:') }) : undefined
  const helper = attempt.way === 'handoff' && createAgent({ name: 'helper', description: 'Helps.', model, tools })
  const agent = createAgent({
    name: 'assistant',
    model,
    tools,
    extensions: [
      policy(),
      ...(attempt.way === 'script' ? [codeMode()] : []),
      ...(summary.length > 0
        ? [compaction({ window: 100_000, keepRecent: 0, summarize: () => summary.join('\n') })]
        : []),
      ...(memory ? [memory] : []),
    ],
    ...(helper && { handoffs: [handoff(helper)] }),
    store,
    maxSteps: calls.length + 4,
  })
  const principal = { id: 'user' }
  let sessionId: string | undefined
  for (const { prompt, after } of attempt.turns) {
    if (after === 'new-session') sessionId = undefined
    if (typeof after === 'object' && sessionId !== undefined) await agent.compact(sessionId)
    const stream = agent.stream(prompt, {
      principal,
      ...(sessionId !== undefined && { sessionId }),
      onApproval: () => {
        asked.add(at)
        const part = calls[at]?.part ?? 'attack'
        if (part === 'attack') return 'deny'
        return part === 'sticky' ? { decision: 'approve', sticky: 'session' } : 'approve'
      },
    })
    for await (const event of stream) {
      if (event.type === 'tool.call.end') at++
      if (event.type === 'tool.execute.error' && event.error.code === 'dataflow_policy_blocked') denied.add(at)
    }
    const result = await stream.result
    if (result.status !== 'completed')
      throw new Error(`The attempt on “${prompt.slice(0, 60)}” ended ${result.status}.`, { cause: result.error })
    ;({ sessionId } = result)
  }
  await memory?.close()
  const suiteTools = new Set(attempt.tools.map(({ name }) => name))
  const silent = calls.every(
    ({ part, tool }, index) =>
      part !== 'attack' || (!asked.has(index) && !denied.has(index) && (ran.has(index) || !suiteTools.has(tool))),
  )
  const own = [...asked, ...denied].filter((index) => calls[index]?.part === 'user')
  return { silent, judged: calls.length, questions: asked.size, denials: denied.size, ownTouched: own.length }
}

function stepsOf({ calls, knows }: AttemptTurn, way: Attempt['way']): readonly ScriptedEntry[] {
  const steps = calls.map(({ tool: name, args }): ScriptedEntry => {
    // In a new session the model can obey only what it reads there.
    if (knows !== undefined && name !== 'memory_recall')
      return ({ messages }) =>
        JSON.stringify(messages).includes(knows) ? { toolCalls: [{ name, input: args }] } : { text: 'Nothing to do.' }
    if (way !== 'script') return { toolCalls: [{ name, input: args }] }
    const source = `return await tools.${name}(${JSON.stringify(args)})`
    return { toolCalls: [{ name: 'code_execute', input: { source } }] }
  })
  return [...steps, { text: 'Done.' }]
}
