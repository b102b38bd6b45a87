import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { FilePart, Message, Part, ToolOutput } from '@provost/core'

import { compactionText } from './anthropic-compaction.ts'
import { scanTokens } from './token-scan.ts'

/** The estimator reads one window at a time, so that memory is bounded for any text. */
const windowLength = 65_536
/** The approximate count of providers for an image or a page, which hardly depends on its bytes. */
const fileTokens = 1600
/** The tokens of a message or a call besides its text. */
const frameTokens = 4

/**
 * Returns the approximate tokens of a text, within some tens of percent of the count of any model.
 *
 * Linear in the length of the text, whatever its content.
 *
 * @example
 * estimateTokens('Refund order 17, please.') // 6
 */
export function estimateTokens(text: string): number {
  if (text.length <= windowLength) return scanTokens(text)
  let tokens = 0
  for (let at = 0; at < text.length; at += windowLength) tokens += scanTokens(text.slice(at, at + windowLength))
  return tokens
}

const counted = new WeakMap<Message, number>()

/** Returns the approximate tokens of a message. Computed once per message object; a file counts 1,600. */
export function messageTokens(message: Message): number {
  const known = counted.get(message)
  if (known !== undefined) return known
  let tokens = frameTokens
  for (const part of message.content) tokens += partTokens(part)
  counted.set(message, tokens)
  return tokens
}

/** Returns the approximate tokens of a part of a message. */
export function partTokens(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(part.text)
    case 'file':
    case 'reasoning-file':
      return ofFile(part)
    case 'custom':
      return frameTokens + estimateTokens(compactionText(part) ?? '')
    case 'tool-call':
      return callTokens(part.toolName, JSON.stringify(part.input))
    case 'tool-result':
      return frameTokens + ofOutput(part.output)
  }
}

/** Returns the approximate tokens of a tool call, with its input as text. */
export function callTokens(toolName: string, input: string): number {
  return frameTokens + estimateTokens(toolName) + estimateTokens(input)
}

/** Returns the approximate tokens of a request: its messages and its tools. */
export function promptTokens(prompt: LanguageModelV4Prompt, tools: readonly object[] = []): number {
  let tokens = 0
  for (const { content } of prompt) {
    tokens += frameTokens
    if (typeof content === 'string') tokens += estimateTokens(content)
    else for (const part of content) tokens += wirePartTokens(part)
  }
  for (const tool of tools) tokens += estimateTokens(JSON.stringify(tool))
  return tokens
}

type WirePart = Exclude<LanguageModelV4Prompt[number]['content'], string>[number]

function wirePartTokens(part: WirePart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(part.text)
    case 'file':
    case 'reasoning-file':
      return fileTokens
    case 'tool-call':
      return callTokens(part.toolName, JSON.stringify(part.input))
    case 'tool-result':
      return frameTokens + estimateTokens(JSON.stringify(part.output))
    case 'custom':
    case 'tool-approval-response':
    default:
      return frameTokens
  }
}

function ofFile({ data }: FilePart): number {
  return data.type === 'text' ? estimateTokens(data.text) : fileTokens
}

function ofOutput(output: ToolOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return estimateTokens(output.value)
    case 'json':
    case 'error-json':
      return estimateTokens(JSON.stringify(output.value))
    case 'execution-denied':
      return estimateTokens(output.reason ?? '')
    case 'content': {
      let tokens = 0
      for (const part of output.value) tokens += partTokens(part)
      return tokens
    }
  }
}
