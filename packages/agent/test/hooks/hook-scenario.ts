import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { AgentStream } from '@provost/agent'
import type {
  AgentEvent,
  Entry,
  EventOf,
  EventType,
  Extension,
  Hooks,
  Label,
  Message,
  ProvostError,
  RunResult,
  SessionStore,
  ToolOutput,
} from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry, ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

/** An extension of the agent's scope with these hooks. */
export function extension(name: string, hooks: Hooks): Extension {
  return defineExtension({ name, hooks })
}

/** Reads a tool that answers with what it was given. */
export const echo: ReturnType<typeof echoTool> = echoTool()
function echoTool() {
  return tool({
    name: 'echo',
    effect: 'read',
    input: z.object({ value: z.string() }),
    execute: ({ value }) => `echo ${value}`,
  })
}

/** A call of {@link echo} in a script. */
export function say(value: unknown): { readonly name: 'echo'; readonly input: { readonly value: unknown } } {
  return { name: 'echo', input: { value } }
}

/** A model that answers from a script and leaves what it was asked in `asked`. */
export function askedModel(
  asked: ScriptedPrompt[],
  steps: readonly ScriptedEntry[],
  options?: Parameters<typeof scriptedModel>[1],
): LanguageModelV4 {
  return scriptedModel(
    steps.map((step) => (prompt: ScriptedPrompt, index: number) => {
      asked.push(prompt)
      return typeof step === 'function' ? step(prompt, index) : step
    }),
    options,
  )
}

/** A model that streams these parts, one list for each call. */
export function partsModel(...answers: readonly (readonly LanguageModelV4StreamPart[])[]): LanguageModelV4 {
  let calls = 0
  return {
    specificationVersion: 'v4',
    provider: 'parts',
    modelId: 'parts-model',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('streams only')),
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          for (const part of answers[calls] ?? []) controller.enqueue(part)
          calls++
          controller.close()
        },
      }),
    }),
  }
}

/** The end of a stream of parts. */
export const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 2, text: 2, reasoning: undefined },
  },
}

/** A prompt as lines of `role: text`, with calls and results in brackets. */
export function lines({ messages }: Pick<ScriptedPrompt, 'messages'>): string[] {
  return messages.map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`
    const texts = content.map((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'reasoning') return `(${part.text})`
      if (part.type === 'tool-call') return `[${part.toolName} ${JSON.stringify(part.input)}]`
      if (part.type === 'tool-result') return `[${part.toolName} → ${outputText(part.output)}]`
      return `[${part.type}]`
    })
    return `${role}: ${texts.join(' ')}`
  })
}

function outputText(output: { readonly type: string; readonly value?: unknown; readonly reason?: string }): string {
  if (output.type === 'execution-denied') return `denied: ${output.reason ?? ''}`
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}

/** The text of a tool's output as the model reads it. */
export function readOutput(output: ToolOutput): string {
  return outputText(output)
}

/** All events of a run, and its result. */
export async function watch<Output>(
  stream: AgentStream<Output>,
): Promise<{ readonly events: readonly AgentEvent[]; readonly result: RunResult<Output> }> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return { events, result: await stream.result }
}

/** The events of one type. */
export function only<K extends EventType>(events: readonly AgentEvent[], type: K): EventOf<K>[] {
  return events.filter((event): event is AgentEvent & EventOf<K> => event.type === type)
}

/** The types of events, in order, those of text and tool-call deltas once for each row of them. */
export function typesOf(events: readonly AgentEvent[]): EventType[] {
  const types: EventType[] = []
  for (const { type } of events) if (!type.endsWith('.delta') || types.at(-1) !== type) types.push(type)
  return types
}

/** Who reported errors: `kind name: code`. */
export function reported(events: readonly AgentEvent[]): string[] {
  return only(events, 'agent.error').map(({ source, error }) => `${source.kind} ${source.name}: ${error.message}`)
}

/** Where a test cannot go on without something. */
export function missing(what: string): never {
  throw new Error(what)
}

/** The error of a run that must have failed. */
export function failure(result: RunResult<unknown>): ProvostError {
  return result.status === 'failed' ? result.error : missing(`The run was ${result.status}.`)
}

/** Everything a log says. */
export async function entriesOf(store: SessionStore, sessionId: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}

/** The entries of one type. */
export async function entriesOfType<T extends Entry['type']>(
  store: SessionStore,
  { sessionId }: Pick<RunResult<unknown>, 'sessionId'>,
  type: T,
): Promise<Extract<Entry, { type: T }>[]> {
  const entries = await entriesOf(store, sessionId)
  return entries.filter((entry): entry is Extract<Entry, { type: T }> => entry.type === type)
}

/** Messages as lines of `role: text`, results in brackets. */
export function transcript(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    const results = message.content.flatMap((part) =>
      part.type === 'tool-result' ? [`[${readOutput(part.output)}]`] : [],
    )
    const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [`[${part.toolName}]`] : []))
    return `${message.role}: ${[textOf(message), ...calls, ...results].filter((text) => text !== '').join(' ')}`
  })
}

/** A label of an outside source. */
export function outside(source: string): Label {
  return { integrity: 'untrusted', confidentiality: 'internal', sources: [source] }
}
