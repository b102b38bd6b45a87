import { HttpError } from '../http/http-error.ts'
import type { EventPosition } from './event-position.ts'
import { origin, placeOf, readPosition, writePosition } from './event-position.ts'

/**
 * The position of a reader in a session: in the session's log, and in the logs of the children that are not finished for
 * it. Any process can determine the next events from it.
 */
export interface Cursor {
  readonly root: EventPosition
  /** By `childKey`. */
  readonly children: ReadonlyMap<string, EventPosition>
  /** The reader has also received `execute_complete` there. */
  readonly isComplete?: boolean
}

/** The cursor of a reader that has received no event. */
export const atBeginning: Cursor = Object.freeze({ root: origin, children: new Map<string, EventPosition>() })

export function cursorAt(root: EventPosition): Cursor {
  return { root, children: atBeginning.children }
}

/** Children that a cursor names at most: it must fit into a header. */
export const mostChildren = 256

/** Returns a cursor as the id of a server-sent event: the position in the session's own log, then those of its children. */
export function writeCursor(sessionId: string, { root, children }: Cursor): string {
  let text = `${sessionId}:${writePosition(root)}`
  for (const [key, position] of children) text += ` ${key}=${writePosition(position)}`
  return text
}

const completeWord = 'complete'

/** Returns the id of `execute_complete` after the event with an id; undefined where no event had one. */
export function completeId(last: string | undefined): string {
  return last === undefined ? completeWord : `${last} ${completeWord}`
}

/**
 * Parses the id of the last event that a client received.
 *
 * @throws HttpError `invalid-event-id`
 */
export function givenCursor(sessionId: string, id: string): Cursor {
  const cursor = id.length > 10_000 ? undefined : readCursor(sessionId, id)
  if (cursor) return cursor
  throw new HttpError(400, {
    code: 'invalid-event-id',
    message: `The event id is not one of session ${sessionId.slice(0, 200)}.`,
    hint: 'Send the id of the last received event unchanged, or leave it out.',
  })
}

function readCursor(sessionId: string, id: string): Cursor | undefined {
  const words = id.split(' ')
  const isComplete = words.at(-1) === completeWord
  if (isComplete) words.pop()
  // It was the only event.
  if (isComplete && words.length === 0) return { ...atBeginning, isComplete }
  const children = new Map<string, EventPosition>()
  for (let word = words.at(-1) ?? ''; /^[0-9a-f]{12}=/u.test(word); word = words.at(-1) ?? '') {
    words.pop()
    const position = readPosition(word.slice(13))
    if (!position) return undefined
    children.set(word.slice(0, 12), position)
  }
  // The frames of a session have ids without the session.
  const given = words.join(' ')
  const root = readPosition(given) ?? positionIn(sessionId, given)
  return root && { root, children: new Map([...children].toReversed()), ...(isComplete && { isComplete }) }
}

function positionIn(sessionId: string, id: string): EventPosition | undefined {
  const own = placeOf(id)
  return own?.log === sessionId ? own.position : undefined
}
