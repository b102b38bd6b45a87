import type { Decisions, Json } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import { badRequest } from '../http/request-error.ts'
import type { GivenMessage } from '../requests/client-history.ts'
import { fileAt } from '../requests/client-history.ts'
import { clientTool } from '../requests/client-tool.ts'
import { textAt } from '../requests/function-calls.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import type { UserPart } from '../turns/user-message.ts'
import { waitOf } from '../turns/wait-token.ts'
import type { CompactBody, FunctionTool } from './response-schema.ts'

/** What the input of a response asks for. */
export interface ResponseInput {
  /** What comes before the new message, as a client without a session repeats it. */
  readonly history: readonly GivenMessage[]
  /** The new user message; empty if there is none. */
  readonly parts: readonly UserPart[]
  /** Answers to a suspended run, as the last items. */
  readonly answers: Answers | undefined
  /** The session of a compaction. */
  readonly compacted: string | undefined
}

/** Answers to what a session waits for. */
export interface Answers {
  readonly sessionId: string
  readonly decisions: Decisions
}

type Item = Readonly<Record<string, unknown>>
const answerTypes = new Set([
  'function_call_output',
  'mcp_approval_response',
  'provost:input_response',
  'provost:uncertain_response',
])

/**
 * Reads the input of a response: history, new message and answers.
 *
 * @throws HttpError 400, naming the path of an invalid item
 */
export function readResponseInput({ input, instructions }: CompactBody, principalId: string): ResponseInput {
  const items: readonly Item[] = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? [])
  let end = items.length
  const isNew = (item: Item): boolean => item['role'] === 'user' || answerTypes.has(typeOf(item))
  while (end > 0 && isNew(items[end - 1] ?? {})) end--
  const last = items.slice(end)
  const given = last.filter((item) => answerTypes.has(typeOf(item)))
  const said = last.filter((item) => !answerTypes.has(typeOf(item)))
  // An old result before a new message belongs to the history.
  const isOld = given.length > 0 && said.length > 0
  const oldEnd = isOld ? last.findLastIndex((item) => answerTypes.has(typeOf(item))) + 1 + end : end
  const compaction = items.findLast((item) => typeOf(item) === 'compaction')
  const compacted = compaction && waitOf('cmp', String(compaction['encrypted_content']))
  if (compaction && !compacted) throw badRequest('input: this server did not make the compaction.')
  const context: readonly GivenMessage[] = instructions ? [{ role: 'system', content: instructions }] : []
  return {
    history: [...context, ...historyOf(items.slice(0, oldEnd))],
    parts: items
      .slice(oldEnd)
      .flatMap((item, n) =>
        answerTypes.has(typeOf(item)) ? [] : userParts(item['content'], `input.${oldEnd + n}.content`),
      ),
    answers: isOld || given.length === 0 ? undefined : answersOf(given, end, principalId),
    compacted: compacted?.sessionId,
  }
}

function typeOf(item: Item): string {
  return typeof item['type'] === 'string' ? item['type'] : 'message'
}

function answersOf(items: readonly Item[], first: number, by: string): Answers {
  const toolResults: { callId: string; output: Json; by: string }[] = []
  const approvals: { id: string; decision: 'approve' | 'deny'; by: string; reason?: string }[] = []
  const inputs: { id: string; value: unknown }[] = []
  const uncertain: { callId: string; decision: 'retry' | 'done' | 'fail'; by: string }[] = []
  const sessions = new Set<string>()
  for (const [n, item] of items.entries()) {
    const at = `input.${first + n}`
    const type = typeOf(item)
    const isCall = type === 'function_call_output'
    const field = isCall ? 'call_id' : type === 'mcp_approval_response' ? 'approval_request_id' : 'request_id'
    const wait = waitOf(isCall ? 'call' : 'ask', textAt(item, field, at))
    if (!wait) throw badRequest(`${at}.${field}: no response of this server has this id.`)
    const { sessionId, id } = wait
    sessions.add(sessionId)
    if (isCall) toolResults.push({ callId: id, output: outputOf(item['output'], at), by })
    else if (type === 'mcp_approval_response') {
      const { approve, reason } = item
      if (typeof approve !== 'boolean') throw badRequest(`${at}.approve: expected true or false.`)
      const why = typeof reason === 'string' && reason !== '' ? { reason: reason.slice(0, 10_000) } : {}
      approvals.push({ id, decision: approve ? 'approve' : 'deny', by, ...why })
    } else if (type === 'provost:input_response') inputs.push({ id, value: item['value'] })
    else uncertain.push({ callId: id, decision: verdictOf(item['decision'], at), by })
  }
  const [sessionId, ...others] = sessions
  if (sessionId === undefined || others.length > 0) throw badRequest('input: the answers belong to several sessions.')
  return { sessionId, decisions: { toolResults, approvals, inputs, uncertain } }
}

