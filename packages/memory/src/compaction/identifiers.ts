import type { Message, Part } from '@provost/core'
import { estimateTokens } from '@provost/provider'

import { textOfOutput } from './clear-results.ts'

/** Addresses, and words with a digit in them: order numbers, dates, paths, hashes. Each has a bounded length. */
const candidate =
  /https?:\/\/[^\s"'<>()[\]{}]{1,200}|[\w.+-]{1,64}@[\w.-]{3,100}|#?[\p{L}\p{N}][\p{L}\p{N}_\-./:#]{2,80}/gu
/** Punctuation at the end of a word is not part of an identifier. */
const trailing = /[.,:;/#-]+$/
/** Characters of one text that are searched. */
const mostText = 20_000

/**
 * Returns the identifiers in messages that a summary must keep verbatim, latest first. Those of the user and of calls come
 * before those of results.
 *
 * @param text a text whose identifiers are left out.
 * @param maxTokens tokens of all identifiers together.
 */
export function identifiersIn(messages: readonly Message[], text: string, maxTokens: number): readonly string[] {
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
    if (text.includes(word)) continue
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
  // Short numbers are counts, and words without a digit are not identifiers.
  return /\d/.test(word) && word.length >= (/\p{L}|[-_/#]/u.test(word) ? 3 : 4)
}
