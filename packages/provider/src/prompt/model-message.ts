import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { FilePart, Json, Message, ModelMessage, Part, TextPart, ToolOutput } from '@provost/core'
import { toJson, checkArguments } from '@provost/core'

import { fromFileData } from '../call/file-data.ts'
import { createProviderCallIds } from './provider-call-id.ts'
import type { ProviderRole, ProviderRules } from './provider-message.ts'
import { toProviderMessage } from './provider-message.ts'

/** A message of the AI SDK with its content as our parts; fits wherever a `MessageInit` is taken. */
export interface ImportedMessage {
  readonly role: ProviderRole
  readonly content: readonly Part[]
}

type SdkPart = Exclude<ModelMessage['content'], string>[number]
type SdkOutput = Extract<SdkPart, { type: 'tool-result' }>['output']
type SdkOutputPart = Extract<SdkOutput, { type: 'content' }>['value'][number]

/**
 * Returns messages of the AI SDK as Provost messages, one for one. Bytes become base64, URLs text, and `image` parts
 * files. `providerOptions` stay; those of a whole message move to its last part, where providers also read them.
 *
 * A `callId` is the `toolCallId` of the part, made unique if ids repeat: a result belongs to the earliest open call of
 * its id. Approval requests and responses are omitted, since the log has them.
 *
 * @example
 * fromModelMessages([{ role: 'user', content: 'hello' }]) // [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]
 */
export function fromModelMessages(messages: readonly ModelMessage[]): ImportedMessage[] {
  const calls = createCallIds()
  return messages.map((message) => {
    const { role, content, providerOptions } = message
    const parts: Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : []
    if (typeof content !== 'string')
      for (const part of content) {
        const own = fromPart(part, calls)
        if (own) parts.push(own)
      }
    const last = parts.at(-1)
    if (last && providerOptions)
      parts[parts.length - 1] = { ...last, providerOptions: { ...providerOptions, ...last.providerOptions } }
    return { role, content: parts }
  })
}

/**
 * Returns messages in the form of the AI SDK, for other libraries and for `convertToModel`. Roles that no model knows
 * are omitted, and so are labels, `fields` and `details`. Tool-call ids are unique.
 *
 * @throws ProvostError `blob-not-loaded`, `invalid-file-url` or `unsupported-file`.
 */
export function toModelMessages(messages: readonly Message[]): ModelMessage[] {
  checkArguments('toModelMessages', [messages], ['objects'])
  const rules: ProviderRules = {
    ids: createProviderCallIds(),
    reasoning: 'keep',
    foreign: false,
    input: (input) => input,
  }
  const converted: ModelMessage[] = []
  for (const { role, content } of messages) {
    if (role !== 'system' && role !== 'user' && role !== 'assistant' && role !== 'tool') continue
    const one = toProviderMessage(role, content, rules)
    if (one) converted.push(one)
  }
  return converted
}

interface CallIds {
  call(toolCallId: string): string
  result(toolCallId: string): string
}

function createCallIds(): CallIds {
  const used = new Map<string, number>()
  const open = new Map<string, string[]>()
  function fresh(toolCallId: string): string {
    const base = toolCallId || 'call'
    let count = (used.get(base) ?? 0) + 1
    let id = count === 1 ? base : `${base}~${count}`
    while (count > 1 && used.has(id)) id = `${base}~${(count += 1)}`
    used.set(base, count)
    if (id !== base) used.set(id, 1)
    return id
  }
  return {
    call: (toolCallId) => {
      const id = fresh(toolCallId)
      const waiting = open.get(toolCallId)
      if (waiting) waiting.push(id)
      else open.set(toolCallId, [id])
      return id
    },
    result: (toolCallId) => open.get(toolCallId)?.shift() ?? fresh(toolCallId),
  }
}

function options(providerOptions: SharedV4ProviderOptions | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return providerOptions ? { providerOptions } : {}
}

function fromPart(part: SdkPart, calls: CallIds): Part | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, text: part.text, ...options(part.providerOptions) }
    case 'image':
      return {
        type: 'file',
        data: fromFileData(part.image),
        mediaType: part.mediaType ?? 'image',
        ...options(part.providerOptions),
      }
    case 'file':
    case 'reasoning-file':
      return {
        type: part.type,
        data: fromFileData(part.data),
        mediaType: part.mediaType,
        ...('filename' in part && part.filename !== undefined && { filename: part.filename }),
        ...options(part.providerOptions),
      }
    case 'custom':
      return { type: 'custom', kind: part.kind, ...options(part.providerOptions) }
    case 'tool-call':
      return {
        type: 'tool-call',
        callId: calls.call(part.toolCallId),
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        input: toJson(part.input),
        ...(part.providerExecuted !== undefined && { providerExecuted: part.providerExecuted }),
        ...options(part.providerOptions),
      }
    case 'tool-result': {
      const outer = 'providerOptions' in part.output ? part.output.providerOptions : undefined
      return {
        type: 'tool-result',
        callId: calls.result(part.toolCallId),
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        output: fromOutput(part.output),
        ...options(outer ? { ...outer, ...part.providerOptions } : part.providerOptions),
      }
    }
    case 'tool-approval-request':
    case 'tool-approval-response':
      return undefined
  }
}

function fromOutput(output: SdkOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: output.value }
    case 'json':
    case 'error-json': {
      const value: Json = output.value
      return { type: output.type, value }
    }
    case 'execution-denied':
      return { type: 'execution-denied', ...(output.reason !== undefined && { reason: output.reason }) }
    case 'content':
      return { type: 'content', value: output.value.map(fromOutputPart) }
  }
}

function fromOutputPart(part: SdkOutputPart): TextPart | FilePart {
  const more = options(part.providerOptions)
  const file = (data: FilePart['data'], mediaType: string, filename?: string): FilePart => ({
    type: 'file',
    data,
    mediaType,
    ...(filename !== undefined && { filename }),
    ...more,
  })
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...more }
    case 'file':
      return file(fromFileData(part.data), part.mediaType, part.filename)
    case 'file-data':
      return file({ type: 'data', data: part.data }, part.mediaType, part.filename)
    case 'image-data':
      return file({ type: 'data', data: part.data }, part.mediaType)
    case 'file-url':
      return file({ type: 'url', url: part.url }, part.mediaType ?? 'application/octet-stream')
    case 'image-url':
      return file({ type: 'url', url: part.url }, 'image')
    case 'file-id':
      return file(reference(part.fileId), 'application')
    case 'image-file-id':
      return file(reference(part.fileId), 'image')
    case 'file-reference':
      return file(reference(part.providerReference), 'application')
    case 'image-file-reference':
      return file(reference(part.providerReference), 'image')
    case 'custom':
      // Our outputs have no such part; an empty text with options goes back as what it was.
      return { type: 'text', text: '', ...more }
  }
}

function reference(id: string | Readonly<Record<string, string>>): FilePart['data'] {
  return { type: 'reference', reference: typeof id === 'string' ? { file: id } : { ...id } }
}
