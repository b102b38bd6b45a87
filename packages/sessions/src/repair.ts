import type { Message, Part, ToolCallPart, ToolResultPart } from '@provost/core'
import { untrustedLabel } from '@provost/core'

/** A history that is well formed, and what was done to make it so. */
export interface Repaired {
  readonly messages: readonly Message[]
  /** One line for each repair, with the index of the message in the history that came in. */
  readonly repairs: readonly string[]
}

/**
 * Repairs a history from outside: system messages move to the front, the first turn becomes the user's, a call
 * without a result gets an error result, a result without a call goes. Nothing else is touched.
 *
 * @param agent for messages that have to be added.
 *
 * @example
 * repairHistory(messages, 'desk').repairs // ['message 3: call c1 of search had no result']
 */
export function repairHistory(messages: readonly Message[], agent: string): Repaired {
  const repairs: string[] = []
  const systems: Message[] = []
  const rest: Message[] = []
  /** Calls of the last assistant message that have no result yet. */
  const open = new Map<string, { readonly call: ToolCallPart; readonly index: number }>()

  function close(): void {
    if (open.size === 0) return
    const missing = [...open.values()]
    for (const { call, index } of missing)
      repairs.push(`message ${index}: call ${call.callId} of ${call.toolName} had no result`)
    const content = missing.map(({ call }) => missingResult(call))
    const last = rest.at(-1)
    if (last?.role === 'tool') rest[rest.length - 1] = { ...last, content: [...last.content, ...content] }
    else rest.push(added(`${last?.id ?? 'import'}/repair`, 'tool', content, agent, last?.createdAt ?? 0))
    open.clear()
  }

  for (const [index, message] of messages.entries()) {
    if (message.role === 'system') {
      if (rest.length > 0) repairs.push(`message ${index}: a system message stood inside the conversation`)
      systems.push(message)
      continue
    }
    if (message.role !== 'tool') close()
    if (rest.length === 0 && (message.role === 'assistant' || message.role === 'tool')) {
      repairs.push(`message ${index}: the conversation did not begin with the user`)
      const text = '(The conversation begins with the assistant.)'
      rest.push(added(`${message.id}/before`, 'user', [{ type: 'text', text }], agent, message.createdAt))
    }
    const content = message.content.filter((part) => keep(part, message, index, open, repairs))
    if (content.length > 0 || message.content.length === 0) {
      rest.push(content.length === message.content.length ? message : { ...message, content })
    }
  }
  close()
  return { messages: [...systems, ...rest], repairs }
}

function keep(
  part: Part,
  message: Message,
  index: number,
  open: Map<string, { readonly call: ToolCallPart; readonly index: number }>,
  repairs: string[],
): boolean {
  if (part.type === 'tool-call' && message.role === 'assistant') {
    open.set(part.callId, { call: part, index })
    return true
  }
  // A result of a tool that the provider ran stands in the assistant's own message.
  if (part.type !== 'tool-result' || open.delete(part.callId)) return true
  repairs.push(`message ${index}: result ${part.callId} of ${part.toolName} had no call`)
  return false
}

function missingResult(call: ToolCallPart): ToolResultPart {
  return {
    type: 'tool-result',
    callId: call.callId,
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    output: { type: 'error-text', value: 'This call was never finished.' },
  }
}

function added(id: string, role: 'tool' | 'user', content: readonly Part[], agent: string, createdAt: number): Message {
  return { id, role, content, agent, createdAt, label: untrustedLabel('import') }
}
