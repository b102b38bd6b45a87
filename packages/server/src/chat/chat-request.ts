import { createHash } from 'node:crypto'

import type { FilePart, Message, Principal, RemoteResult, SessionStore, TextPart } from '@provost/core'
import { canonicalJson, clockOf, toJson } from '@provost/core'
import { z } from 'zod'

import { badRequest } from '../http/request-error.ts'
import type { ProviderOptions } from '../requests/client-history.ts'
import { fileAt, optionsOf } from '../requests/client-history.ts'
import { clientTool } from '../requests/client-tool.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import { blobOf } from '../turns/stored-file.ts'
import { fileHash } from './chat-file.ts'

/** A longer text is cut: a refused part would leave its call waiting. */
const longestError = 10_000
/** Characters of an id that a page chooses. */
const longestId = 200

const toolPart = z.looseObject({
  type: z.string(),
  toolCallId: z.string().min(1).max(1_000),
  state: z.string(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  approval: z
    .looseObject({ id: z.string().min(1).max(1_000), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
})
const uiMessage = z.looseObject({
  id: z.string().min(1).max(longestId).optional(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })).max(10_000),
})
const pageTool = z.looseObject({
  description: z.string().max(10_000).optional(),
  parameters: z.record(z.string(), z.unknown()),
})

/** The body that `useChat` sends. The server has the history: of the messages before the last one it reads only the ids. */
export const chatSchema: z.ZodType<ChatBody> = z.looseObject({
  id: z.string().min(1).max(longestId).describe('Of the chat; its sessions belong to one principal.'),
  messages: z
    .array(uiMessage)
    .min(1)
    .max(10_000)
    .optional()
    .describe('With `trigger`, all that the page shows: a shorter list than that of the chat begins a branch.'),
  message: uiMessage.optional().describe('The last message, instead of `messages`.'),
  trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
  messageId: z.string().min(1).max(longestId).optional(),
  agent: z.string().min(1).max(200).optional(),
  tools: z.record(z.string().min(1).max(200), pageTool).optional().describe('Tools of the page, for a new chat.'),
})

/** A message of `useChat`, with fields that the server leaves alone. */
interface UiMessage {
  [field: string]: unknown
  id?: string | undefined
  role: 'system' | 'user' | 'assistant'
  parts: { [field: string]: unknown; type: string }[]
}

/** A tool of the page. */
interface ClientTool {
  [field: string]: unknown
  description?: string | undefined
  parameters: Record<string, unknown>
}

/** A request of `useChat`. */
export interface ChatBody {
  id: string
  messages?: UiMessage[] | undefined
  message?: UiMessage | undefined
  trigger?: 'submit-message' | 'regenerate-message' | undefined
  messageId?: string | undefined
  agent?: string | undefined
  tools?: Record<string, ClientTool> | undefined
}

/** The messages that a page shows before a new one. */
export interface ShownMessages {
  /** The newest first. */
  readonly ids: readonly string[]
  /** None of them is the user's: the new message is the first of the chat. */
  readonly none: boolean
}

/** What a request asks for. */
export type ChatRequest =
  | {
      readonly kind: 'input'
      /** Of the message, as the page has it. Absent for a page that sends none. */
      readonly id: string | undefined
      readonly parts: readonly ChatPart[]
      /** The message replaces one of the chat, and all that followed it. */
      readonly replaces: boolean
      /** What the page shows before the message. Absent if the request does not say. */
      readonly shown?: ShownMessages
    }
  | {
      readonly kind: 'answers'
      readonly approvals: readonly {
        readonly id: string
        readonly decision: 'approve' | 'deny'
        readonly reason?: string
      }[]
      readonly toolResults: readonly RemoteResult[]
    }

/** A part of a user message. A file may be one that the chat has: it is named by its hash. */
export type ChatPart =
  | TextPart
  | (Omit<FilePart, 'data'> & { readonly data: FilePart['data'] | { readonly type: 'kept'; readonly hash: string } })

/**
 * Reads what a page asks for.
 *
 * @param allowed providers whose metadata a page's parts may carry.
 * @returns undefined if the last message has no content.
 * @throws HttpError 400, naming the path of an invalid file
 */
export function readChatRequest(body: ChatBody, allowed: readonly string[]): ChatRequest | undefined {
  const { messages, message = messages?.at(-1), trigger, messageId } = body
  const at = body.message ? 'message.parts' : `messages.${(messages?.length ?? 1) - 1}.parts`
  if (message?.role === 'user') {
    const parts = message.parts.flatMap((part, n) => inputPart(part, `${at}.${n}`, new Set(allowed)))
    if (parts.length === 0) return undefined
    const { id } = message
    const replaces = id !== undefined && (trigger === 'regenerate-message' || messageId === id)
    // A transport of the AI SDK sends a trigger, and then all messages of the page. Others may send some of them.
    const shown = id !== undefined && trigger !== undefined && !body.message && messages && shownIn(messages)
    return { kind: 'input', id, parts, replaces, ...(shown && { shown }) }
  }
  return message?.role === 'assistant' ? answersIn(message) : undefined
}

function shownIn(messages: readonly UiMessage[]): ShownMessages {
  const before = messages.slice(0, -1).toReversed()
  const ids = before.flatMap(({ id }) => (id === undefined ? [] : [id]))
  return { ids, none: !before.some(({ role }) => role === 'user') }
}

function answersIn(message: UiMessage): ChatRequest {
  const tools = toolParts(message)
  const approvals = tools.flatMap(({ state, approval }) => {
    if (state !== 'approval-responded' || approval?.approved === undefined) return []
    const { id, approved, reason } = approval
    return [
      { id, decision: approved ? ('approve' as const) : ('deny' as const), ...(reason !== undefined && { reason }) },
    ]
  })
  const toolResults = tools.flatMap(({ state, toolCallId, output, errorText }): readonly RemoteResult[] => {
    if (state === 'output-available') return [{ callId: toolCallId, output: output ?? null }]
    const text = errorText ? errorText.slice(0, longestError) : 'The tool failed.'
    return state === 'output-error' ? [{ callId: toolCallId, error: { message: text } }] : []
  })
  return { kind: 'answers', approvals, toolResults }
}

/** Returns the tools that a page declares. */
export function clientTools({ tools = {} }: ChatBody): readonly RemoteToolInit[] {
  return Object.entries(tools).map(([name, { description, parameters }]) => clientTool(name, description, parameters))
}

/** Returns the user message of a request. Large files become blobs of the store: the log has them once. */
export async function messageOf(
  { id, parts }: Extract<ChatRequest, { kind: 'input' }>,
  store: SessionStore,
): Promise<readonly [Message]> {
  const content = await Promise.all(
    parts.map(async (part) => (part.type === 'text' ? part : { ...part, data: await blobOf(part.data, store) })),
  )
  return [{ id: id ?? '', role: 'user', content, createdAt: clockOf(store).now() }]
}

/** Identifies the content of a message, to tell a repeated request from an edit. */
export function contentHash(parts: readonly ChatPart[]): string {
  return createHash('sha256')
    .update(canonicalJson(toJson(parts)))
    .digest('hex')
}

/** Returns the inbox key of a page's message. */
export function messageKey({ id: principal }: Principal, messageId: string): string {
  return `chat/${createHash('sha256')
    .update(JSON.stringify([principal, messageId]))
    .digest('hex')}`
}

function toolParts({ parts }: UiMessage): readonly z.output<typeof toolPart>[] {
  return parts.flatMap((part) => {
    if (part.type !== 'dynamic-tool' && !part.type.startsWith('tool-')) return []
    const parsed = toolPart.safeParse(part)
    return parsed.success ? [parsed.data] : []
  })
}

const textPart = z.looseObject({ type: z.literal('text'), text: z.string().min(1) })
const filePart = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string().max(200),
  filename: z.string().max(500).optional(),
  url: z.string(),
})
/** The type of a file that the browser does not know. */
const unknownType = 'application/octet-stream'

function inputPart(part: UiMessage['parts'][number], at: string, allowed: ReadonlySet<string>): readonly ChatPart[] {
  const options: { readonly providerOptions?: ProviderOptions } = optionsOf(part, allowed)
  const text = textPart.safeParse(part)
  if (text.success) return [{ type: 'text', text: text.data.text, ...options }]
  if (part.type !== 'file') return []
  const file = filePart.safeParse(part)
  if (!file.success) throw badRequest(`${at}: a file has a mediaType and a url.`)
  const { filename, url } = file.data
  const mediaType = file.data.mediaType || unknownType
  const named = { type: 'file' as const, mediaType, ...(filename !== undefined && { filename }), ...options }
  const hash = fileHash(url)
  return [{ ...named, data: hash === undefined ? fileAt(url, `${at}.url`) : { type: 'kept', hash } }]
}