function verdictOf(given: unknown, at: string): 'retry' | 'done' | 'fail' {
  if (given === 'retry' || given === 'done' || given === 'fail') return given
  throw badRequest(`${at}.decision: expected "retry", "done" or "fail".`)
}

function outputOf(output: unknown, at: string): Json {
  if (output === undefined) throw badRequest(`${at}.output: expected a value.`)
  return toJson(output)
}

function historyOf(items: readonly Item[]): readonly GivenMessage[] {
  const names = new Map<string, string>()
  return items.flatMap((item, n): readonly GivenMessage[] => {
    const at = `input.${n}`
    switch (typeOf(item)) {
      case 'message':
        return [messageOf(item, at)]
      case 'function_call': {
        const toolCallId = textAt(item, 'call_id', at)
        const toolName = textAt(item, 'name', at)
        names.set(toolCallId, toolName)
        const input = argumentsOf(textAt(item, 'arguments', at), at)
        return [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] }]
      }
      case 'function_call_output': {
        const toolCallId = textAt(item, 'call_id', at)
        const toolName = names.get(toolCallId)
        if (toolName === undefined) throw badRequest(`${at}.call_id: no function_call before it has this id.`)
        const output = { type: 'text', value: textIn(item['output']) }
        return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }]
      }
      case 'item_reference':
        throw badRequest(`${at}: this server knows no items. Send previous_response_id.`)
      default:
        // Reasoning, and calls of the server: their effect is in the texts that follow.
        return []
    }
  })
}

function messageOf(item: Item, at: string): GivenMessage {
  const { role, content } = item
  if (role === 'user') return { role, content: userParts(content, `${at}.content`) }
  if (role === 'assistant' || role === 'system') return { role, content: textIn(content) }
  if (role === 'developer') return { role: 'system', content: textIn(content) }
  throw badRequest(`${at}.role: a message is of "user", "assistant", "system" or "developer".`)
}

/** Returns the texts of a content, in one. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content ?? '')
  const parts: readonly unknown[] = content
  return parts.flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : [])).join('\n')
}

function userParts(content: unknown, at: string): readonly UserPart[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw badRequest(`${at}: expected a text or a list of parts.`)
  const parts: readonly unknown[] = content
  return parts.map((part, n) => userPart(part, `${at}.${n}`))
}

function userPart(part: unknown, at: string): UserPart {
  if (!isRecord(part)) throw badRequest(`${at}: expected an object.`)
  switch (part['type']) {
    case 'input_text':
    case 'text':
      return { type: 'text', text: textAt(part, 'text', at) }
    case 'input_image':
      return fileOf(textAt(part, 'image_url', at), 'image', `${at}.image_url`)
    case 'input_file': {
      const field = part['file_data'] === undefined ? 'file_url' : 'file_data'
      const filename = typeof part['filename'] === 'string' ? { filename: part['filename'].slice(0, 500) } : {}
      return { ...fileOf(textAt(part, field, at), 'application/octet-stream', `${at}.${field}`), ...filename }
    }
    default:
      throw badRequest(`${at}.type: a user message has "input_text", "input_image" and "input_file".`)
  }
}

function fileOf(url: string, fallback: string, at: string): UserPart {
  const [, mediaType = fallback] = /^data:([\w.+/-]{1,200})[;,]/u.exec(url.slice(0, 300)) ?? []
  return { type: 'file', mediaType, data: fileAt(url, at) }
}

function argumentsOf(text: string, at: string): Json {
  try {
    return toJson(JSON.parse(text))
  } catch {
    throw badRequest(`${at}.arguments: this is not JSON.`)
  }
}

/** Returns the tools of the client. */
export function toolsOf(tools: readonly FunctionTool[]): readonly RemoteToolInit[] {
  return tools.map(({ name, description, parameters }) =>
    clientTool(name, description, { type: 'object', ...parameters }),
  )
}
