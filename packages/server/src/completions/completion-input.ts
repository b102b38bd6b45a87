import type { RemoteResult } from '@provost/core'
import { isRecord } from '@provost/core'

import { badRequest } from '../http/request-error.ts'
import type { GivenMessage } from '../requests/client-history.ts'
import { fileAt } from '../requests/client-history.ts'
import { clientTool } from '../requests/client-tool.ts'
import { functionCalls, textAt } from '../requests/function-calls.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import type { UserPart } from '../turns/user-message.ts'
import { waitOf } from '../turns/wait-token.ts'
import type { CompletionBody, MessageBody } from './completion-schema.ts'

type Given = MessageBody

/** What a request asks for. */
export type CompletionInput =
  | { readonly kind: 'message'; readonly history: readonly GivenMessage[]; readonly parts: readonly UserPart[] }
  | { readonly kind: 'results'; readonly sessionId: string; readonly toolResults: readonly RemoteResult[] }

/**
 * Reads the messages of a request. Results of client tools continue the session that their ids name; a user message
 * begins a session, with the messages before it as history.
 *
 * @param by id of the principal
 * @throws HttpError 400, naming the path of an invalid message
 */
export function readCompletionInput({ messages }: CompletionBody, by: string): CompletionInput {
  const last = messages.at(-1)?.role
  const first = messages.findLastIndex(({ role }) => role !== last) + 1
  const tail = messages.slice(first)
  if (last === 'tool') return resultsOf(tail, first, by)
  if (last !== 'user') throw badRequest('messages: the last one is of "user" or "tool".')
  const parts = tail.flatMap(({ content }, n) => userParts(content, `messages.${first + n}.content`))
  if (parts.length === 0) throw badRequest('messages: the last one has no content.')
  return { kind: 'message', history: historyOf(messages.slice(0, first)), parts }
}

function resultsOf(messages: readonly Given[], first: number, by: string): CompletionInput {
  const sessions = new Set<string>()
  const toolResults = messages.map((message, n) => {
    const at = `messages.${first + n}`
    const wait = waitOf('call', textAt(message, 'tool_call_id', at))
    if (!wait) throw badRequest(`${at}.tool_call_id: no completion of this server has this id.`)
    sessions.add(wait.sessionId)
    return { callId: wait.id, output: textIn(message.content), by }
  })
  const [sessionId, ...others] = sessions
  if (sessionId === undefined || others.length > 0) throw badRequest('messages: the results are of several sessions.')
  return { kind: 'results', sessionId, toolResults }
}

function historyOf(messages: readonly Given[]): readonly GivenMessage[] {
  const names = new Map<string, string>()
  return messages.map((message, n): GivenMessage => {
    const at = `messages.${n}`
    const { role, content } = message
    switch (role) {
      case 'system':
      case 'developer':
        return { role: 'system', content: textIn(content) }
      case 'user':
        return { role, content: userParts(content, `${at}.content`) }
      case 'assistant': {
        const text = textIn(content)
        const calls = functionCalls(message['tool_calls'], `${at}.tool_calls`)
        for (const { toolCallId, toolName } of calls) names.set(toolCallId, toolName)
        return { role, content: [...(text === '' ? [] : [{ type: 'text', text }]), ...calls] }
      }
      case 'tool': {
        const toolCallId = textAt(message, 'tool_call_id', at)
        const toolName = names.get(toolCallId)
        if (toolName === undefined) throw badRequest(`${at}.tool_call_id: no call before it has this id.`)
        const output = { type: 'text', value: textIn(content) }
        return { role, content: [{ type: 'tool-result', toolCallId, toolName, output }] }
      }
    }
  })
}

function userParts(content: Given['content'], at: string): readonly UserPart[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []).map((part, n) => userPart(part, `${at}.${n}`))
}

function userPart(part: Readonly<Record<string, unknown>>, at: string): UserPart {
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: textAt(part, 'text', at) }
    case 'image_url': {
      const image = part['image_url']
      const url = isRecord(image) ? textAt(image, 'url', `${at}.image_url`) : textAt(part, 'image_url', at)
      return { type: 'file', mediaType: mediaTypeOf(url, 'image'), data: fileAt(url, `${at}.image_url`) }
    }
    case 'file': {
      const file = isRecord(part['file']) ? part['file'] : {}
      const data = textAt(file, 'file_data', `${at}.file`)
      const filename = typeof file['filename'] === 'string' ? { filename: file['filename'].slice(0, 500) } : {}
      const mediaType = mediaTypeOf(data, 'application/octet-stream')
      return { type: 'file', mediaType, data: fileAt(data, `${at}.file.file_data`), ...filename }
    }
    default:
      throw badRequest(`${at}.type: a user message has "text", "image_url" and "file".`)
  }
}

function mediaTypeOf(url: string, fallback: string): string {
  return /^data:([\w.+/-]{1,200})[;,]/u.exec(url.slice(0, 300))?.[1] ?? fallback
}

function textIn(content: Given['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
}

/** Returns the tools of the client. */
export function toolsIn({ tools }: CompletionBody): readonly RemoteToolInit[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }) =>
    clientTool(name, description, { type: 'object', ...parameters }),
  )
}
