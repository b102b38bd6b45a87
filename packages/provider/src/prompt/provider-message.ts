import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ReasoningFilePart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { FilePart, Json, Part, TextPart, ToolCallPart, ToolOutput, ToolResultPart } from '@provost/core'
import { assertNever, ProvostError, textOf, wireToolName } from '@provost/core'

import { compactionOnWire, compactionText } from '../call/anthropic-compaction.ts'
import { isPlain, toFileContent } from '../call/file-data.ts'
import type { ProviderCallIds } from './provider-call-id.ts'

/** The roles a model knows. */
export type ProviderRole = LanguageModelV4Message['role']

/** Options of the conversion to provider messages. */
export interface ProviderRules {
  readonly ids: ProviderCallIds
  readonly reasoning: 'keep' | 'strip'
  /** A model of another provider wrote it. */
  readonly foreign: boolean
  /** Converts the input of a call. */
  readonly input: (input: Json) => unknown
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** Returns a message in the form of the provider interface of the AI SDK; `undefined` if it is empty. */
export function toProviderMessage(
  role: ProviderRole,
  parts: readonly Part[],
  rules: ProviderRules,
): LanguageModelV4Message | undefined {
  switch (role) {
    case 'system':
      return { role, content: textOf({ content: parts }), ...options(mergedOptions(parts)) }
    case 'user':
      return filled({ role, content: userParts(parts) })
    case 'assistant':
      return filled({ role, content: assistantParts(rules.foreign ? commonParts(parts) : parts, rules) })
    case 'tool':
      return filled({ role, content: toolParts(parts, rules) })
  }
}

function filled<M extends { content: readonly unknown[] }>(message: M): M | undefined {
  return message.content.length > 0 ? message : undefined
}

function options(providerOptions: SharedV4ProviderOptions | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return providerOptions ? { providerOptions } : {}
}

function mergedOptions(parts: readonly Part[]): SharedV4ProviderOptions | undefined {
  let merged: SharedV4ProviderOptions | undefined
  for (const { providerOptions } of parts) if (providerOptions) merged = { ...merged, ...providerOptions }
  return merged
}

function userParts(parts: readonly Part[]): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  const content: (LanguageModelV4TextPart | LanguageModelV4FilePart)[] = []
  for (const part of parts) {
    if (part.type === 'text' && part.text !== '') content.push(text(part))
    else if (part.type === 'file') content.push(unreadable(part) ?? file(part))
  }
  return content
}

function toolParts(parts: readonly Part[], rules: ProviderRules): LanguageModelV4ToolResultPart[] {
  const content: LanguageModelV4ToolResultPart[] = []
  for (const part of parts) if (part.type === 'tool-result') content.push(toolResult(part, rules))
  return content
}

/** Returns the parts that any provider can read. */
function commonParts(parts: readonly Part[]): readonly Part[] {
  const results = new Set(parts.flatMap((part) => (part.type === 'tool-result' ? [part.callId] : [])))
  return parts.flatMap((part) => {
    const { providerOptions: _, ...common } = part
    switch (part.type) {
      case 'text':
      case 'file':
        return [common]
      case 'tool-call':
        return part.providerExecuted || results.has(part.callId) ? [] : [common]
      case 'custom': {
        // The summary replaces everything before it.
        const summary = compactionText(part)
        return summary === undefined ? [] : [{ type: 'text', text: `Summary of what was said before:\n${summary}` }]
      }
      case 'reasoning':
      case 'reasoning-file':
      case 'tool-result':
        return []
      default:
        return assertNever(part)
    }
  })
}

function assistantParts(parts: readonly Part[], rules: ProviderRules): AssistantPart[] {
  const content: AssistantPart[] = []
  let stripped = false
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        if (part.text !== '' || part.providerOptions) content.push(text(part))
        break
      case 'reasoning':
        if (rules.reasoning === 'strip') stripped = true
        else content.push({ type: 'reasoning', text: part.text, ...options(part.providerOptions) })
        break
      case 'file':
        content.push(unreadable(part) ?? file(part))
        break
      case 'reasoning-file':
        if (rules.reasoning === 'strip') stripped = true
        else if (!unreadable(part)) content.push(reasoningFile(part))
        break
      case 'custom': {
        const summary = compactionText(part)
        if (summary !== undefined) content.push(compactionOnWire(part, summary))
        else content.push({ type: 'custom', kind: part.kind, ...options(part.providerOptions) })
        break
      }
      case 'tool-call':
        content.push(toolCall(part, rules))
        break
      case 'tool-result':
        content.push(toolResult(part, rules))
        break
    }
  }
  return stripped ? content.map(withoutItemId) : content
}

