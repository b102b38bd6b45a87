import { ProvostError } from '@provost/core'
import type { Message, Part, ToolCallPart, ToolResultPart } from '@provost/core'

/** Each invariant, with what to do when a history breaks it. */
const invariants = {
  'system-first': 'Put system messages in front of all others.',
  'user-starts': "Let the first turn be the user's.",
  'assistant-labelled': 'Label the message with the join of the view it was produced from.',
  'assistant-says-something': 'Leave the message out, or put a text, call or file in it.',
  'reasoning-has-follower': 'Drop the reasoning, or mark the message as partial.',
  'call-by-assistant': 'Drop the call: only an assistant message can make one.',
  'unique-call-id': "Make call ids from the position, not from the provider's ids.",
  'one-result-per-call':
    'Give every call exactly one result, also after an abort, a denial or a skip, before any other message.',
  'result-in-tool-message':
    "Put results into tool messages; only a provider-executed call has its result in the assistant's.",
  'error-says-why': 'Set `error` with its code and message.',
  'aborted-is-partial': 'Mark the content from before the abort as partial.',
} as const
type Invariant = keyof typeof invariants

function broken(invariant: Invariant, index: number, what: string): ProvostError {
  const { [invariant]: hint } = invariants
  return new ProvostError('malformed-history', `messages[${index}] breaks ${invariant}: ${what}`, { hint })
}

interface Call {
  readonly name: string
  readonly at: number
  readonly byProvider: boolean
  answered: boolean
}

/** All calls so far, and the calls whose results are pending: from tools, and from the provider. */
interface Ledger {
  readonly calls: Map<string, Call>
  readonly open: Map<string, Call>
  readonly deferred: Map<string, Call>
}

function addCall({ calls, open, deferred }: Ledger, part: ToolCallPart, index: number): void {
  const first = calls.get(part.callId)
  if (first !== undefined) {
    throw broken(
      'unique-call-id',
      index,
      `${part.callId} is already the call of ${first.name} in messages[${first.at}].`,
    )
  }
  const call = { name: part.toolName, at: index, byProvider: part.providerExecuted === true, answered: false }
  calls.set(part.callId, call)
  if (call.byProvider) deferred.set(part.callId, call)
  else open.set(part.callId, call)
}

function settle({ calls, open, deferred }: Ledger, part: ToolResultPart, index: number, byProvider: boolean): void {
  const name = `the result of ${part.toolName} (${part.callId})`
  const call = calls.get(part.callId)
  if (call === undefined) throw broken('one-result-per-call', index, `${name} answers no call before it.`)
  if (call.answered) throw broken('one-result-per-call', index, `${name} is the second one.`)
  if (byProvider !== call.byProvider) {
    throw broken('result-in-tool-message', index, `${name} is ${byProvider ? 'not from' : 'from'} the provider.`)
  }
  call.answered = true
  open.delete(part.callId)
  deferred.delete(part.callId)
}

/** Throws for the first call without a result when another message follows. */
function closeStep(waiting: ReadonlyMap<string, Call>, next: string): void {
  for (const [callId, call] of waiting) {
    throw broken('one-result-per-call', call.at, `the call of ${call.name} (${callId}) has no result before ${next}.`)
  }
}

function isReasoning(part: Part): boolean {
  return part.type === 'reasoning' || part.type === 'reasoning-file'
}

function checkAssistant(message: Message, index: number, ledger: Ledger): void {
  const { content } = message
  if (message.label === undefined) throw broken('assistant-labelled', index, 'it has no label.')
  if (content.every((part) => part.type === 'text' && part.text === '')) {
    throw broken('assistant-says-something', index, 'it is empty.')
  }
  const last = content.at(-1)
  if (last !== undefined && isReasoning(last) && !message.partial) {
    throw broken('reasoning-has-follower', index, 'it ends with reasoning.')
  }
  for (const part of content) {
    if (part.type === 'tool-call') addCall(ledger, part, index)
    else if (part.type === 'tool-result') settle(ledger, part, index, true)
  }
}

function refuseToolParts(message: Message, index: number, allowed?: 'tool-result'): void {
  for (const part of message.content) {
    if (part.type === allowed) continue
    if (part.type === 'tool-call') {
      throw broken('call-by-assistant', index, `its role is ${message.role} and it calls ${part.toolName}.`)
    }
    if (part.type === 'tool-result') {
      throw broken(
        'result-in-tool-message',
        index,
        `its role is ${message.role} and it has a result of ${part.toolName}.`,
      )
    }
  }
}

function checkAside(message: Message, index: number): void {
  refuseToolParts(message, index)
  if (message.role === 'error' && !(message.error?.code && message.error.message)) {
    throw broken('error-says-why', index, 'it has the role error and no error.')
  }
  if (message.role === 'aborted' && message.content.length > 0 && !message.partial) {
    throw broken('aborted-is-partial', index, 'it has the role aborted and content that is not marked.')
  }
}

/**
 * Checks that every provider accepts the history, and that its labels are present.
 *
 * System messages come first, then the user. Every call has exactly one result, after it and before any other message.
 * Call ids are unique. No assistant message is empty, unlabelled, or ends with reasoning (unless it is partial). A
 * message of the role `error` has its error, one of the role `aborted` marks its content as partial, and neither holds
 * calls. Adjacent user messages are valid. Messages of the roles `error`, `aborted` and custom are valid anywhere,
 * since models do not receive them. A suspended run (for an approval, say) has calls without results and is not
 * well-formed yet.
 *
 * @throws ProvostError `malformed-history`, with the broken invariant and the index of the message.
 *
 * @example
 * const { messages } = await agent.run('hello')
 * assertWellFormed(messages)
 */
export function assertWellFormed(messages: readonly Message[]): void {
  const ledger: Ledger = { calls: new Map(), open: new Map(), deferred: new Map() }
  let userSpoke = false
  for (const [index, message] of messages.entries()) {
    const here = `messages[${index}]`
    switch (message.role) {
      case 'system':
        if (index > 0 && messages[index - 1]?.role !== 'system') {
          throw broken('system-first', index, 'a system message comes after others.')
        }
        refuseToolParts(message, index)
        break
      case 'user':
        closeStep(ledger.open, here)
        closeStep(ledger.deferred, here)
        refuseToolParts(message, index)
        userSpoke = true
        break
      case 'assistant':
        closeStep(ledger.open, here)
        if (!userSpoke) throw broken('user-starts', index, 'the assistant speaks first.')
        checkAssistant(message, index, ledger)
        break
      case 'tool':
        refuseToolParts(message, index, 'tool-result')
        for (const part of message.content) if (part.type === 'tool-result') settle(ledger, part, index, false)
        break
      case 'error':
      case 'aborted':
      default:
        checkAside(message, index)
    }
  }
  closeStep(ledger.open, 'the end')
  closeStep(ledger.deferred, 'the end')
}
