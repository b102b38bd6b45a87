import type { ErrorInfo, Message, Part, ToolCallPart, ToolResultPart } from '@provost/core'
import { untrustedLabel } from '@provost/core'

import type { OpenCall } from './open-calls.ts'
import { createOpenCalls } from './open-calls.ts'

/** A well-formed history and its repairs. */
export interface Repaired {
  readonly messages: readonly Message[]
  /** One line for each repair, with the index of the message in the given history. */
  readonly repairs: readonly string[]
}

/**
 * Repairs an external history, so that any provider accepts it. Well-formed messages stay the same objects.
 *
 * - System messages move to the front, and the first turn becomes the user's.
 * - A call without a result gets an error result. A repeated call id becomes unique, with its result.
 * - Removed: results without a call, calls outside assistant messages, reasoning without an answer, empty answers.
 * - Answers without a label are untrusted.
 *
 * @param agent agent name for added messages.
 *
 * @example
 * repairHistory(messages, 'desk').repairs // ['message 3: call c1 of search had no result']
 */
export function repairHistory(messages: readonly Message[], agent: string): Repaired {
  const repairs: string[] = []
  const systems: Message[] = []
  const rest: Message[] = []
  /** Calls of the current step, and calls that the provider runs, which may take more steps. */
  const own = createOpenCalls()
  const deferred = createOpenCalls()
  const named = new Map<string, number>()
  /** Index in `rest` of the step's results, or of its calls while it has no results. */
  let stepAt = -1
  let userSpoke = false

  function closeStep(): void {
    const missing = own.takeAll()
    const last = rest[stepAt]
    if (missing.length === 0 || !last) return
    const content = missing.map(noResult)
    if (last.role === 'tool') rest[stepAt] = { ...last, content: [...last.content, ...content] }
    else rest.splice(stepAt + 1, 0, added(`${last.id}/repair`, 'tool', content, agent, last.createdAt))
  }

  /** Closes calls that the provider ran, whose results belong into the assistant message. */
  function closeDeferred(): void {
    for (const open of deferred.takeAll()) {
      const message = rest[open.place]
      if (message) rest[open.place] = { ...message, content: [...message.content, noResult(open)] }
    }
  }

  function noResult({ call, index }: OpenCall): ToolResultPart {
    repairs.push(`message ${index}: call ${call.callId} of ${call.toolName} had no result`)
    const { callId, toolCallId, toolName } = call
    const output = { type: 'error-text', value: 'This call was never finished.' } as const
    return { type: 'tool-result', callId, toolCallId, toolName, output }
  }

  function callIn(part: ToolCallPart, message: Message, index: number): Part | undefined {
    if (message.role !== 'assistant') {
      repairs.push(`message ${index}: a message of the role ${message.role} contained a call of ${part.toolName}`)
      return undefined
    }
    const callId = uniqueId(part.callId, named)
    if (callId !== part.callId) repairs.push(`message ${index}: the id of call ${part.callId} was a duplicate`)
    const call = callId === part.callId ? part : { ...part, callId }
    const calls = part.providerExecuted ? deferred : own
    calls.add(part.callId, { call, index, place: rest.length })
    return call
  }

  function resultIn(part: ToolResultPart, message: Message, index: number): Part | undefined {
    const calls = message.role === 'tool' ? own : message.role === 'assistant' ? deferred : undefined
    const open = calls?.take(part.callId)
    if (open) return open.call.callId === part.callId ? part : { ...part, callId: open.call.callId }
    repairs.push(`message ${index}: result ${part.callId} of ${part.toolName} had no call`)
    return undefined
  }

  /** Returns the permitted parts of a message; the same list where all are permitted. */
  function partsOf(message: Message, index: number): readonly Part[] {
    const kept: Part[] = []
    let changed = false
    for (const part of message.content) {
      const fits =
        part.type === 'tool-call'
          ? callIn(part, message, index)
          : part.type === 'tool-result'
            ? resultIn(part, message, index)
            : part
      if (fits) kept.push(fits)
      if (fits !== part) changed = true
    }
    if (message.role === 'assistant' && !message.partial) {
      while (isReasoning(kept.at(-1))) {
        kept.pop()
        changed = true
        repairs.push(`message ${index}: its reasoning had no response`)
      }
    }
    return changed ? kept : message.content
  }

  for (const [index, message] of messages.entries()) {
    const { role } = message
    if (role === 'system') {
      if (rest.length > 0) repairs.push(`message ${index}: a system message was inside the conversation`)
      systems.push(withParts(message, partsOf(message, index)))
      continue
    }
    if (role === 'user' || role === 'assistant') closeStep()
    if (role === 'user') closeDeferred()
    if (role === 'assistant' && !userSpoke && !isSilent(message.content)) {
      repairs.push(`message ${index}: the conversation did not begin with the user`)
      const text = '(The conversation begins with the assistant.)'
      const first = added(`${message.id}/before`, 'user', [{ type: 'text', text }], agent, message.createdAt)
      rest.push({ ...first, purpose: 'opening' })
      userSpoke = true
    }
    const content = partsOf(message, index)
    if (content.length === 0 && message.content.length > 0) continue
    if (role === 'assistant' && isSilent(content)) {
      repairs.push(`message ${index}: it was empty`)
      continue
    }
    if (role === 'user') userSpoke = true
    if (role === 'assistant' || role === 'tool') stepAt = rest.length
    rest.push(explained(withParts(message, content), index, repairs))
  }
  closeStep()
  closeDeferred()
  return { messages: [...systems, ...rest], repairs }
}

/** Completes the fields of a message beside its content. */
function explained(message: Message, index: number, repairs: string[]): Message {
  const { role, label, error, partial, content } = message
  if (role === 'assistant' && label === undefined) return { ...message, label: untrustedLabel('import') }
  if (role === 'error' && !(error?.code && error.message)) {
    repairs.push(`message ${index}: it had no error`)
    return { ...message, error: unknownError }
  }
  if (role === 'aborted' && content.length > 0 && !partial) {
    repairs.push(`message ${index}: it was not marked as partial`)
    return { ...message, partial: true }
  }
  return message
}

const unknownError: ErrorInfo = { code: 'unknown', message: 'The history does not say what went wrong.' }

function withParts(message: Message, content: readonly Part[]): Message {
  return content === message.content ? message : { ...message, content }
}

function isSilent(content: readonly Part[]): boolean {
  return content.every((part) => part.type === 'text' && part.text === '')
}

function isReasoning(part: Part | undefined): boolean {
  return part?.type === 'reasoning' || part?.type === 'reasoning-file'
}

/** Returns a unique form of a call id. @param named counts the uses of each id. */
function uniqueId(id: string, named: Map<string, number>): string {
  let times = named.get(id) ?? 0
  let unique = id
  for (; named.has(unique); times++) unique = `${id}/${times + 1}`
  named.set(id, Math.max(times, 1))
  named.set(unique, named.get(unique) ?? 1)
  return unique
}

function added(id: string, role: 'tool' | 'user', content: readonly Part[], agent: string, createdAt: number): Message {
  return { id, role, content, agent, createdAt, label: untrustedLabel('import') }
}
