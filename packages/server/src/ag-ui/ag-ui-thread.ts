import type { Json } from '@provost/core'

import type { AgUiEvent } from './ag-ui-mapper.ts'

/** The messages that a client has, while it receives the events of a run. */
export interface AgUiThread {
  take(event: AgUiEvent): void
  /** Removes messages. @returns whether the client had one of them. */
  remove(isRemoved: (id: string) => boolean): boolean
  /** Returns all messages. */
  messages(): readonly Json[]
}

/** A message that the run has written. */
interface Written {
  readonly id: string
  readonly role: string
  readonly content: string[]
  readonly toolCallId?: string
  readonly calls: { readonly id: string; readonly name: string; readonly arguments: string[] }[]
}

/** @param before the messages at the start of the run. */
export function createAgUiThread(before: readonly Json[]): AgUiThread {
  const written = new Map<string, Written>()
  const calls = new Map<string, Written['calls'][number]>()

  function add(id: string, role: string, more: { readonly toolCallId?: string } = {}): Written {
    const message = written.get(id) ?? { id, role, content: [], calls: [], ...more }
    written.set(id, message)
    return message
  }

  return {
    take(event) {
      const field = (name: string): string => stringIn(event[name])
      const id = field('messageId')
      const toolCallId = field('toolCallId')
      switch (event.type) {
        case 'TEXT_MESSAGE_START':
          return void add(id, 'assistant')
        case 'REASONING_MESSAGE_START':
          return void add(id, 'reasoning')
        case 'TEXT_MESSAGE_CONTENT':
        case 'REASONING_MESSAGE_CONTENT':
          return void written.get(id)?.content.push(field('delta'))
        case 'TOOL_CALL_START': {
          const call = { id: toolCallId, name: field('toolCallName'), arguments: [] }
          calls.set(call.id, call)
          return void add(field('parentMessageId') || toolCallId, 'assistant').calls.push(call)
        }
        case 'TOOL_CALL_ARGS':
          return void calls.get(toolCallId)?.arguments.push(field('delta'))
        case 'TOOL_CALL_RESULT':
          return void add(id, 'tool', { toolCallId }).content.push(field('content'))
        default:
      }
    },
    remove(isRemoved) {
      const ids = [...written.keys()].filter((id) => isRemoved(id))
      for (const id of ids) written.delete(id)
      return ids.length > 0
    },
    messages: () => [...before, ...[...written.values()].map((one) => messageOf(one))],
  }
}

function stringIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function messageOf({ id, role, content, toolCallId, calls }: Written): Json {
  const text = content.join('')
  return {
    id,
    role,
    ...((text !== '' || calls.length === 0) && { content: text }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(calls.length > 0 && {
      toolCalls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments.join('') },
      })),
    }),
  }
}
