import type { Message, MessageInit, Part } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'

/** A message that is not in the log yet: only what it says counts. */
export function draftOf(init: MessageInit): Message {
  const { role = 'user', content } = init
  return { id: '', role, content: partsOf(content), createdAt: 0 }
}

function partsOf(content: string | readonly Part[]): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** About how many tokens messages are, those of the log counted once. */
export function tokensOf(messages: readonly (MessageInit | Message)[]): number {
  let tokens = 0
  for (const message of messages) tokens += messageTokens(isLogged(message) ? message : draftOf(message))
  return tokens
}

function isLogged(message: MessageInit | Message): message is Message {
  return 'createdAt' in message
}

/** The beginning of a text that is about so many tokens, and a word where something is missing. */
export function clipped(text: string, maxTokens: number, note: string): string {
  if (text.length <= maxTokens && estimateTokens(text) <= maxTokens) return text
  const whole = estimateTokens(text)
  if (whole <= maxTokens) return text
  // Texts differ within themselves: what came out too long is cut once more.
  let length = Math.floor((text.length * maxTokens) / whole)
  while (length > 0 && estimateTokens(text.slice(0, length)) > maxTokens) length = Math.floor(length * 0.8)
  // A surrogate pair is not cut in two.
  const end = length > 0 && isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}${note}`
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
