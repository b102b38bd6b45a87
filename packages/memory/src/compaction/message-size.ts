import type { Message, MessageInit, Part } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'

/** Returns a message that is not in the log yet; only its content counts. */
export function draftOf(init: MessageInit): Message {
  const { role = 'user', content } = init
  return { id: '', role, content: partsOf(content), createdAt: 0 }
}

function partsOf(content: string | readonly Part[]): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Estimates the tokens of messages. The count of a logged message is cached. */
export function tokensOf(messages: readonly (MessageInit | Message)[]): number {
  let tokens = 0
  for (const message of messages) tokens += messageTokens(isLogged(message) ? message : draftOf(message))
  return tokens
}

function isLogged(message: MessageInit | Message): message is Message {
  return 'createdAt' in message
}

/** Returns the beginning of a text, at most `maxTokens` long, with `note` if the text was cut. */
export function clipped(text: string, maxTokens: number, note: string): string {
  if (text.length <= maxTokens && estimateTokens(text) <= maxTokens) return text
  const total = estimateTokens(text)
  if (total <= maxTokens) return text
  // Token density varies within a text: cut again while the beginning is too long.
  let length = Math.floor((text.length * maxTokens) / total)
  while (length > 0 && estimateTokens(text.slice(0, length)) > maxTokens) length = Math.floor(length * 0.8)
  // Do not split a surrogate pair.
  const end = length > 0 && isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}${note}`
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
