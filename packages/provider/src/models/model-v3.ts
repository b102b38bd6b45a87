import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4FileData,
} from '@ai-sdk/provider'
import { ProvostError } from '@provost/core'

/** A model of either specification. */
export type AnyModel = LanguageModelV4 | LanguageModelV3

/** The stream parts of both specifications. They differ in files only, and a response accepts both forms. */
export interface StreamStart {
  readonly stream: ReadableStream<LanguageModelV4StreamPart | LanguageModelV3StreamPart>
}

/** Starts a call in the words of the model's own specification. */
export function startStream(model: AnyModel, options: LanguageModelV4CallOptions): PromiseLike<StreamStart> {
  return model.specificationVersion === 'v4' ? model.doStream(options) : model.doStream(toV3Options(options))
}

function toV3Options({
  prompt,
  reasoning: _newer,
  ...options
}: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  return { ...options, prompt: prompt.map(toV3Message) }
}

/** Prompts share their messages from call to call: each is rewritten once. */
const rewritten = new WeakMap<LanguageModelV4Message, LanguageModelV3Message>()

function toV3Message(message: LanguageModelV4Message): LanguageModelV3Message {
  const known = rewritten.get(message)
  if (known) return known
  const own = rewrite(message)
  rewritten.set(message, own)
  return own
}

function rewrite(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return message
    case 'user':
      return {
        ...message,
        content: message.content.map((part) => (part.type === 'file' ? { ...part, data: toV3Data(part.data) } : part)),
      }
    case 'assistant': {
      const content: Extract<LanguageModelV3Message, { role: 'assistant' }>['content'] = []
      for (const part of message.content) {
        // The older specification lacks these two, so its providers never send them.
        if (part.type === 'custom' || part.type === 'reasoning-file') continue
        if (part.type === 'file') content.push({ ...part, data: toV3Data(part.data) })
        else if (part.type === 'tool-result') content.push(toV3Result(part))
        else content.push(part)
      }
      return { ...message, content }
    }
    case 'tool':
      return {
        ...message,
        content: message.content.map((part) => (part.type === 'tool-result' ? toV3Result(part) : part)),
      }
  }
}

function toV3Result(part: LanguageModelV4ToolResultPart): LanguageModelV3ToolResultPart {
  return { ...part, output: toV3Output(part.output) }
}

function toV3Data(data: SharedV4FileData): Uint8Array | string | URL {
  switch (data.type) {
    case 'data':
      return data.data
    case 'url':
      return data.url
    case 'text':
      return Buffer.from(data.text, 'utf8').toString('base64')
    case 'reference':
      throw new ProvostError('unsupported-file', 'This model cannot read files by reference.', {
        hint: 'Send the bytes or a URL, or use a newer version of the provider package.',
      })
  }
}

type V3Content = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number]

function toV3Output(output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput {
  return output.type === 'content' ? { ...output, value: output.value.map(toV3Content) } : output
}

function toV3Content(part: Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]): V3Content {
  if (part.type !== 'file') return part
  const { data, mediaType, filename, providerOptions } = part
  const more = { ...(providerOptions && { providerOptions }) }
  switch (data.type) {
    case 'data': {
      const bytes = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
      return { type: 'file-data', data: bytes, mediaType, ...(filename !== undefined && { filename }), ...more }
    }
    case 'url':
      return { type: 'file-url', url: data.url.toString(), ...more }
    case 'reference':
      return { type: 'file-id', fileId: data.reference, ...more }
    case 'text':
      return { type: 'text', text: data.text, ...more }
  }
}
