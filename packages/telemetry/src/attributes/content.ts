import type { Json, Label, Message, Part, ToolOutput } from '@provost/core'
import { labelOf } from '@provost/core'

/** What may be recorded of what was said: nothing is, unless it is named. */
export type ContentKind = 'messages' | 'instructions' | 'tools' | 'errors'

/** Content that is fit to leave the process: bounded, scrubbed, well-formed, and never secret. */
export interface Recorder {
  records(kind: ContentKind): boolean
  /** A name or another short text that is always recorded. */
  name(text: string): string
  /** A text of anybody's, in one piece. */
  text(text: string): string
  /** A value as JSON. */
  json(value: unknown): string
  /** Messages as the conventions have them; what is secret says so instead. */
  messages(messages: readonly Message[]): string
  /** What a tool was given or gave, if its label lets it out. */
  labelled(label: Label, value: unknown): string
}

/** Stands for what may not leave. */
export const withheld = '[secret]'

const longestName = 256
/** A secret may stand across the place where a text is cut: so much more is scrubbed than is kept. */
const margin = 16_384
const deepest = 20

/**
 * Makes what a telemetry extension records content with.
 *
 * @param scrub takes secrets out of a text.
 * @param limit characters of one attribute.
 */
export function createRecorder(
  kinds: ReadonlySet<ContentKind>,
  scrub: (text: string) => string,
  limit: number,
): Recorder {
  function clean(text: string, most: number): string {
    const whole = text.length <= most
    const piece = whole ? text : text.slice(0, most + margin)
    const scrubbed = scrub(piece).toWellFormed()
    if (whole && scrubbed.length <= most) return scrubbed
    // Whatever of a secret stands at the end of the piece lies within the margin.
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
    labelled: (label, value) =>
      isSecret(label) ? withheld : typeof value === 'string' ? clean(value, limit) : json(value),
  }
}

/** A value that was read from JSON, with every text and number in it scrubbed, keys too. */
export function scrubbedJson(value: unknown, scrub: (text: string) => string): unknown {
  return boundedCopy(value, { left: Number.POSITIVE_INFINITY }, scrub, 0)
}

/** A copy that holds about as many characters as are left of a budget; every text in it is clean. */
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
  // An error or an abort closes what the assistant was saying.
  const said = role === 'error' || role === 'aborted' ? 'assistant' : role
  const parts = content.map((part) => (isSecret(part.label ?? label) ? secretPart : wirePart(part)))
  return { role: said, parts: error ? [...parts, { type: 'error', code: error.code }] : parts }
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
      // Bytes are for nobody who reads a trace.
      return { type: 'file', mime_type: part.mediaType }
    default:
      return { type: part.type }
  }
}

/** What a tool gave, without what is secret in it. */
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

/** An error's code, if it is one: where it came from outside it may be anything. */
export function codeOf(code: string | undefined): string {
  return code !== undefined && /^[a-z][\w.:-]{0,63}$/i.test(code) ? code : '_OTHER'
}
