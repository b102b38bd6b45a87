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
  /** Sent as JSON. A string is sent unchanged, so that a script can send invalid JSON. Default `{}`. */
  readonly input?: unknown
  /** Default `call_<step>_<n>`, both counted from 0. Used unchanged, also when it is empty or not unique. */
  readonly id?: string
}

/**
 * One response of a scripted model, as data. It is streamed as reasoning, text, tool calls, finish.
 *
 * A *chunk* is one delta: the reasoning, each part of the text, the input of each tool call.
 */
export interface ScriptedStep {
  /** One chunk, or several. */
  readonly text?: string | readonly string[]
  /** With `providerMetadata` (a signature, say), a test can check that the metadata returns in the next prompt. */
  readonly reasoning?: string | { readonly text: string; readonly providerMetadata?: SharedV4ProviderMetadata }
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Default: the provider reports none. */
  readonly usage?: Usage
  /** Default `tool-calls` if the step has any, else `stop`. */
  readonly finishReason?: FinishReason
  /** Milliseconds before each chunk, or before the end of a step without chunks. An abort ends the wait. Default 0. */
  readonly delayMs?: number
  /** Thrown unchanged by the call. With `failAfterChunks`, the stream fails with it. */
  readonly error?: unknown
  /** Number of chunks after which the stream fails, with `error` or with undici's error of a closed connection. */
  readonly failAfterChunks?: number
  /**
   * The response never ends and ignores its signal: after all chunks, or after `failAfterChunks` of them. `connect`:
   * the call itself never settles.
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

/** @throws ProvostError `unknown-option` for an unknown key in the step. */
export function checkStep(step: ScriptedStep): void {
  checkOptions(step, stepKeys, 'a step of scriptedModel', { content: 'Name it "text".', tools: 'Name it "toolCalls".' })
  for (const call of step.toolCalls ?? []) checkOptions(call, callKeys, 'a tool call of scriptedModel', movedCall)
}

/** What a step function receives. The model keeps nothing of it. */
export interface ScriptedPrompt {
  readonly messages: LanguageModelV4Prompt
  readonly tools: NonNullable<LanguageModelV4CallOptions['tools']>
  /** All options of the call: tool choice, response format, temperature and so on. */
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

/** The complete stream parts of the response with this index. */
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

/** The content of the response with this index, for a call without streaming. */
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

/**
 * The parts that are sent before a stream breaks: up to the n-th chunk, or all but the finish when there are fewer
 * chunks.
 */
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
