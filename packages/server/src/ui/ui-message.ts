import type { RemoteResult } from '@provost/core'
import { z } from 'zod'

import { badRequest } from '../http/request-error.ts'
import type { ProviderOptions } from '../requests/client-history.ts'
import { fileAt, optionsOf } from '../requests/client-history.ts'

/** A longer text is cut: a refused part would leave its call waiting. */
const longestError = 10_000

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
  id: z.string().optional(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })).max(10_000),
})

/** The body that `useChat` sends. The server reads only the last message: it has the rest of the history. */
export const chatSchema: z.ZodType<ChatBody> = z.looseObject({
  id: z.string().min(1).max(200).describe('Of the chat; the session is its own for each principal.'),
  messages: z.array(uiMessage).min(1).max(10_000),
  trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
  agent: z.string().min(1).max(200).optional(),
})

export interface ChatBody {
  id: string
  messages: { id?: string | undefined; role: 'system' | 'user' | 'assistant'; parts: { type: string }[] }[]
  trigger?: 'submit-message' | 'regenerate-message' | undefined
  agent?: string | undefined
}
type GivenToolPart = z.output<typeof toolPart>
type UiMessage = ChatBody['messages'][number]

/** The input or the approval responses in the last message of a chat. */
export type ChatTurn =
  | { readonly kind: 'input'; readonly input: readonly ChatPart[] }
  | {
      readonly kind: 'answers'
      readonly approvals: readonly {
        readonly id: string
        readonly decision: 'approve' | 'deny'
        readonly reason?: string
      }[]
      readonly toolResults: readonly RemoteResult[]
    }

type ChatPart = { readonly providerOptions?: ProviderOptions } & (
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      readonly mediaType: string
      readonly filename?: string
      readonly data: { readonly type: 'url'; readonly url: string } | { readonly type: 'data'; readonly data: string }
    }
)

/**
 * @param allowed providers whose metadata a page's parts may carry.
 * @returns undefined if the message has no content.
 * @throws HttpError 400, naming the path of an invalid file
 */
export function turnOf({ messages }: ChatBody, allowed: readonly string[]): ChatTurn | undefined {
  const last = messages.at(-1)
  if (last?.role === 'user') {
    const at = `messages.${messages.length - 1}.parts`
    const input = last.parts.flatMap((part, n) => inputPart(part, `${at}.${n}`, new Set(allowed)))
    return input.length > 0 ? { kind: 'input', input } : undefined
  }
  if (last?.role !== 'assistant') return undefined
  const tools = toolParts(last)
  const approvals = tools.flatMap(({ state, approval }) => {
    if (state !== 'approval-responded' || approval?.approved === undefined) return []
    const { id, approved, reason } = approval
    return [
      { id, decision: approved ? ('approve' as const) : ('deny' as const), ...(reason !== undefined && { reason }) },
    ]
  })
  const toolResults = tools.flatMap(({ state, toolCallId, output, errorText }): readonly RemoteResult[] => {
    if (state === 'output-available') return [{ callId: toolCallId, output: output ?? null }]
    const message = errorText ? errorText.slice(0, longestError) : 'The tool failed.'
    return state === 'output-error' ? [{ callId: toolCallId, error: { message } }] : []
  })
  return { kind: 'answers', approvals, toolResults }
}

function toolParts({ parts }: UiMessage): readonly GivenToolPart[] {
  return parts.flatMap((part) => {
    if (part.type !== 'dynamic-tool' && !part.type.startsWith('tool-')) return []
    const parsed = toolPart.safeParse(part)
    return parsed.success ? [parsed.data] : []
  })
}

const textPart = z.looseObject({ type: z.literal('text'), text: z.string().min(1) })
const filePart = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string().min(1).max(200),
  filename: z.string().max(500).optional(),
  url: z.string(),
})

function inputPart(part: UiMessage['parts'][number], at: string, allowed: ReadonlySet<string>): readonly ChatPart[] {
  const options = optionsOf(part, allowed)
  const text = textPart.safeParse(part)
  if (text.success) return [{ type: 'text', text: text.data.text, ...options }]
  if (part.type !== 'file') return []
  const file = filePart.safeParse(part)
  if (!file.success) throw badRequest(`${at}: a file has a mediaType and a url.`)
  const { mediaType, filename, url } = file.data
  const named = { type: 'file' as const, mediaType, ...(filename !== undefined && { filename }), ...options }
  return [{ ...named, data: fileAt(url, `${at}.url`) }]
}
