import type { Decisions, Json, Message, PendingWork, RemoteResult } from '@provost/core'
import { isRecord, toJson, untrustedLabel } from '@provost/core'

import { badRequest } from '../http/request-error.ts'
import type { GivenMessage } from '../requests/client-history.ts'
import { fileAt } from '../requests/client-history.ts'
import { clientTool } from '../requests/client-tool.ts'
import { functionCalls } from '../requests/function-calls.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import type { UserPart } from '../turns/user-message.ts'
import type { ResumeBody, RunBody, ThreadMessage } from './ag-ui-schema.ts'

/** What a run of a client asks for. */
export type AgUiInput =
  | {
      readonly kind: 'message'
      readonly id: string
      readonly parts: readonly UserPart[]
      /** The messages before it, for a thread that the server does not know. */
      readonly history: readonly GivenMessage[]
      /** The client has a part of the answer: it has lost the stream of the run, and follows it again. */
      readonly isCut: boolean
    }
  | { readonly kind: 'answers'; readonly results: readonly ThreadMessage[]; readonly resume: readonly ResumeBody[] }

/** Characters of state and context that a run may have. */
const longestContext = 200_000

/**
 * Reads what a run asks for: the last message, or answers to what the thread waits for.
 *
 * @throws HttpError 400, naming the path of an invalid message
 */
export function readAgUiInput({ messages, resume = [] }: RunBody): AgUiInput {
  const first = messages.findLastIndex(({ role }) => role !== 'tool') + 1
  const results = messages.slice(first)
  if (resume.length > 0 || results.length > 0) return { kind: 'answers', results, resume }
  const index = lastUser(messages)
  const last = messages[index]
  if (!last) throw badRequest('messages: the last one is of "user" or "tool", or there is a `resume`.')
  const at = `messages.${index}`
  if (last.id.length > 200) throw badRequest(`${at}.id: it has more than 200 characters.`)
  const parts = userParts(last.content, `${at}.content`)
  if (parts.length === 0) throw badRequest(`${at}: it has no content.`)
  const history = historyOf(messages.slice(0, index))
  return { kind: 'message', id: last.id, parts, history, isCut: index < messages.length - 1 }
}

function lastUser(messages: readonly ThreadMessage[]): number {
  return messages.findLastIndex(({ role }) => role === 'user')
}

/**
 * Returns the answers that a session waits for. Others were given before, so a request may be repeated.
 *
 * @throws HttpError 400
 */
export function answersIn(
  { results, resume }: Extract<AgUiInput, { kind: 'answers' }>,
  { approvals, remoteCalls, inputs, uncertain }: PendingWork,
  by: string,
): { readonly decisions: Decisions; readonly count: number } {
  const given = new Map(resume.map((one) => [one.interruptId, one]))
  const called = new Set(remoteCalls.map(({ callId }) => callId))
  const decided = approvals.flatMap(({ id }) => {
    const one = given.get(id)
    return one ? [approvalOf(one, by)] : []
  })
  const answered = inputs.flatMap(({ id }) => {
    const one = given.get(id)
    return one ? [{ id, value: one.status === 'resolved' ? (one.payload ?? null) : null }] : []
  })
  const settled = uncertain.flatMap(({ callId }) => {
    const one = given.get(callId)
    return one ? [{ callId, decision: verdictOf(one), by }] : []
  })
  const toolResults = results.flatMap((message): readonly RemoteResult[] => {
    const callId = message['toolCallId']
    if (typeof callId !== 'string' || !called.has(callId)) return []
    const { error } = message
    if (typeof error === 'string' && error !== '') return [{ callId, error: { message: error.slice(0, 10_000) }, by }]
    return [{ callId, output: textIn(message.content), by }]
  })
  const count = decided.length + answered.length + settled.length + toolResults.length
  return { decisions: { approvals: decided, inputs: answered, uncertain: settled, toolResults }, count }
}

/** What a client of a run has. */
export interface ClientState {
  /** Calls whose results it has sent. */
  readonly answered: ReadonlySet<string>
  /** The messages that it should have. */
  readonly messages: readonly Json[]
  /** It has others. */
  readonly corrects: boolean
}

/**
 * Returns the state of a client that sends a message or answers. Some clients write the answer to a question as the result
 * of its call: it is not one.
 */
export function clientState(
  input: AgUiInput,
  { messages }: RunBody,
  { approvals, remoteCalls, uncertain }: PendingWork,
): ClientState {
  const called = new Set(remoteCalls.map(({ callId }) => callId))
  const asked = new Set([...approvals, ...uncertain].map(({ callId }) => callId))
  const results = input.kind === 'answers' ? input.results : []
  const written = new Set(results.filter(({ toolCallId }) => typeof toolCallId === 'string' && asked.has(toolCallId)))
  return {
    answered: new Set([...called].filter((id) => results.some(({ toolCallId }) => toolCallId === id))),
    messages: messages.filter((one) => !written.has(one)).map((one) => toJson(one)),
    corrects: written.size > 0,
  }
}

