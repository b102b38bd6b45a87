import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json, KnownKeys, Message, ModelMessage, Part } from '@provost/core'
import { checkOptions, isRecord, liveFields } from '@provost/core'

import type { ImportedMessage } from './model-message.ts'
import { fromModelMessages } from './model-message.ts'
import type { ProviderCallIds } from './provider-call-id.ts'
import { createProviderCallIds } from './provider-call-id.ts'
import type { ProviderRole, ProviderRules } from './provider-message.ts'
import { toProviderMessage } from './provider-message.ts'

/** Options of a prompt. */
export interface PromptOptions {
  /**
   * Converts a message for the model: to messages of the AI SDK, an empty list to omit it, or `undefined` for the
   * default of its role. Called once per message. By default `error`, `aborted` and custom roles are omitted.
   */
  readonly convert?: ((message: Message) => ModelMessage | readonly ModelMessage[] | undefined) | undefined
  /** Whether reasoning of earlier responses is sent to the model. Default `keep`. */
  readonly reasoning?: 'keep' | 'strip' | undefined
  /**
   * Returns the relation of the author of a message to the model of this prompt. Called once per message. Default:
   * always `self`.
   */
  readonly writer?: ((message: Message) => Writer) | undefined
}

/**
 * `self`: the message is sent back unchanged. `sibling`, another model of the provider: without reasoning, since its
 * signatures are valid for one model. `stranger`, a model of another provider: only text and calls, since ids, metadata
 * and tools of a provider are meaningless or invalid elsewhere.
 */
export type Writer = 'self' | 'sibling' | 'stranger'

/** A prompt that grows with the history. Converted messages stay the same objects. */
export interface Prompt {
  /**
   * Adds a message at the end.
   *
   * @throws ProvostError `blob-not-loaded`, `invalid-file-url` or `unsupported-file`; the prompt is unchanged then.
   */
  append(message: Message): void
  /** Starts over with other messages, as after a compaction. */
  reset(messages: readonly Message[]): void
  /** Messages of a prompt that the next call has too: all but the tail. */
  readonly length: number
  /** Returns the prompt for one call: all messages, then `tail`, which is not kept. */
  build(tail?: readonly Message[]): LanguageModelV4Prompt
}

const promptKeys = {
  convert: true,
  reasoning: true,
  writer: true,
} satisfies KnownKeys<PromptOptions>

/**
 * Returns a prompt for an AI SDK model, converted message by message.
 *
 * Two builds share their common prefix as identical objects, which keeps a provider's prompt cache warm and makes the
 * cost of a step independent of the history. Tool-call ids are made unique and fit for every provider; results follow
 * their call through our `callId`.
 *
 * @example
 * const prompt = createPrompt()
 * prompt.append(question)
 * await callModel({ model, prompt: prompt.build(), callId: (index) => `step-1/${index}` }, () => {})
 */
export function createPrompt(options: PromptOptions = {}): Prompt {
  checkOptions(options, promptKeys, 'createPrompt')
  const { convert, writer, reasoning = 'keep' } = options
  const converted = new WeakMap<Message, readonly ImportedMessage[]>()
  let wire: LanguageModelV4Message[] = []
  let ids = createProviderCallIds()
  // Messages below this index were returned and must not change.
  let sent = 0

  function toWire(message: Message, wireIds: ProviderCallIds): LanguageModelV4Message[] {
    const from = writer?.(message) ?? 'self'
    const rules: ProviderRules = {
      ids: wireIds,
      reasoning: from === 'self' ? reasoning : 'strip',
      foreign: from === 'stranger',
      input: asObject,
    }
    const written: LanguageModelV4Message[] = []
    for (const { role, content } of versions(message)) {
      const one = toProviderMessage(role, content, rules)
      if (one) written.push(one)
    }
    return written
  }

  function versions(message: Message): readonly ImportedMessage[] {
    const known = converted.get(message)
    if (known) return known
    const own = convert?.(message)
    const messages = own === undefined ? asItIs(message) : byHand(message, 'role' in own ? [own] : own)
    if (convert) converted.set(message, messages)
    return messages
  }

  const prompt = {
    append: (message: Message) => place(toWire(message, ids), wire, sent),
    reset: (messages: readonly Message[]) => {
      const fresh: LanguageModelV4Message[] = []
      const freshIds = createProviderCallIds()
      for (const message of messages) place(toWire(message, freshIds), fresh, 0)
      wire = fresh
      ids = freshIds
      sent = 0
    },
    build: (tail?: readonly Message[]) => {
      sent = wire.length
      const sending = wire.slice()
      if (tail && tail.length > 0) {
        const tailIds = ids.fork()
        for (const message of tail) place(toWire(message, tailIds), sending, sent)
      }
      return sending
    },
  }
  return withLength(prompt, () => wire.length)
}

const withLength = liveFields<() => number, Pick<Prompt, 'length'>>({ length: (count) => count() })

/** Adds messages to a prompt. Nothing below `fixed` changes. */
function place(messages: readonly LanguageModelV4Message[], into: LanguageModelV4Prompt, fixed: number): void {
  for (const message of messages) {
    const last = into.length > fixed ? into.at(-1) : undefined
    // The results of one step belong in one message: some providers count them against the calls.
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(...message.content)
    else into.push(message)
  }
}

function isWireRole(role: Message['role']): role is ProviderRole {
  return role === 'system' || role === 'user' || role === 'assistant' || role === 'tool'
}

/**
 * Returns the arguments of a call as an object. Providers reject other arguments, and the result of the call reports
 * the problem.
 */
function asObject(input: Json): unknown {
  return isRecord(input) ? input : {}
}

function asItIs({ role, content }: Message): readonly ImportedMessage[] {
  if (!isWireRole(role)) return []
  return [{ role, content: role === 'assistant' ? settled(content) : content }]
}

/** Without trailing reasoning, which a provider rejects. */
function settled(content: readonly Part[]): readonly Part[] {
  const last = content.findLastIndex(({ type }) => type !== 'reasoning' && type !== 'reasoning-file')
  return last === content.length - 1 ? content : content.slice(0, last + 1)
}

/** Returns the result of `convert` with the `callId` of each call and result. */
function byHand(message: Message, own: readonly ModelMessage[]): readonly ImportedMessage[] {
  const imported = fromModelMessages(own)
  const callIds = new Map<string, string>()
  const ids = createProviderCallIds()
  for (const part of message.content) {
    if (part.type !== 'tool-call' && part.type !== 'tool-result') continue
    // The ids that `toModelMessages` writes for this message precede, since they are unique.
    callIds.set(ids.ofCall(part.callId, part.toolCallId), part.callId)
    for (const id of [part.toolCallId, part.callId]) if (!callIds.has(id)) callIds.set(id, part.callId)
  }
  if (callIds.size === 0) return imported
  const claimed = (part: Part): Part =>
    part.type === 'tool-call' || part.type === 'tool-result'
      ? { ...part, callId: callIds.get(part.toolCallId) ?? part.callId }
      : part
  return imported.map(({ role, content }) => ({ role, content: content.map(claimed) }))
}
