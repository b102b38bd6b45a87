import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions, AgentStream } from '@provost/agent'
import type { AgentEvent, Entry, EventOf, Extension, Message, RunResult, SessionStore, View } from '@provost/core'
import { defineExtension, labelOf, textOf } from '@provost/core'
import { compaction } from '@provost/memory'
import type { CompactionOptions } from '@provost/memory'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

/** About so many tokens of words that are no identifiers. */
export function words(tokens: number, word = 'word'): string {
  return `${word} `.repeat(tokens).trimEnd()
}

/** Gives back as much as it is asked for. */
export const fetchPage = tool({
  name: 'fetch_page',
  effect: 'read',
  input: z.object({ tokens: z.number(), tag: z.string().default('page') }),
  maxResultTokens: 1_000_000,
  execute: ({ tokens, tag }) => `${tag} ${words(tokens)}`,
})

/** Always asks a human. */
export const pay = tool({
  name: 'pay',
  effect: 'write',
  needsApproval: true,
  input: z.object({}),
  execute: () => 'paid',
})

/** A call of {@link fetchPage}. */
export function page(tokens: number, tag = 'page') {
  return { name: 'fetch_page', input: { tokens, tag } }
}

/** Whether a prompt is that of the built-in summariser. */
export function isSummaryRequest({ messages }: Pick<ScriptedPrompt, 'messages'>): boolean {
  return messages[0]?.role === 'system' && messages[0].content.startsWith('You sum up')
}

/** What an agent was asked, and what came of it. */
export interface Scene {
  readonly agent: Agent
  /** The prompts of the conversation. */
  readonly asked: ScriptedPrompt[]
  /** The prompts of the summariser. */
  readonly summaries: ScriptedPrompt[]
  /** The view as it was sent, at each model call. */
  readonly views: View[]
}

type Answering = ScriptedStep | ((prompt: ScriptedPrompt, index: number) => ScriptedStep)

/** An agent with compaction; its model answers from `steps`, and sums up as `sum` says. */
export function scene(
  options: CompactionOptions,
  steps: readonly Answering[],
  more: Partial<Omit<AgentOptions, 'output'>> & { readonly sum?: Answering } = {},
): Scene {
  const asked: ScriptedPrompt[] = []
  const summaries: ScriptedPrompt[] = []
  const views: View[] = []
  const { sum = { text: 'They talked.' }, extensions = [], ...rest } = more
  const answer = (prompt: ScriptedPrompt): ScriptedStep => {
    if (isSummaryRequest(prompt)) {
      summaries.push(prompt)
      return typeof sum === 'function' ? sum(prompt, summaries.length - 1) : sum
    }
    asked.push(prompt)
    const step = steps[Math.min(asked.length, steps.length) - 1] ?? { text: 'ok' }
    return typeof step === 'function' ? step(prompt, asked.length - 1) : step
  }
  const agent = createAgent({
    name: 'a',
    instructions: 'You help.',
    model: scriptedModel([answer], { after: 'repeat-last' }),
    tools: [fetchPage],
    settings: { maxRetries: 0 },
    ...rest,
    extensions: [...extensions, compaction(options), looker(views)],
  })
  return { agent, asked, summaries, views }
}

/** Sees what is sent, and that it is whole. */
export function looker(views: View[]): Extension {
  return defineExtension({
    name: 'looker',
    hooks: {
      'model.request'(_, { view }) {
        const { messages, label, tokens, overhead, model, trigger } = view
        assertWellFormed(messages.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool'))
        views.push({ messages, label, tokens, overhead, model, trigger })
      },
    },
  })
}

/** All events of a stream, and its result. */
export async function watch(
  stream: AgentStream,
): Promise<{ readonly events: readonly AgentEvent[]; readonly result: RunResult }> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return { events, result: await stream.result }
}

export function compactions(events: readonly AgentEvent[]): readonly EventOf<'context.compacted'>[] {
  return events.filter((event) => event.type === 'context.compacted')
}

export async function entriesOf(store: SessionStore, sessionId: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}

/** Messages as `role: beginning of the text`. */
export function outline(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    const [part] = message.content
    const text = textOf(message) || (part?.type === 'tool-call' ? `[${part.toolName}]` : '')
    const output = part?.type === 'tool-result' && 'value' in part.output ? JSON.stringify(part.output.value) : ''
    return `${message.role}: ${(text || output).slice(0, 24)}`
  })
}

export function confidentialityOf(message: Message | undefined): string | undefined {
  return message && labelOf(message).confidentiality
}
