import type { Message, ToolCallPart } from '@provost/core'
import { ProvostError } from '@provost/core'

import { messageFault } from '../kit/entry-shape.ts'

/** What is wrong with a message of a history. */
interface Fault {
  readonly index: number
  readonly reason: string
}

/**
 * Returns why a history could not be sent to a model: all faults, in the order of the messages. The user speaks first,
 * and each tool call has one result before the next message. Each result has its call, call ids are unique, and there
 * are no system messages. Roles and parts are known and complete.
 */
function faultsOf(messages: readonly Message[]): readonly Fault[] {
  const faults: Fault[] = []
  const seen = new Set<string>()
  /** Calls without a result, by id, with their index: of the tools, and of the provider. */
  const open = new Map<string, { readonly index: number; readonly call: ToolCallPart }>()
  const deferred: typeof open = new Map()
  let userSpoke = false

  function close(waiting: typeof open): void {
    for (const { index, call } of waiting.values()) {
      faults.push({ index, reason: `the call ${call.callId} of ${call.toolName} has no result` })
    }
    waiting.clear()
  }

  for (const [index, message] of messages.entries()) {
    const fault = messageFault(message)
    if (fault !== undefined) {
      faults.push({ index, reason: fault })
      continue
    }
    const { role, content, error, partial } = message
    if (role === 'system') faults.push({ index, reason: 'a system message is not allowed here' })
    if (role === 'user' || role === 'assistant') close(open)
    if (role === 'user') close(deferred)
    if ((role === 'assistant' || role === 'tool') && !userSpoke) {
      faults.push({ index, reason: `the ${role} speaks before the user` })
      // Reported once: later messages are not additional faults.
      userSpoke = true
    }
    if (role === 'user') userSpoke = true
    if (role === 'assistant' && content.every((part) => part.type === 'text' && part.text === '')) {
      faults.push({ index, reason: 'the assistant message is empty' })
    }
    if (role === 'error' && !error) faults.push({ index, reason: 'the error message has no "error"' })
    if (role === 'aborted' && content.length > 0 && !partial) {
      faults.push({ index, reason: 'the content before the abort is not marked as partial' })
    }
    for (const part of content) {
      if (part.type === 'tool-call') {
        if (role !== 'assistant') faults.push({ index, reason: `the ${role} calls ${part.toolName}` })
        else if (seen.has(part.callId)) faults.push({ index, reason: `the call id ${part.callId} is used twice` })
        else (part.providerExecuted ? deferred : open).set(part.callId, { index, call: part })
        seen.add(part.callId)
      } else if (part.type === 'tool-result') {
        const calls = role === 'tool' ? open : role === 'assistant' ? deferred : undefined
        if (calls?.delete(part.callId)) continue
        const why = seen.has(part.callId) ? 'has no open call before it' : 'has no call before it'
        faults.push({ index, reason: `the result ${part.callId} of ${part.toolName} ${why}` })
      }
    }
  }
  close(open)
  close(deferred)
  return faults
}

const mostFaults = 10

/**
 * Rejects a history that is not well formed.
 *
 * @throws ProvostError `invalid-messages` with the index and the reason of each fault, up to ten.
 */
export function checkHistory(messages: readonly Message[]): void {
  const faults = faultsOf(messages)
  if (faults.length === 0) return
  const reasons = faults.slice(0, mostFaults).map(({ index, reason }) => `messages[${index}]: ${reason}`)
  if (faults.length > reasons.length) reasons.push(`and ${faults.length - reasons.length} more`)
  throw new ProvostError('invalid-messages', `The edit would not leave a well-formed history. ${reasons.join('; ')}.`, {
    hint: 'Edit calls together with their results, keep a user message first, or use transaction() for several edits.',
  })
}
