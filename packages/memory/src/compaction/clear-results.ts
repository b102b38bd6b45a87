import type { Message, ToolOutput, ToolResultPart } from '@provost/core'
import { fillLabel, joinLabels, untrustedLabel } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'

import { clipped } from './message-size.ts'

/** Tokens of the smallest result that is cleared: the placeholder costs about as much. */
const worthTokens = 60

/**
 * Returns the messages with old results emptied. Each call keeps its result, and each result keeps its label.
 *
 * @param keep number of the last tool messages that stay unchanged.
 */
export function clearResults(messages: readonly Message[], keep: number): readonly Message[] {
  let later = 0
  return messages
    .toReversed()
    .map((message) => {
      if (message.role !== 'tool' || later++ < keep) return message
      return mapResults(message, (part) => shortenedTo(part, 0))
    })
    .toReversed()
}

/** Returns the messages with the results of each tool message cut to `maxTokens` together. */
export function shortenResults(messages: readonly Message[], maxTokens: number): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== 'tool' || messageTokens(message) <= maxTokens) return message
    const each = Math.floor(maxTokens / message.content.length)
    return mapResults(message, (part) => shortenedTo(part, each))
  })
}

function mapResults(message: Message, change: (part: ToolResultPart) => ToolResultPart): Message {
  let changed = false
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result') return part
    const after = change(part)
    changed ||= after !== part
    return after
  })
  return changed ? { ...message, content } : message
}

function shortenedTo(part: ToolResultPart, maxTokens: number): ToolResultPart {
  const text = textOfOutput(part.output)
  const tokens = estimateTokens(text)
  const files = part.output.type === 'content' && part.output.value.some(({ type }) => type === 'file')
  if (!files && tokens <= Math.max(worthTokens, maxTokens)) return part
  const note = ` [… ${tokens} tokens, cut to make room: call the tool again if they are needed]`
  const value =
    maxTokens > worthTokens
      ? clipped(text, maxTokens - 25, note)
      : `[result of ${tokens} tokens, cleared to make room: call the tool again if it is needed]`
  const { fields, details: _, label, ...rest } = part
  // Once the fields are gone, their labels apply to the whole result.
  const own = fillLabel(label, untrustedLabel(part.toolName))
  const joined = fields ? joinLabels(own, ...Object.values(fields)) : own
  const failed = part.output.type === 'error-text' || part.output.type === 'error-json'
  return { ...rest, output: { type: failed ? 'error-text' : 'text', value }, label: joined }
}

/** Returns the text of a result as a model reads it; files appear as their media type. */
export function textOfOutput(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value)
    case 'execution-denied':
      return `denied: ${output.reason ?? ''}`
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n')
  }
}
