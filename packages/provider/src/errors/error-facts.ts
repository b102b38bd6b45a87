import { isRecord } from '@provost/core'

/** The facts about a failure, gathered from an error and from everything that it wraps. */
export interface ErrorFacts {
  /** The outermost HTTP status. */
  readonly status: number | undefined
  /** Names, codes and types, in lower case. */
  readonly codes: ReadonlySet<string>
  /** Messages and bodies, in lower case. */
  readonly text: string
  /** What the error states about a retry, the outermost first. */
  readonly retryable: boolean | undefined
  readonly retryAfterMs: number | undefined
  /** The outermost message with content. */
  readonly message: string
}

const maxObjects = 32
const maxVisits = 256
const maxText = 4096
const maxBody = 65_536
const maxMessage = 1000
const maxWaitMs = 24 * 60 * 60 * 1000

/** Fields that contain codes. Names of classes count as codes too. */
const codeKeys = ['name', 'code', 'type', 'status', 'reason'] as const
const statusKeys = ['statusCode', 'status', 'status_code', 'code'] as const
/**
 * Fields that contain wrapped errors. The request is excluded: the words of a prompt are no facts about the failure.
 */
const innerKeys = [
  'lastError',
  'cause',
  'error',
  'data',
  'response',
  'body',
  'details',
  'errors',
  'innererror',
] as const
const bodyKeys = ['responseBody', 'body', 'data', 'error'] as const

/** Gathers breadth first: outer facts take precedence. No error can make this throw or run long. */
export function gatherFacts(error: unknown): ErrorFacts {
  const codes = new Set<string>()
  const seen = new Set<unknown>()
  let text = ''
  let status: number | undefined
  let retryable: boolean | undefined
  let retryAfterMs: number | undefined
  let message = ''

  function note(words: string): void {
    if (text.length < maxText) text += `${words.slice(0, maxText).toLowerCase()}\n`
  }

  const queue: unknown[] = [error]

  function visit(value: unknown): void {
    if (typeof value === 'string') {
      const body = parsed(value)
      if (body !== undefined) queue.push(body)
      else {
        note(value)
        message ||= value
      }
      return
    }
    if (Array.isArray(value)) {
      queue.push(...value.slice(0, maxObjects))
      return
    }
    if (!isRecord(value) || seen.has(value)) return
    seen.add(value)

    for (const key of codeKeys) {
      const code = value[key]
      if (typeof code === 'string') codes.add(code.slice(0, 100).toLowerCase())
    }
    for (const key of statusKeys) status ??= httpStatus(value[key])
    const says = value['isRetryable'] ?? value['is_retryable'] ?? value['retryable']
    if (typeof says === 'boolean') retryable ??= says
    retryAfterMs ??= waitOf(value['responseHeaders']) ?? waitOf(value['headers']) ?? durationMs(value['retryDelay'])
    const words = value['message']
    if (typeof words === 'string') {
      note(words)
      message ||= words
    }
    for (const key of innerKeys) {
      const inner = value[key]
      if (typeof inner === 'object' && inner !== null) queue.push(inner)
    }
    for (const key of bodyKeys) {
      const body = value[key]
      if (typeof body === 'string') queue.push(body)
    }
  }

  for (let i = 0; i < queue.length && i < maxVisits && seen.size < maxObjects; i += 1) {
    try {
      visit(queue[i])
    } catch {
      // A proxy or a getter that throws adds no facts.
    }
  }
  return { status, codes, text, retryable, retryAfterMs, message: message.slice(0, maxMessage) }
}

function parsed(text: string): unknown {
  if (text.length > maxBody || !/^\s*[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && status >= 200 && status <= 599 ? status : undefined
}

/** Returns the wait in response headers, in ms: at least 0, at most a day. */
function waitOf(headers: unknown): number | undefined {
  const ms = Number(header(headers, 'retry-after-ms') || Number.NaN)
  if (Number.isFinite(ms)) return bounded(ms)
  const text = header(headers, 'retry-after')?.trim().slice(0, 64)
  if (!text) return undefined
  const asSeconds = Number(text)
  if (Number.isFinite(asSeconds)) return bounded(asSeconds * 1000)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : bounded(at - Date.now())
}

/** A duration in the format of Google: `34s`. */
function durationMs(value: unknown): number | undefined {
  const amount =
    typeof value === 'string' && /^\d{1,6}(\.\d{1,9})?s$/.test(value) ? Number(value.slice(0, -1)) : undefined
  return amount === undefined ? undefined : bounded(amount * 1000)
}

function bounded(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), maxWaitMs)
}

function header(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  if (!isRecord(headers)) return undefined
  for (const key of Object.keys(headers).slice(0, 256)) {
    if (key.toLowerCase() !== name) continue
    const value = headers[key]
    if (typeof value === 'string' || typeof value === 'number') return `${value}`
  }
  return undefined
}
