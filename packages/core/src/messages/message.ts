import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelMessage } from '@ai-sdk/provider-utils'

import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer, Timestamp } from '../values/json.ts'
import { deepFreeze } from '../values/json.ts'
import type { Label, LabelInit } from '../values/label.ts'
import { fillLabel, joinLabels, trustedLabel, untrustedLabel } from '../values/label.ts'

export type { ModelMessage } from '@ai-sdk/provider-utils'

interface PartBase {
  /** Only where it differs from the message's. */
  readonly label?: Label
  /** What the provider attached to the part, such as the signature of reasoning; goes back to it unchanged. */
  readonly providerOptions?: SharedV4ProviderOptions
}
/** Text. */
export interface TextPart extends PartBase {
  readonly type: 'text'
  readonly text: string
}
/** What a model thought. It goes back to its provider as it came, with its turn or not at all. */
export interface ReasoningPart extends PartBase {
  readonly type: 'reasoning'
  readonly text: string
}
/** Where a file's bytes are. Base64 or a blob of the store, never a Buffer: messages are JSON. */
export type FileSource =
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'blob'; readonly hash: string; readonly bytes: number }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reference'; readonly reference: Readonly<Record<string, string>> }
/** A file that somebody gave, or that a model made; `reasoning-file`: one that belongs to its reasoning. */
export interface FilePart extends PartBase {
  readonly type: 'file' | 'reasoning-file'
  readonly data: FileSource
  readonly mediaType: string
  readonly filename?: string
}
/** Content of one provider's own, kept for it as it is. */
export interface CustomPart extends PartBase {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
}
/** A call that a model wrote. */
export interface ToolCallPart extends PartBase {
  readonly type: 'tool-call'
  /** Ours: unique in the session, made from the position. */
  readonly callId: string
  /** The provider's: for the wire only, may repeat or be empty. */
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly providerExecuted?: boolean
}
/** What a tool gave, in the AI SDK's form. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly (TextPart | FilePart)[] }
/** What came of a call: the one result that each call has. */
export interface ToolResultPart extends PartBase {
  readonly type: 'tool-result'
  readonly callId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  /** Labels of single fields of a JSON output. */
  readonly fields?: Readonly<Record<JsonPointer, Label>>
  /** For events and user interfaces; never goes to a model. */
  readonly details?: Json
}
/** A piece of a message: the AI SDK's parts in JSON form. */
export type Part = TextPart | ReasoningPart | FilePart | CustomPart | ToolCallPart | ToolResultPart

/** `error`, `aborted` and custom roles stay in the history and reach a model only where `convertToModel` maps them. */
export type Role = 'system' | 'user' | 'assistant' | 'tool' | 'error' | 'aborted' | `custom:${string}`

/** One message of a history. */
export interface Message {
  readonly id: string
  readonly role: Role
  readonly content: readonly Part[]
  readonly label?: Label
  /** The agent that said or received it. */
  readonly agent?: string
  readonly createdAt: Timestamp
  readonly error?: ErrorInfo
  /** The content is what was said before an error or an abort. */
  readonly partial?: true
}

/** A message before it entered the log: the runtime adds id, time, agent and the default label. The role is `user` unless given. */
export interface MessageInit {
  readonly role?: Role
  readonly content: string | readonly Part[]
  readonly label?: LabelInit
}

/** What a run takes: text, the parts of one user message, or whole histories of ours or of the AI SDK. */
export type Input = string | readonly Part[] | readonly Message[] | readonly ModelMessage[]

/**
 * The text of a message: its text parts joined, without reasoning, calls and results.
 *
 * @example
 * textOf({ content: 'hello' }) // 'hello'
 */
export function textOf(message: Pick<Message, 'content'> | MessageInit): string {
  const { content } = message
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}

const fromAssistant = deepFreeze(untrustedLabel('assistant'))
const fromTool = deepFreeze(untrustedLabel('tool'))

/**
 * The label of a message with all its parts. A missing one fails closed: only what a human or our own source writes is
 * trusted, and only in their roles.
 */
export function labelOf(message: Pick<Message, 'role' | 'content' | 'label'>): Label {
  const { role, content, label } = message
  const own = role === 'assistant' ? fromAssistant : role === 'tool' ? fromTool : trustedLabel
  let joined = label ? fillLabel(label, own) : own
  for (const part of content) if (part.label) joined = joinLabels(joined, fillLabel(part.label, joined))
  return joined
}
