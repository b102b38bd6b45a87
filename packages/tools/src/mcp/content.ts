import { isRecord, ProvostError } from '@provost/core'
import type { FilePart, TextPart } from '@provost/core'

import { rich } from '../definition/rich.ts'
import { serverText } from '../mcp-transport/server-text.ts'
import type { CallResponse } from './connection.ts'

/** A resource that a result links to. `reader` returns its content. */
export interface McpResourceLink {
  readonly uri: string
  readonly name?: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  /** In bytes. */
  readonly size?: number
}

type ContentPart = TextPart | FilePart

const maxUriLength = 2_000
const maxNameLength = 200
const maxErrorLength = 4_000
const maxUnknownLength = 10_000

/**
 * Returns the result of `execute` for the result of a call: the structured content, else the text. The model receives
 * the content if there is more than that; links are in the details too.
 *
 * @throws ProvostError `mcp-tool-error` for an error result.
 */
export function resultValue(tool: string, { result, hint }: CallResponse, structured: boolean): unknown {
  if ('toolResult' in result && !Array.isArray(result['content'])) return result['toolResult']
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : []
  const parts = content.map(partOf)
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  if (result['isError'] === true) throw toolError(tool, text, hint)
  const value = valueOf(result['structuredContent'], text, structured)
  const links = content.flatMap(linkOf)
  // One copy is enough, because the log keeps both.
  const hasContent = parts.length > 0 && !(value === text && parts.every((part) => part.type === 'text'))
  if (!hasContent && links.length === 0) return value
  return rich(value, {
    ...(hasContent && { content: parts }),
    ...(links.length > 0 && { details: { resourceLinks: links } }),
  })
}

/** Older servers put structured content into the text. */
function valueOf(structuredContent: unknown, text: string, structured: boolean): unknown {
  if (structuredContent !== undefined && structuredContent !== null) return structuredContent
  if (!structured) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function toolError(tool: string, text: string, hint: string | undefined): ProvostError {
  const message = serverText(text, maxErrorLength) || `${tool} failed and did not say why.`
  return new ProvostError('mcp-tool-error', message, { hint })
}

function partOf(content: unknown): ContentPart {
  if (!isRecord(content)) return note('content of an unknown form')
  switch (content['type']) {
    case 'text':
      return { type: 'text', text: stringOf(content['text']) ?? '' }
    case 'image':
    case 'audio':
      return fileOf(content['data'], content['mimeType']) ?? note(`${content['type']} without data`)
    case 'resource':
      return isRecord(content['resource']) ? embedded(content['resource']) : note('a resource without content')
    case 'resource_link': {
      const [link] = linkOf(content)
      return link ? linkPart(link) : note('a link to a resource that cannot be followed')
    }
    default:
      return { type: 'text', text: JSON.stringify(content).slice(0, maxUnknownLength) }
  }
}

function embedded(resource: Record<string, unknown>): ContentPart {
  const uri = serverText(stringOf(resource['uri']) ?? '', maxUriLength)
  const text = stringOf(resource['text'])
  if (text !== undefined) return { type: 'text', text: `[resource ${uri}]\n${text}` }
  const file = fileOf(resource['blob'], resource['mimeType'] ?? 'application/octet-stream')
  return file ? { ...file, filename: uri } : note(`the resource ${uri} without content`)
}

function fileOf(data: unknown, mimeType: unknown): FilePart | undefined {
  const mediaType = stringOf(mimeType)
  if (typeof data !== 'string' || mediaType === undefined || !/^[\w.+-]+\/[\w.+-]+/.test(mediaType)) return undefined
  return { type: 'file', mediaType, data: { type: 'data', data } }
}

function linkOf(content: unknown): McpResourceLink[] {
  if (!isRecord(content) || content['type'] !== 'resource_link') return []
  const uri = stringOf(content['uri'])
  // A handle that was changed or cut would point elsewhere.
  if (!uri || uri.length > maxUriLength || serverText(uri, maxUriLength) !== uri) return []
  const [name, title, description, mimeType] = ['name', 'title', 'description', 'mimeType'].map((key) => {
    const text = stringOf(content[key])
    return text === undefined ? undefined : serverText(text, maxNameLength)
  })
  const { size } = content
  return [
    {
      uri,
      ...(name && { name }),
      ...(title && { title }),
      ...(description && { description }),
      ...(mimeType && { mimeType }),
      ...(typeof size === 'number' && { size }),
    },
  ]
}

function linkPart({ uri, name, description, mimeType }: McpResourceLink): TextPart {
  const what = [name, mimeType, description].filter(Boolean).join(', ')
  return { type: 'text', text: `[resource ${uri}${what && ` (${what})`}: not included, to be read by this URI]` }
}

function note(what: string): TextPart {
  return { type: 'text', text: `[${what}]` }
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
