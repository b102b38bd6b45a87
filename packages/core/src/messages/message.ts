import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelMessage } from '@ai-sdk/provider-utils'

import { checkArguments } from '../values/argument.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer, Timestamp } from '../values/json.ts'
import { deepFreeze } from '../values/json.ts'
import type { Label, LabelInit } from '../values/label.ts'
import { fillLabel, joinLabels, trustedLabel, untrustedLabel } from '../values/label.ts'

export type { ModelMessage } from '@ai-sdk/provider-utils'

interface PartBase {
  /** Present only where it differs from the message's. */
  readonly label?: Label
  /** What the provider attached to the part, such as the signature of reasoning; returned to the provider unchanged. */
  readonly providerOptions?: SharedV4ProviderOptions
}
/** Text. */
export interface TextPart extends PartBase {
  readonly type: 'text'
  readonly text: string
}
/** Reasoning of a model. It returns to its provider unchanged, with its turn or not at all. */
export interface ReasoningPart extends PartBase {
  readonly type: 'reasoning'
  readonly text: string
}
/** Where a file's bytes are: base64 or a blob of the store. Messages are JSON, so they contain no Buffer. */
export type FileSource =
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'blob'; readonly hash: string; readonly bytes: number }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reference'; readonly reference: Readonly<Record<string, string>> }
/** A file from a user or a model; `reasoning-file`: one that belongs to a model's reasoning. */
export interface FilePart extends PartBase {
  readonly type: 'file' | 'reasoning-file'
  readonly data: FileSource
  readonly mediaType: string
  readonly filename?: string
}
/** Content that only one provider understands, kept for it unchanged. */
export interface CustomPart extends PartBase {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
}
/** A call that a model wrote. */
export interface ToolCallPart extends PartBase {
  readonly type: 'tool-call'
  /** Assigned by the runtime: unique in the session, derived from the position. */
  readonly callId: string
  /** The provider's id: for requests only; may repeat or be empty. */
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly providerExecuted?: boolean
}
/** The output of a tool, in the AI SDK's form. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly (TextPart | FilePart)[] }
/** The result of a call; each call has exactly one. */
export interface ToolResultPart extends PartBase {
  readonly type: 'tool-result'
  readonly callId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  /** Labels of single fields of a JSON output. */
  readonly fields?: Readonly<Record<JsonPointer, Label>>
  /** For events and user interfaces; never sent to a model. */
  readonly details?: Json
}
/** A part of a message: the AI SDK's parts in JSON form. */
export type Part = TextPart | ReasoningPart | FilePart | CustomPart | ToolCallPart | ToolResultPart

/** `error`, `aborted` and custom roles stay in the history and reach a model only where `convertToModel` maps them. */
export type Role = 'system' | 'user' | 'assistant' | 'tool' | 'error' | 'aborted' | `custom:${string}`

/**
 * Why the runtime or an extension wrote a message. Messages of users, models and tools have no purpose.
 *
 * - `repair`: a hook rejected an answer. `output-repair`: the answer did not fit the output schema.
 * - `handoff-note`: tells an agent why it was called.
 * - `orchestrator`: a message of the agent's orchestrator.
 * - `opening`: stands for a user message where a history does not begin with one.
 * - `summary`: replaces other messages. `edit`: an extension added it to the model's view.
 * - `closing`: closes a run that was ended from outside.
 */
export type MessagePurpose =
  | 'repair'
  | 'output-repair'
  | 'handoff-note'
  | 'orchestrator'
  | 'opening'
  | 'summary'
  | 'edit'
  | 'closing'

/** One message of a history. */
export interface Message {
  readonly id: string
  readonly role: Role
  readonly content: readonly Part[]
  readonly label?: Label
  /** The agent that wrote or received it. */
  readonly agent?: string
  readonly createdAt: Timestamp
  readonly error?: ErrorInfo
  /** The content was cut off by an error or an abort. */
  readonly partial?: true
  /**
   * A message with a purpose does not count as the user's own words. The purpose of a message from outside has no other
   * effect. `purposeOf` reads the purpose of an entry.
   */
  readonly purpose?: MessagePurpose
  /** Data of the application in a message of a `custom:` role: logged, and passed to `convertToModel`. */
  readonly data?: Json
}

/** A message before it is logged: the runtime adds id, time, agent and the default label. The default role is `user`. */
export interface MessageInit {
  readonly role?: Role
  readonly content: string | readonly Part[]
  readonly label?: LabelInit
  /** Any JSON, in a message of a `custom:` role. */
  readonly data?: unknown
}

/** A part of a user message in the form of the AI SDK: `{ type: 'image', image }`, with bytes, base64 or a URL. */
export type UserContentPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number]

/** The input of a run: text, the parts of one user message, or a history of Provost or AI SDK messages. */
export type Input = string | readonly (Part | UserContentPart)[] | readonly Message[] | readonly ModelMessage[]

/**
 * Returns the text of a message: its text parts joined, without reasoning, calls and results.
 *
 * @example
 * textOf({ content: 'hello' }) // 'hello'
 */
export function textOf(message: Pick<Message, 'content'> | MessageInit): string {
  checkArguments('textOf', [message], ['message'])
  const { content } = message
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}

const fromAssistant = deepFreeze(untrustedLabel('assistant'))
const fromTool = deepFreeze(untrustedLabel('tool'))

/**
 * Returns the label of a message with all its parts. A missing label fails closed: only messages from a human or from the
 * application's own source are trusted, and only in their roles.
 */
export function labelOf(message: Pick<Message, 'role' | 'content' | 'label'>): Label {
  const { role, content, label } = message
  const own = role === 'assistant' ? fromAssistant : role === 'tool' ? fromTool : trustedLabel
  let joined = label ? fillLabel(label, own) : own
  for (const part of content) if (part.label) joined = joinLabels(joined, fillLabel(part.label, joined))
  return joined
}
