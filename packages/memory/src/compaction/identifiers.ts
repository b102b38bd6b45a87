import type { Message, Part } from '@provost/core'
import { estimateTokens } from '@provost/provider'

import { textOfOutput } from './clear-results.ts'

/** Addresses, and words with a digit in them: order numbers, dates, paths, hashes. Each has a bounded length. */
const candidate =
  /https?:\/\/[^\s"'<>()[\]{}]{1,200}|[\w.+-]{1,64}@[\w.-]{3,100}|#?[\p{L}\p{N}][\p{L}\p{N}_\-./:#]{2,80}/gu
/** What ends a sentence belongs to no identifier. */
const trailing = /[.,:;/#-]+$/
/** So much of one text is looked at. */
const mostText = 20_000

/**
 * What must not be said differently: identifiers in messages, those of the user and of calls before those of results,
 * the latest first.
 *
 * @param said where they stand already.
 * @param maxTokens of all of them.
 */
export function identifiersIn(messages: readonly Message[], said: string, maxTokens: number): readonly string[] {
  const first = new Set<string>()
  const second = new Set<string>()
  for (const message of messages.toReversed()) {
    for (const part of message.content) {
      const into = part.type === 'tool-result' ? second : first
      for (const [match] of textOfPart(part).slice(0, mostText).matchAll(candidate)) {
        const word = match.replace(trailing, '')
        if (isIdentifier(word)) into.add(word)
      }
    }
  }
  const found: string[] = []
  let tokens = 0
  for (const word of new Set([...first, ...second])) {
    if (said.includes(word)) continue
    tokens += estimateTokens(word) + 1
    if (tokens > maxTokens) break
    found.push(word)
  }
  return found
}

function textOfPart(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'tool-call':
      return JSON.stringify(part.input)
    case 'tool-result':
      return textOfOutput(part.output)
    case 'file':
    case 'reasoning':
    case 'reasoning-file':
    case 'custom':
      return ''
  }
}

function isIdentifier(word: string): boolean {
  if (word.includes('@') || word.startsWith('http')) return true
  // Small numbers are counts; words alone are words.
  return /\d/.test(word) && word.length >= (/\p{L}|[-_/#]/u.test(word) ? 3 : 4)
}
