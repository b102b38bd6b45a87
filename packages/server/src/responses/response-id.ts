import { HttpError } from '../http/http-error.ts'
import type { EventPosition } from '../stream/event-position.ts'
import { readPosition, writePosition } from '../stream/event-position.ts'

/** A response: a part of a session's log. Its id names it, so any process finds it without a table. */
export interface ResponseRef {
  readonly sessionId: string
  /** Its events come after this position. */
  readonly after: EventPosition
  /** The user message that it answers. Absent for a response that continues a turn after answers of the client. */
  readonly messageId?: string | undefined
}

/** Characters of an id. */
const longest = 1_000

export function writeResponseId({ sessionId, after, messageId = '' }: ResponseRef): string {
  return `resp_${Buffer.from(JSON.stringify([sessionId, writePosition(after), messageId])).toString('base64url')}`
}

/** @throws HttpError 404 */
export function readResponseId(id: string): ResponseRef {
  const given = id.length <= longest && id.startsWith('resp_') ? partsOf(id.slice('resp_'.length)) : []
  const [sessionId, place, messageId] = given
  const after = typeof place === 'string' ? readPosition(place) : undefined
  if (given.length !== 3 || typeof sessionId !== 'string' || typeof messageId !== 'string' || !after)
    throw unknownResponse(id)
  return { sessionId, after, ...(messageId !== '' && { messageId }) }
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

export function unknownResponse(id: string): HttpError {
  return new HttpError(404, {
    code: 'unknown-response',
    message: `Response ${id.slice(0, 200)} does not exist.`,
    hint: 'Send the id of a response that this server gave you, unchanged.',
  })
}
