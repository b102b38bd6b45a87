import { hash } from 'node:crypto'

import type { Json, ModelMessage } from '@provost/core'
import { canonicalJson, toJson } from '@provost/core'

/** A message that a guard has recorded. */
export interface SeenMessage {
  /** The hash of what it says. */
  readonly print: string
  /** The object and its parts, by which the message is known without being read again. Absent after a restart. */
  readonly marks: readonly unknown[]
}

/** Returns what the guard remembers of a message. */
export function seen(message: ModelMessage): SeenMessage {
  return { print: printOf(message), marks: marksOf(message) }
}

/** Returns whether a message is the one that was seen, without reading values that were read before. */
export function isSame({ print, marks }: SeenMessage, message: ModelMessage): boolean {
  return isSameObject(marks, message) || print === printOf(message)
}

/** Returns whether a message is the object that was seen, with the same parts in it. */
export function isSameObject(marks: readonly unknown[], message: ModelMessage): boolean {
  if (marks[0] !== message) return false
  const now = marksOf(message)
  return now.length === marks.length && now.every((mark, index) => mark === marks[index])
}

/** Returns the objects and texts that a message consists of. Nothing below the output of a tool is read. */
function marksOf(message: ModelMessage): readonly unknown[] {
  const { role, content } = message
  if (typeof content === 'string') return [message, role, content]
  const marks: unknown[] = [message, role, content]
  for (const part of content) {
    marks.push(part, part.type)
    if (part.type === 'text' || part.type === 'reasoning') marks.push(part.text)
    else if (part.type === 'tool-call') marks.push(part.toolCallId, part.toolName, part.input)
    else if (part.type === 'tool-result') marks.push(part.toolCallId, part.toolName, part.output, valueOf(part.output))
  }
  return marks
}

function valueOf(output: unknown): unknown {
  return typeof output === 'object' && output !== null && 'value' in output ? output.value : undefined
}

/**
 * Returns the hash of what a message says: its texts, calls and results. What providers attach, and the way that texts are
 * split into parts, does not count.
 */
function printOf({ role, content }: ModelMessage): string {
  const texts: string[] = []
  const parts: unknown[] = []
  if (typeof content === 'string') texts.push(content)
  else
    for (const part of content) {
      if (part.type === 'text') texts.push(part.text)
      else if (part.type === 'tool-call') parts.push(['call', part.toolCallId, part.toolName, part.input])
      else if (part.type === 'tool-result') parts.push(['result', part.toolCallId, part.toolName, part.output])
      else if (part.type === 'tool-approval-response') parts.push(['answer', part.approvalId, part.approved])
    }
  const said: Json = toJson([role, texts.join('\n'), parts])
  return hash('sha256', canonicalJson(said), 'base64url')
}
