import type { AgentEvent } from '@provost/core'
import { assertNever, hasTrait } from '@provost/core'

import type { EventEnvelope, EventQueue } from '../types/log.ts'
import { numbered } from './event-envelope.ts'

/** Number of waiting events from which on deltas of the same part are joined. Other events are never dropped. */
const queueLimit = 1024

/**
 * Creates the queue of one reader.
 *
 * @param left called when the reader leaves before the end.
 */
export function createEventQueue(left: () => void): EventQueue {
  /**
   * Waiting events are between `head` and `tail`; slots before `head` are free, and reused once all events are read.
   */
  let queue: (AgentEvent | undefined)[] = []
  let head = 0
  let tail = 0
  let seq = 0
  let closed = false
  /** Index of the last delta of each part in the queue, while it is over its limit. */
  const deltas = new Map<string, number>()
  const readers: ((result: IteratorResult<AgentEvent, undefined>) => void)[] = []

  /** Adds an event to a queue that is over its limit. */
  function enqueueJoined(envelope: EventEnvelope): void {
    const event = numbered(envelope, seq + 1)
    const key = deltaKey(event)
    const at = key === undefined ? undefined : deltas.get(key)
    const earlier = at === undefined ? undefined : queue[at]
    if (at !== undefined && earlier) {
      // Joined before it is numbered, so that the reader sees no gap.
      queue[at] = joinDeltas(earlier, event)
      return
    }
    seq++
    if (key !== undefined) deltas.set(key, tail)
    queue[tail++] = event
  }

  function end(): void {
    closed = true
    for (const reader of readers.splice(0)) reader({ value: undefined, done: true })
  }

  const iterator: AsyncIterator<AgentEvent, undefined> = {
    next() {
      const value = queue[head]
      if (value) {
        queue[head++] = undefined
        if (head === tail || head >= queueLimit) {
          // Compacts occasionally, so that each event has the same cost.
          if (head < tail) queue = queue.slice(head, tail)
          tail -= head
          head = 0
          if (deltas.size > 0) deltas.clear()
        }
        return Promise.resolve({ value, done: false })
      }
      if (closed) return Promise.resolve({ value: undefined, done: true })
      return new Promise((resolve) => readers.push(resolve))
    },
    return() {
      left()
      queue = []
      head = tail = 0
      end()
      return Promise.resolve({ value: undefined, done: true })
    },
  }

  return {
    push(event) {
      if (closed) return
      const reader = readers.shift()
      if (reader) reader({ value: numbered(event, ++seq), done: false })
      else if (tail - head < queueLimit) {
        // Later events follow this one: deltas are not joined with earlier ones.
        if (deltas.size > 0) deltas.clear()
        queue[tail++] = numbered(event, ++seq)
      } else enqueueJoined(event)
    },
    close: end,
    [Symbol.asyncIterator]: () => iterator,
  }
}

/** Returns which deltas are joined with this one. */
function deltaKey(event: AgentEvent): string | undefined {
  if (!hasTrait(event, 'grows')) return undefined
  switch (event.type) {
    case 'text.delta':
    case 'reasoning.delta':
      return `${event.messageId}/${event.attempt}/${event.partId}`
    case 'tool.call.delta':
      return `${event.callId}/${event.attempt}/input`
    case 'tool.execute.partial':
      return `${event.callId}/${event.delta === undefined ? 'value' : 'delta'}`
    case 'tool.execute.progress':
      return `${event.callId}/progress`
    default:
      return assertNever(event)
  }
}

/** Joins two deltas of one part under the number of the first: text is appended, a value is replaced. */
function joinDeltas(earlier: AgentEvent, later: AgentEvent): AgentEvent {
  if ('delta' in later && later.delta !== undefined && 'delta' in earlier && earlier.delta !== undefined) {
    return Object.freeze({ ...later, seq: earlier.seq, delta: earlier.delta + later.delta })
  }
  return Object.freeze({ ...later, seq: earlier.seq })
}