/** OpenAI refuses an item that refers to its stored self without the reasoning that led to it; by value it is taken. */
function withoutItemId<P extends AssistantPart>(part: P): P {
  const { providerOptions } = part
  if (!providerOptions || !Object.values(providerOptions).some((namespace) => 'itemId' in namespace)) return part
  const kept: SharedV4ProviderOptions = {}
  for (const [name, { itemId: _itemId, ...namespace }] of Object.entries(providerOptions)) kept[name] = namespace
  return { ...part, providerOptions: kept }
}

function text(part: TextPart): LanguageModelV4TextPart {
  return { type: 'text', text: part.text, ...options(part.providerOptions) }
}

/**
 * Returns the notice that replaces a file with invalid base64: providers would reject this and each later request of
 * the session. Undefined for any other file.
 */
function unreadable({ data, filename }: FilePart): LanguageModelV4TextPart | undefined {
  if (data.type !== 'data' && data.type !== 'url') return undefined
  try {
    toFileContent(data)
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof ProvostError) || thrown.code !== 'invalid-base64') throw thrown
    const name = filename === undefined ? '' : ` ${JSON.stringify(filename.slice(0, 200))}`
    return { type: 'text', text: `[The file${name} cannot be read: its bytes are not base64.]` }
  }
}

function file(part: FilePart): LanguageModelV4FilePart {
  const { data, mediaType } = toFileContent(part.data)
  return {
    type: 'file',
    data,
    mediaType: mediaType ?? part.mediaType,
    ...(part.filename !== undefined && { filename: part.filename }),
    ...options(part.providerOptions),
  }
}

function reasoningFile(part: FilePart): LanguageModelV4ReasoningFilePart {
  const { data, mediaType } = toFileContent(part.data)
  if (!isPlain(data))
    throw new ProvostError('unsupported-file', `A reasoning file cannot be ${data.type}.`, {
      hint: 'Give its bytes as base64 or its URL.',
    })
  return {
    type: 'reasoning-file',
    data,
    mediaType: mediaType ?? part.mediaType,
    ...options(part.providerOptions),
  }
}

function toolCall(part: ToolCallPart, rules: ProviderRules): LanguageModelV4ToolCallPart {
  return {
    type: 'tool-call',
    toolCallId: rules.ids.ofCall(part.callId, part.toolCallId),
    toolName: wireToolName(part.toolName),
    input: part.providerExecuted ? part.input : rules.input(part.input),
    ...(part.providerExecuted !== undefined && { providerExecuted: part.providerExecuted }),
    ...options(part.providerOptions),
  }
}

function toolResult(part: ToolResultPart, rules: ProviderRules): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: rules.ids.ofResult(part.callId, part.toolCallId),
    toolName: wireToolName(part.toolName),
    output: toolOutput(part.output),
    ...options(part.providerOptions),
  }
}

function toolOutput(output: ToolOutput): LanguageModelV4ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: output.value }
    case 'json':
    case 'error-json':
      return { type: output.type, value: output.value }
    case 'execution-denied':
      return { type: 'execution-denied', ...(output.reason !== undefined && { reason: output.reason }) }
    case 'content':
      return { type: 'content', value: output.value.map(outputPart) }
  }
}

type OutputPart = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

function outputPart(part: TextPart | FilePart): OutputPart {
  if (part.type !== 'text') return unreadable(part) ?? file(part)
  // An empty text with options is provider-specific content: see `fromModelMessages`.
  if (part.text === '' && part.providerOptions) return { type: 'custom', providerOptions: part.providerOptions }
  return text(part)
}
