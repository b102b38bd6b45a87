import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import type { Entry, LabelInit, Message, RunResult, SessionStore, Tool, ToolOutput, Truncation } from '@provost/core'
import { isRecord } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedToolCall } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { entriesOf, missing } from '../hooks/hook-scenario.ts'

/** A store that appears to outlive its process. */
export function durableStore(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

/** A tool named dump that gives this. */
export function dump(
  result: unknown,
  options: { maxResultTokens?: number; truncation?: Truncation; returns?: LabelInit } = {},
): Tool {
  return tool({ name: 'dump', effect: 'read', input: none, execute: () => result, ...options })
}
const none = z.object({})

/** The calls of a step, made when the handle that the last result named is known. */
export type Calls = (handle: string) => readonly ScriptedToolCall[]

/** A model that calls dump, then what is asked for with the handle it got, and then is done. */
export function reading(...steps: readonly Calls[]) {
  return scriptedModel([
    { toolCalls: [{ name: 'dump' }] },
    ...steps.map((calls) => (prompt: ScriptedPrompt) => ({ toolCalls: [...calls(handleIn(prompt))] })),
    { text: 'done' },
  ])
}

export function handleIn(said: unknown): string {
  return /res_[\w-]{22}/.exec(JSON.stringify(said))?.[0] ?? ''
}

export function agentOf(options: Partial<AgentOptions<undefined>>): Agent {
  return createAgent({ name: 'reader', model: reading(), ...options })
}

/** What each call came to, in order: the texts of its output. */
export function outputs({ messages }: RunResult<unknown>): string[][] {
  return resultsIn(messages).map(({ output }) => textsOf(output))
}

export function resultsIn(messages: readonly Message[]) {
  return messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool-result' ? part : [])))
}

export function textsOf(output: ToolOutput): string[] {
  if (output.type === 'content')
    return output.value.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`))
  return ['value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output)]
}

/** The entries that the log has of settled calls. */
export async function settled(store: SessionStore, sessionId: string) {
  const entries = await entriesOf(store, sessionId)
  return entries.flatMap((entry) => (entry.type === 'call' && entry.op === 'settled' ? entry : []))
}

/** What the entry of a spilled result says. */
export function spilledIn(entries: readonly Entry[]) {
  const entry = entries.find(({ type }) => type === 'ext')
  if (entry?.type !== 'ext' || !isRecord(entry.data)) return missing('Nothing was spilled.')
  const { handle, hash, callId } = entry.data
  if (typeof handle !== 'string' || typeof hash !== 'string' || typeof callId !== 'string') return missing('No handle.')
  return { handle, hash, callId, data: entry.data }
}

export const read = (input: unknown): ScriptedToolCall => ({ name: 'read_result', input })
