import type { Json, Label, Message, Part, ToolOutput } from '@provost/core'
import { labelOf } from '@provost/core'

/** Kinds of content that may be recorded. By default none is. */
export type ContentKind = 'messages' | 'instructions' | 'tools' | 'errors'

/** Prepares content that leaves the process: bounded, scrubbed, well-formed, and never secret. */
export interface Recorder {
  records(kind: ContentKind): boolean
  /** Prepares a name or another short text that is always recorded. */
  name(text: string): string
  /** Prepares one text from any source. */
  text(text: string): string
  /** Prepares a value as JSON. */
  json(value: unknown): string
  /** Prepares messages in the form of the conventions. A secret message is replaced by a marker. */
  messages(messages: readonly Message[]): string
  /** Prepares a value that may be secret: the arguments or the result of a tool. */
  value(value: unknown, secret: boolean): string
}

/** Replaces what may not leave the process. */
export const withheld = '[secret]'

const longestName = 256
/** A secret may cross the position where a text is cut. This many more characters are scrubbed than are kept. */
const margin = 16_384
const deepest = 20

/**
 * Creates the recorder of a telemetry extension.
 *
 * @param scrub removes secrets from a text.
 * @param limit largest attribute, in characters.
 */
export function createRecorder(
  kinds: ReadonlySet<ContentKind>,
  scrub: (text: string) => string,
  limit: number,
): Recorder {
  function clean(text: string, most: number): string {
    const complete = text.length <= most
    const piece = complete ? text : text.slice(0, most + margin)
    const scrubbed = scrub(piece).toWellFormed()
    if (complete && scrubbed.length <= most) return scrubbed
    // A secret at the end of the piece, complete or not, lies within the margin.
    const safe = text.length > most + margin ? scrubbed.length - margin : scrubbed.length
    return `${scrubbed.slice(0, Math.max(0, Math.min(most, safe))).toWellFormed()}…`
  }

  function json(value: unknown): string {
    const budget = { left: limit }
    return JSON.stringify(boundedCopy(value, budget, clean, 0)) ?? 'null'
  }

  return {
    records: (kind) => kinds.has(kind),
    name: (text) => clean(text, longestName),
    text: (text) => clean(text, limit),
    json,
    messages: (messages) => json(messages.map(wireMessage)),
    value: (value, secret) => (secret ? withheld : typeof value === 'string' ? clean(value, limit) : json(value)),
  }
}

/** Returns a parsed JSON value with every text, number and key in it scrubbed. */
export function scrubbedJson(value: unknown, scrub: (text: string) => string): unknown {
  return boundedCopy(value, { left: Number.POSITIVE_INFINITY }, scrub, 0)
}

/** Returns a scrubbed copy within the remaining budget of characters. */
function boundedCopy(
  value: unknown,
  budget: { left: number },
  clean: (text: string, most: number) => string,
  depth: number,
): unknown {
  if (typeof value === 'string') {
    const made = clean(value, Math.max(0, budget.left))
    budget.left -= made.length
    return made
  }
  budget.left -= 8
  if (typeof value === 'number' || typeof value === 'bigint') {
    // A number may be a secret: a PIN, an account.
    const text = String(value)
    const known = clean(text, text.length)
    return known === text && typeof value === 'number' ? value : known
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest || budget.left <= 0) return '…'
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (const item of value) {
      if (budget.left <= 0) break
      list.push(boundedCopy(item, budget, clean, depth + 1))
    }
    return list.length < value.length ? [...list, '…'] : list
  }
  const copy: [string, unknown][] = []
  for (const [key, field] of Object.entries(value)) {
    if (budget.left <= 0) {
      copy.push(['…', '…'])
      break
    }
    const known = clean(key, longestName)
    budget.left -= known.length
    copy.push([known, boundedCopy(field, budget, clean, depth + 1)])
  }
  return Object.fromEntries(copy)
}

export function isSecret({ confidentiality }: Label): boolean {
  return confidentiality === 'secret'
}

interface WirePart {
  readonly type: string
  readonly [key: string]: unknown
}

function wireMessage({ role, content, label: given, error }: Message): { role: string; parts: readonly WirePart[] } {
  const label = labelOf({ role, content: [], ...(given && { label: given }) })
  // An error or an abort ends what the assistant was writing.
  const wireRole = role === 'error' || role === 'aborted' ? 'assistant' : role
  const parts = content.map((part) => (isSecret(part.label ?? label) ? secretPart : wirePart(part)))
  return { role: wireRole, parts: error ? [...parts, { type: 'error', code: error.code }] : parts }
}

const secretPart: WirePart = { type: 'text', content: withheld }

function wirePart(part: Part): WirePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: part.text }
    case 'reasoning':
      return { type: 'reasoning', content: part.text }
    case 'tool-call':
      return { type: 'tool_call', id: part.callId, name: part.toolName, arguments: part.input }
    case 'tool-result': {
      const fields = Object.values(part.fields ?? {})
      const hidden = fields.some(({ confidentiality }) => confidentiality === 'secret')
      return { type: 'tool_call_response', id: part.callId, response: hidden ? withheld : outputValue(part.output) }
    }
    case 'file':
    case 'reasoning-file':
      // Bytes are of no use in a trace.
      return { type: 'file', mime_type: part.mediaType }
    case 'custom':
    default:
      return { type: part.type }
  }
}

/** Returns a tool's output without its secret parts. */
export function outputValue(output: ToolOutput): Json {
  switch (output.type) {
    case 'text':
    case 'error-text':
    case 'json':
    case 'error-json':
      return output.value
    case 'execution-denied':
      return output.reason ?? 'denied'
    case 'content':
      return output.value.map((part) => {
        if (part.label?.confidentiality === 'secret') return withheld
        return part.type === 'text' ? part.text : `[${part.mediaType}]`
      })
    default:
      return output satisfies never
  }
}

/** Returns an error's code if it is well-formed. A code from outside may be any text. */
export function codeOf(code: string | undefined): string {
  return code !== undefined && /^[a-z][\w.:-]{0,63}$/i.test(code) ? code : '_OTHER'
}
