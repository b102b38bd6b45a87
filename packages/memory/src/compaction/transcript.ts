import type { Message, Part } from '@provost/core'
import { estimateTokens } from '@provost/provider'

import { textOfOutput } from './clear-results.ts'
import { clipped } from './message-size.ts'

const mostTextTokens = 4000
const mostResultTokens = 800

/**
 * Returns messages as text for a summariser, in pieces, without reasoning.
 *
 * @param maxTokens tokens of one piece.
 * @param own ids of messages that earlier compactions added.
 */
export function transcriptOf(
  messages: readonly Message[],
  maxTokens: number,
  own: ReadonlySet<string> = new Set(),
): readonly string[] {
  const pieces: string[] = []
  let lines: string[] = []
  let tokens = 0
  for (const message of messages) {
    const who = own.has(message.id) ? 'earlier summary' : message.role
    for (const part of message.content) {
      const line = clipped(lineOf(who, part), maxTokens, ' […]')
      if (line === '') continue
      const size = estimateTokens(line)
      if (tokens + size > maxTokens && lines.length > 0) {
        pieces.push(lines.join('\n'))
        lines = []
        tokens = 0
      }
      lines.push(line)
      tokens += size
    }
  }
  if (lines.length > 0) pieces.push(lines.join('\n'))
  return pieces
}

function lineOf(who: string, part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text === '' ? '' : `[${who}] ${clipped(part.text, mostTextTokens, ' […]')}`
    case 'file':
      return `[${who}] (file ${part.filename ?? ''} ${part.mediaType})`
    case 'tool-call':
      return `[call ${part.toolName}] ${clipped(JSON.stringify(part.input), mostResultTokens, ' […]')}`
    case 'tool-result':
      return `[result of ${part.toolName}] ${clipped(textOfOutput(part.output), mostResultTokens, ' […]')}`
    case 'reasoning':
    case 'reasoning-file':
    case 'custom':
      return ''
  }
}
