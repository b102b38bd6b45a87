import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { checkOptions } from '@provost/core'
import type { FinishReason, KnownKeys, MovedKeys, Usage } from '@provost/core'

/** One tool call a scripted model makes. */
export interface ScriptedToolCall {
  readonly name: string
  /** Sent as JSON. A string is sent as it is, so that a script can write what is not JSON; left out, it is `{}`. */
  readonly input?: unknown
  /** Default `call_<step>_<n>`, both counted from 0. Passed on as given, also when it is empty or not unique. */
  readonly id?: string
}

/**
 * One answer of a scripted model, as data. It is streamed as reasoning, text, tool calls, finish.
 *
 * A *chunk* is one delta: the reasoning, each piece of text, the input of each tool call.
 */
export interface ScriptedStep {
  /** One chunk, or several. */
  readonly text?: string | readonly string[]
  /** With `providerMetadata` (a signature, say) where a test wants to see it come back. */
  readonly reasoning?: string | { readonly text: string; readonly providerMetadata?: SharedV4ProviderMetadata }
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Default: the provider reports none. */
  readonly usage?: Usage
  /** Default `tool-calls` where the step has any, else `stop`. */
  readonly finishReason?: FinishReason
  /** Milliseconds before each chunk, or before the end of a step without chunks. An abort ends the wait. Default 0. */
  readonly delayMs?: number
  /** Thrown by the call as it is; with `failAfterChunks`, what the stream fails with. */
  readonly error?: unknown
  /** The stream fails after so many chunks, with `error` or as undici fails when the other side hangs up. */
  readonly failAfterChunks?: number
  /**
   * Never ends and ignores its signal: after all chunks, or after `failAfterChunks` of them.
   * `connect`: the call itself never comes back.
   */
  readonly stall?: boolean | 'connect'
}

const stepKeys = {
  text: true,
  reasoning: true,
  toolCalls: true,
  usage: true,
  finishReason: true,
  delayMs: true,
  error: true,
  failAfterChunks: true,
  stall: true,
} satisfies KnownKeys<ScriptedStep>

const callKeys = { name: true, input: true, id: true } satisfies KnownKeys<ScriptedToolCall>

const movedCall: MovedKeys = {
  toolName: 'Name it "name".',
  args: 'Name it "input".',
  arguments: 'Name it "input".',
  toolCallId: 'Name it "id".',
}

/** @throws ProvostError `unknown-option` for a step that says something else than it seems. */
export function checkStep(step: ScriptedStep): void {
  checkOptions(step, stepKeys, 'a step of scriptedModel', { content: 'Name it "text".', tools: 'Name it "toolCalls".' })
  for (const call of step.toolCalls ?? []) checkOptions(call, callKeys, 'a tool call of scriptedModel', movedCall)
}

/** What a step that is a function may look at. Nothing of it is kept. */
export interface ScriptedPrompt {
  readonly messages: LanguageModelV4Prompt
  readonly tools: NonNullable<LanguageModelV4CallOptions['tools']>
  /** The whole call: tool choice, response format, temperature and so on. */
  readonly options: LanguageModelV4CallOptions
}

const noUsage: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}

export function usageOf(step: ScriptedStep): LanguageModelV4Usage {
  const { usage } = step
  if (usage === undefined) return noUsage
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens } = usage
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens && inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0),
      cacheRead: cacheReadTokens,
      cacheWrite: cacheWriteTokens,
    },
    outputTokens: {
      total: outputTokens,
      text: outputTokens && outputTokens - (reasoningTokens ?? 0),
      reasoning: reasoningTokens,
    },
  }
}

export function finishReasonOf(step: ScriptedStep): LanguageModelV4FinishReason {
  const unified = step.finishReason ?? (step.toolCalls?.length ? 'tool-calls' : 'stop')
  return { unified, raw: unified }
}

function chunksOf(text: ScriptedStep['text']): readonly string[] {
  if (text === undefined) return []
  return typeof text === 'string' ? [text] : text
}

function reasoningOf(step: ScriptedStep): { text: string; providerMetadata?: SharedV4ProviderMetadata } | undefined {
  return typeof step.reasoning === 'string' ? { text: step.reasoning } : step.reasoning
}

function toolCallOf(call: ScriptedToolCall, step: number, n: number): LanguageModelV4ToolCall {
  const { name, input = {}, id = `call_${step}_${n}` } = call
  const written = typeof input === 'string' ? input : JSON.stringify(input)
  return { type: 'tool-call', toolCallId: id, toolName: name, input: written }
}

/** The stream parts of the `index`-th answer, whole. */
export function streamPartsOf(step: ScriptedStep, index: number): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }]
  const reasoning = reasoningOf(step)
  if (reasoning !== undefined) {
    const { text, ...metadata } = reasoning
    parts.push(
      { type: 'reasoning-start', id: 'reasoning' },
      { type: 'reasoning-delta', id: 'reasoning', delta: text },
      { type: 'reasoning-end', id: 'reasoning', ...metadata },
    )
  }
  const chunks = chunksOf(step.text)
  if (chunks.length > 0) {
    parts.push({ type: 'text-start', id: 'text' })
    for (const delta of chunks) parts.push({ type: 'text-delta', id: 'text', delta })
    parts.push({ type: 'text-end', id: 'text' })
  }
  let n = 0
  for (const scripted of step.toolCalls ?? []) {
    const call = toolCallOf(scripted, index, n++)
    const id = call.toolCallId
    parts.push(
      { type: 'tool-input-start', id, toolName: call.toolName },
      { type: 'tool-input-delta', id, delta: call.input },
      { type: 'tool-input-end', id },
      call,
    )
  }
  parts.push({ type: 'finish', usage: usageOf(step), finishReason: finishReasonOf(step) })
  return parts
}

/** The content of the `index`-th answer, for a call that does not stream. */
export function contentOf(step: ScriptedStep, index: number): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = []
  const reasoning = reasoningOf(step)
  if (reasoning !== undefined) content.push({ type: 'reasoning', ...reasoning })
  const chunks = chunksOf(step.text)
  if (chunks.length > 0) content.push({ type: 'text', text: chunks.join('') })
  for (const [n, call] of (step.toolCalls ?? []).entries()) content.push(toolCallOf(call, index, n))
  return content
}

export function isChunk(part: LanguageModelV4StreamPart): boolean {
  return part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta'
}

/** What is sent before a stream breaks: all up to the n-th chunk, or all but the finish where there are fewer. */
export function cutAfter(parts: readonly LanguageModelV4StreamPart[], chunks: number): LanguageModelV4StreamPart[] {
  let left = chunks
  const kept: LanguageModelV4StreamPart[] = []
  for (const part of parts) {
    if (part.type === 'finish' || (left === 0 && part.type !== 'stream-start')) break
    kept.push(part)
    if (isChunk(part)) left--
  }
  return kept
}
