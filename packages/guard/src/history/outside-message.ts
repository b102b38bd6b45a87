import type { Label, Message, ModelMessage, Part, Role, ToolOutput } from '@provost/core'
import { deepFreeze, isRecord, toJson } from '@provost/core'

import type { GuardLog } from '../log/guard-log.ts'

/** Returns the texts of a message of another loop. Files and reasoning are left out: no rule reads them. */
export function textIn({ content }: ModelMessage): string {
  if (typeof content === 'string') return content
  return content
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .filter((text) => text !== '')
    .join('\n')
}

/** Returns a message for the log. */
export function messageFor(
  { state }: GuardLog,
  id: string,
  role: Role,
  content: readonly Part[],
  label: Label,
  agent: string,
): Message {
  return deepFreeze({ id, role, content, label, agent, createdAt: state.clock.now() })
}

/** Returns the output of a tool in another loop as the log holds it. Of content only texts are kept. */
export function outputIn(output: unknown): ToolOutput {
  if (!isRecord(output)) return { type: 'text', value: typeof output === 'string' ? output : '' }
  const { type, value, reason } = output
  switch (type) {
    case 'text':
    case 'error-text':
      return { type, value: typeof value === 'string' ? value : JSON.stringify(toJson(value)) }
    case 'json':
    case 'error-json':
      return { type, value: toJson(value) }
    case 'execution-denied':
      return { type, ...(typeof reason === 'string' && { reason }) }
    case 'content':
      return { type, value: textsOf(value) }
    default:
      return { type: 'json', value: toJson(output) }
  }
}

function textsOf(value: unknown): readonly { readonly type: 'text'; readonly text: string }[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((part: unknown) =>
    isRecord(part) && part['type'] === 'text' && typeof part['text'] === 'string'
      ? [{ type: 'text', text: part['text'] } as const]
      : [],
  )
}
