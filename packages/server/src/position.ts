import { HttpError } from './http-error.ts'

/** Where an event stands in a session's log: the n-th of the entry with this offset, or the n-th that passed after it. */
export interface Position {
  readonly offset: number
  readonly n: number
  readonly passing: boolean
}

/** Before everything. */
export const origin: Position = Object.freeze({ offset: 0, n: -1, passing: false })

/** The last number in it; a request says which event its sender had last. */
const form = /^(.*):(\d{1,15})([.~])(\d{1,15})$/su

/** @returns undefined for the id of an event that is not of this session's own log, such as the token of a wait. */
export function positionIn(sessionId: string, id: string): Position | undefined {
  const [, log, offset, kind, n] = form.exec(id) ?? []
  if (log !== sessionId) return undefined
  return { offset: Number(offset), n: Number(n), passing: kind === '~' }
}

/**
 * What a client says it had last.
 *
 * @throws HttpError `invalid-event-id`
 */
export function givenPosition(sessionId: string, id: string): Position {
  const position = id.length > 1_000 ? undefined : positionIn(sessionId, id)
  if (position) return position
  throw new HttpError(400, {
    code: 'invalid-event-id',
    message: 'This is not the id of an event of this session.',
    hint: 'Send the id of the last event that came, unchanged, or none.',
  })
}

export function eventId(sessionId: string, { offset, n, passing }: Position): string {
  return `${sessionId}:${offset}${passing ? '~' : '.'}${n}`
}

/** Whether an event that lasts lies behind a position. What passed after an entry lies behind all events of that entry. */
export function isBehind(offset: number, n: number, position: Position): boolean {
  return offset > position.offset || (offset === position.offset && !position.passing && n > position.n)
}
