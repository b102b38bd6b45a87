/** The position of an event in a log: the n-th of the entry with this offset, or the n-th transient event after it. */
export interface EventPosition {
  readonly offset: number
  readonly n: number
  readonly passing: boolean
}

/** The position before the first event. */
export const origin: EventPosition = Object.freeze({ offset: 0, n: 0, passing: true })

/** A log name and a position. The limit of digits bounds what a client can send. */
const form = /^(.*):(\d{1,15}[.~]\d{1,15})$/su
const place = /^(\d{1,15})([.~])(\d{1,15})$/u

/** @returns undefined for an id that is not a position in a log, such as the token of a wait. */
export function placeOf(eventId: string): { readonly log: string; readonly position: EventPosition } | undefined {
  const [, log, text = ''] = form.exec(eventId) ?? []
  const position = readPosition(text)
  return log === undefined || !position ? undefined : { log, position }
}

export function readPosition(text: string): EventPosition | undefined {
  const [, offset, kind, n] = place.exec(text) ?? []
  return kind === undefined ? undefined : { offset: Number(offset), n: Number(n), passing: kind === '~' }
}

export function writePosition({ offset, n, passing }: EventPosition): string {
  return `${offset}${passing ? '~' : '.'}${n}`
}

/** Returns more than 0 if `a` comes after `b`. Transient events come after all events of their entry. */
export function compare(a: EventPosition, b: EventPosition): number {
  if (a.offset !== b.offset) return a.offset - b.offset
  if (a.passing !== b.passing) return a.passing ? 1 : -1
  return a.n - b.n
}