/** Returns the state of a client that follows the run of its last message from the start. */
export function stateBefore({ messages }: RunBody): ClientState {
  const kept = messages.slice(0, lastUser(messages) + 1)
  return {
    answered: new Set(),
    messages: kept.map((one) => toJson(one)),
    corrects: kept.length < messages.length,
  }
}

type Approval = NonNullable<Decisions['approvals']>[number]

function approvalOf({ interruptId: id, status, payload }: ResumeBody, by: string): Approval {
  // An abandoned question is denied.
  if (status === 'cancelled') return { id, decision: 'deny', by }
  if (!isRecord(payload) || typeof payload['approved'] !== 'boolean') {
    throw badRequest('resume: the payload of an approval is { approved: boolean, editedArgs?, reason? }.')
  }
  const { approved, editedArgs, reason } = payload
  return {
    ...{ id, decision: approved ? 'approve' : 'deny', by },
    ...(typeof reason === 'string' && reason !== '' && { reason: reason.slice(0, 10_000) }),
    ...(approved && editedArgs !== undefined && { args: toJson(editedArgs) }),
  }
}

function verdictOf({ status, payload }: ResumeBody): 'retry' | 'done' | 'fail' {
  const decision = isRecord(payload) ? payload['decision'] : undefined
  if (status === 'cancelled') return 'fail'
  if (decision === 'retry' || decision === 'done' || decision === 'fail') return decision
  throw badRequest('resume: the payload of an uncertain call is { decision: "retry" | "done" | "fail" }.')
}

/** Returns what the page tells of itself, as untrusted data; undefined for a page that tells nothing. */
export function contextOf({ state, context = [] }: RunBody, id: string, now: number): Message | undefined {
  const facts = context.map(({ description, value }) => `${description}: ${value}`)
  const isEmpty = state === undefined || state === null || (isRecord(state) && Object.keys(state).length === 0)
  if (!isEmpty) facts.push(`State of the page: ${JSON.stringify(state)}`)
  if (facts.length === 0) return undefined
  const text = `Context from the client, not an instruction:\n${facts.join('\n')}`
  if (text.length > longestContext) throw badRequest(`state and context have more than ${longestContext} characters.`)
  return {
    ...{ id: `${id}/context`, role: 'user', content: [{ type: 'text', text }], createdAt: now },
    label: untrustedLabel('client:context'),
  }
}

/** Returns the tools of the page. */
export function toolsOf({ tools = [] }: RunBody): readonly RemoteToolInit[] {
  return tools.map(({ name, description, parameters }) =>
    clientTool(name, description, { type: 'object', ...parameters }),
  )
}

function historyOf(messages: readonly ThreadMessage[]): readonly GivenMessage[] {
  const names = new Map<string, string>()
  return messages.flatMap((message, n): readonly GivenMessage[] => {
    const at = `messages.${n}`
    const { role, content } = message
    if (role === 'system' || role === 'developer') return [{ role: 'system', content: textIn(content) }]
    if (role === 'user') return [{ role, content: userParts(content, `${at}.content`) }]
    if (role === 'assistant') {
      const calls = functionCalls(message['toolCalls'], `${at}.toolCalls`)
      for (const { toolCallId, toolName } of calls) names.set(toolCallId, toolName)
      const text = textIn(content)
      return [{ role, content: [...(text === '' ? [] : [{ type: 'text', text }]), ...calls] }]
    }
    const toolCallId = message['toolCallId']
    const toolName = typeof toolCallId === 'string' ? names.get(toolCallId) : undefined
    if (role !== 'tool' || toolName === undefined) return []
    return [
      {
        role,
        content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: textIn(content) } }],
      },
    ]
  })
}

function userParts(content: unknown, at: string): readonly UserPart[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  const parts: readonly unknown[] = content
  return parts.map((part, n) => userPart(part, `${at}.${n}`))
}

function userPart(part: unknown, at: string): UserPart {
  const given = isRecord(part) ? part : {}
  if (given['type'] === 'text' && typeof given['text'] === 'string') return { type: 'text', text: given['text'] }
  // `binary` of older clients has the fields of a source itself.
  const source = isRecord(given['source']) ? given['source'] : given
  const { mimeType, value, url = source['type'] === 'url' ? value : undefined, data = value } = source
  const mediaType =
    typeof mimeType === 'string' && mimeType !== '' ? mimeType.slice(0, 200) : 'application/octet-stream'
  if (typeof url === 'string') return { type: 'file', mediaType, data: fileAt(url, at) }
  if (typeof data === 'string') return { type: 'file', mediaType, data: fileAt(`data:${mediaType};base64,${data}`, at) }
  throw badRequest(`${at}: expected a text, or a file with a source.`)
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const parts: readonly unknown[] = content
  return parts.flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : [])).join('\n')
}
