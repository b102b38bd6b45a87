import type { ModelMessage } from '@provost/core'
import { isRecord } from '@provost/core'

import { outputOfText, resultMessage } from '../judge/followed-loop.ts'

/** Returns the input items of a run of OpenAI Agents as messages. What has no text and is no call is left out. */
export function messagesFrom(input: unknown): ModelMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return Array.isArray(input) ? input.flatMap((item: unknown) => messageFrom(item)) : []
}

function messageFrom(item: unknown): ModelMessage[] {
  if (!isRecord(item)) return []
  const { type, role, content, callId, name, output } = item
  if (type === 'function_call' && typeof callId === 'string' && typeof name === 'string')
    return [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: callId, toolName: name, input: inputOf(item) }] },
    ]
  if (type === 'function_call_result' && typeof callId === 'string' && typeof name === 'string')
    return [resultMessage([{ call: { id: callId, name }, output: outputOfText(textOf(output)) }])]
  const text = textOf(content)
  if (role === 'assistant') return [{ role, content: [{ type: 'text', text }] }]
  return role === 'user' || role === 'system' ? [{ role, content: text }] : []
}

function inputOf({ arguments: given }: Readonly<Record<string, unknown>>): unknown {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

/** Returns the texts of a content or an output: a text, a part, or a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content))
    return content
      .map(textOf)
      .filter((text) => text !== '')
      .join('\n')
  return isRecord(content) && typeof content['text'] === 'string' ? content['text'] : ''
}
