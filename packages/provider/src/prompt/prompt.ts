import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json, KnownKeys, Message, ModelMessage, Part } from '@provost/core'
import { checkOptions, isRecord, liveFields } from '@provost/core'

import type { ImportedMessage } from './model-message.ts'
import { fromModelMessages } from './model-message.ts'
import type { ProviderCallIds } from './provider-call-id.ts'
import { createProviderCallIds } from './provider-call-id.ts'
import type { ProviderRole, ProviderRules } from './provider-message.ts'
import { toProviderMessage } from './provider-message.ts'

/** How a prompt is made from messages. */
export interface PromptOptions {
  /**
   * What a message becomes for the model: one or more messages of the AI SDK, an empty list for nothing, `undefined`
   * for the default of its role. Called once per message. Without it `error`, `aborted` and custom roles are left out.
   */
  readonly convert?: ((message: Message) => ModelMessage | readonly ModelMessage[] | undefined) | undefined
  /** Whether reasoning of earlier answers goes back to the model. Default `keep`. */
  readonly reasoning?: 'keep' | 'strip' | undefined
  /** Who wrote a message, as the model of this prompt sees it. Called once per message. Default: always `self`. */
  readonly writer?: ((message: Message) => Writer) | undefined
}

/**
 * `self`: the message goes back as it came. `sibling`, another model of the provider: without its reasoning, for
 * signatures hold for one model. `stranger`, a model of another provider: only what was said and called, for ids and
 * metadata of a provider, and tools it ran itself, mean nothing elsewhere or are refused.
 */
export type Writer = 'self' | 'sibling' | 'stranger'

/** A prompt that grows with the history: what was converted once is sent as the same objects from then on. */
export interface Prompt {
  /**
   * Adds a message behind the others.
   *
   * @throws ProvostError `blob-not-loaded`, `invalid-file-url` or `unsupported-file`; the prompt is unchanged then.
   */
  append(message: Message): void
  /** Starts over with other messages, as after a compaction. */
  reset(messages: readonly Message[]): void
  /** How many messages of a prompt are there for the next call too: all but the tail. */
  readonly length: number
  /** The prompt for one call: all messages so far, then `tail`, which is not kept. */
  build(tail?: readonly Message[]): LanguageModelV4Prompt
}

const promptKeys = {
  convert: true,
  reasoning: true,
  writer: true,
} satisfies KnownKeys<PromptOptions>

/**
 * A prompt for an AI SDK model, converted message by message.
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
  // Messages below this index were handed out and may not change any more.
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

/** Adds messages to a prompt; nothing below `fixed` is touched. */
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

/** A call whose input was no JSON object: providers refuse to read it back, and its result says what was wrong. */
function asObject(input: Json): unknown {
  return isRecord(input) ? input : {}
}

function asItIs({ role, content }: Message): readonly ImportedMessage[] {
  if (!isWireRole(role)) return []
  return [{ role, content: role === 'assistant' ? settled(content) : content }]
}

/** Without reasoning that nothing follows: a provider refuses to take it back. */
function settled(content: readonly Part[]): readonly Part[] {
  const last = content.findLastIndex(({ type }) => type !== 'reasoning' && type !== 'reasoning-file')
  return last === content.length - 1 ? content : content.slice(0, last + 1)
}

/** What `convert` made of a message; its calls and results get back the `callId` they have in ours. */
function byHand(message: Message, own: readonly ModelMessage[]): readonly ImportedMessage[] {
  const imported = fromModelMessages(own)
  const callIds = new Map<string, string>()
  const ids = createProviderCallIds()
  for (const part of message.content) {
    if (part.type !== 'tool-call' && part.type !== 'tool-result') continue
    // The ids `toModelMessages` writes for this message come first: they are unique.
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
