import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isRecord } from '@provost/core'

import { scriptedModel } from '../model/scripted-model.ts'
import type { ScriptedPrompt, ScriptedStep } from '../model/scripted-step.ts'

/** What the sessions of a check do, one call after the other. */
export interface EngineCall {
  /** Asks for an approval first. */
  readonly asks?: boolean
  /** Milliseconds after which the approval expires; default never. */
  readonly withinMs?: number
  /** Milliseconds that the call takes; default 0. */
  readonly takesMs?: number
}

/** A moment of a run at which a check stops or kills its process. */
export type EngineMoment = 'in a model call' | 'before an effect' | 'after an effect'

interface EngineCallContext {
  readonly idempotencyKey: string
  readonly session: { readonly id: string }
  readonly signal: AbortSignal
}

/** The options of the one tool of the desk, for `tool()` of the application. */
export interface EngineTool {
  readonly name: string
  readonly description: string
  readonly effect: 'write'
  readonly input: Readonly<Record<string, unknown>>
  needsApproval(input: unknown): boolean | { readonly reason: string; readonly expiresInMs?: number }
  lookup(key: string): { readonly output: string } | undefined
  execute(input: unknown, ctx: EngineCallContext): Promise<string>
}

/** The options of the agent that a check of an engine runs. */
export interface EngineDesk {
  readonly name: string
  readonly model: LanguageModelV4
  readonly tool: EngineTool
  /** Milliseconds of a lease. */
  readonly leaseMs: number
}

/** The options of the agent that hands work to the desk: its children may run on any worker. */
export interface EngineChief {
  readonly name: string
  readonly model: LanguageModelV4
  readonly leaseMs: number
  /** The options of the tool that runs the desk, for `toTool()` of its agent. */
  readonly desk: {
    readonly name: string
    readonly description: string
    readonly where: 'any'
    readonly grant: { readonly toolCalls: number }
  }
}

/** A desk, and what its process has done. */
export interface ObservedDesk {
  readonly desk: EngineDesk
  readonly chief: EngineChief
  /** Most calls at once, by the first part of the id of their session. */
  readonly peaks: ReadonlyMap<string, number>
}

/** Text that no engine may store. */
export const canary = 'canary-4711-of-the-user'

/** Returns the input with which a session makes these calls. */
export const inputOf = (calls: readonly EngineCall[]): string => `${JSON.stringify(calls)} ${canary}`

/**
 * Creates the desk of a process.
 *
 * @param outside the file that represents the outside world: a line for each effect, its key first.
 * @param leaseMs milliseconds of a lease.
 * @param moment is awaited at each moment.
 */
export function engineDesk(
  outside: string,
  leaseMs: number,
  moment: (moment: EngineMoment) => Promise<void> | void = () => {},
): ObservedDesk {
  const active = new Map<string, number>()
  const peaks = new Map<string, number>()

  function count(group: string, change: 1 | -1): void {
    const now = (active.get(group) ?? 0) + change
    active.set(group, now)
    peaks.set(group, Math.max(peaks.get(group) ?? 0, now))
  }

  function answer({ messages }: ScriptedPrompt): ScriptedStep {
    const calls = callsIn(messages.find(({ role }) => role === 'user'))
    const call = calls[messages.filter(({ role }) => role === 'tool').length]
    return call ? { toolCalls: [{ name: 'pay', input: call }] } : { text: 'All paid.' }
  }

  const model = scriptedModel([answer], { after: 'repeat-last' })
  const desk: EngineDesk = {
    name: 'engine-desk',
    model: {
      ...model,
      async doStream(call) {
        await moment('in a model call')
        return model.doStream(call)
      },
    },
    leaseMs,
    tool: {
      name: 'pay',
      description: 'Pays.',
      effect: 'write',
      input: {
        type: 'object',
        properties: { asks: { type: 'boolean' }, withinMs: { type: 'number' }, takesMs: { type: 'number' } },
        additionalProperties: false,
      },
      needsApproval(input) {
        const { asks, withinMs } = callOf(input)
        return asks ? { reason: 'a payment', ...(withinMs !== undefined && { expiresInMs: withinMs }) } : false
      },
      lookup: (key) => (effectsIn(outside).some((effect) => effect.key === key) ? { output: 'paid' } : undefined),
      async execute(input, { idempotencyKey, session, signal }) {
        const [group = ''] = session.id.split('.')
        count(group, 1)
        try {
          await moment('before an effect')
          await sleep(callOf(input).takesMs ?? 0, undefined, { signal })
          appendFileSync(outside, `${idempotencyKey} ${session.id}\n`)
          await moment('after an effect')
          return 'paid'
        } finally {
          count(group, -1)
        }
      },
    },
  }
  const chief: EngineChief = {
    name: 'engine-chief',
    model: scriptedModel([delegates], { after: 'repeat-last' }),
    leaseMs: desk.leaseMs,
    desk: { name: 'ask_desk', description: 'Hands work over.', where: 'any', grant: { toolCalls: 8 } },
  }
  return { desk, chief, peaks }
}

/** Hands each call to a desk of its own, all at once. */
function delegates({ messages }: ScriptedPrompt): ScriptedStep {
  if (messages.some(({ role }) => role === 'tool')) return { text: 'All paid.' }
  const calls = callsIn(messages.find(({ role }) => role === 'user'))
  return { toolCalls: calls.map((call) => ({ name: 'ask_desk', input: { task: inputOf([call]) } })) }
}

function callOf(input: unknown): EngineCall {
  const { asks, withinMs, takesMs }: Readonly<Record<string, unknown>> = isRecord(input) ? input : {}
  return {
    asks: asks === true,
    ...(typeof withinMs === 'number' && { withinMs }),
    ...(typeof takesMs === 'number' && { takesMs }),
  }
}

/** Returns the calls that the user asks for: see {@link inputOf}. */
function callsIn(message: ScriptedPrompt['messages'][number] | undefined): readonly EngineCall[] {
  const part = message?.role === 'user' ? message.content.find(({ type }) => type === 'text') : undefined
  const text = part?.type === 'text' ? part.text : '[] '
  const calls: unknown = JSON.parse(text.slice(0, text.lastIndexOf(' ')))
  return Array.isArray(calls) ? calls.map(callOf) : []
}

/** An effect in the file that represents the outside world. */
export interface OutsideEffect {
  readonly key: string
  readonly sessionId: string
}

export function effectsIn(outside: string): readonly OutsideEffect[] {
  if (!existsSync(outside)) return []
  const lines = readFileSync(outside, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => {
    const [key = '', sessionId = ''] = line.split(' ')
    return { key, sessionId }
  })
}
