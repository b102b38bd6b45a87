import { isRecord } from '@provost/core'
import type { ToolInfo } from '@provost/core'

/** Whether a call of the tool changes something that a second call would change again. */
export function hasEffect({ effect, composite }: Pick<ToolInfo, 'effect' | 'composite'>): boolean {
  return !composite && (effect === 'write' || effect === 'egress')
}

/** Codes of Node and undici for a connection that ended after the request may have been sent. */
const lostConnection: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_ABORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
])
/** Of abort signals. */
const cutOff: ReadonlySet<string> = new Set(['AbortError', 'TimeoutError'])
/** Statuses of servers, and of proxies before them, that do not tell whether the request was carried out. */
const undecided: ReadonlySet<number> = new Set([408, 500, 502, 503, 504])
const deepest = 8

/**
 * Whether an error that a tool threw leaves open whether its effect took place: a lost connection, a time-out, a failing
 * server, or a `ProvostError` with the code `outcome-unknown`. Causes are searched too.
 */
export function leavesOutcomeOpen(thrown: unknown): boolean {
  try {
    let at = thrown
    for (let depth = 0; depth < deepest && isRecord(at); depth++) {
      const { code, name, status, statusCode, cause } = at
      if (code === 'outcome-unknown') return true
      if (typeof code === 'string' && lostConnection.has(code)) return true
      if (typeof name === 'string' && cutOff.has(name)) return true
      if ([status, statusCode].some((one) => typeof one === 'number' && undecided.has(one))) return true
      at = cause
    }
    return false
  } catch {
    // A revoked proxy, or a getter that throws.
    return true
  }
}
