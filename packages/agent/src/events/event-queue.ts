import type { AgentEvent } from '@provost/core'

import type { EventEnvelope, EventQueue } from '../types/log.ts'
import { numbered } from './event-envelope.ts'

/** How many events wait for a slow reader before deltas of the same part are joined. Other events are never dropped. */
export const queueLimit = 1024

/**
 * Makes a reader's queue.
 *
 * @param left is called when the reader leaves before the end.
 */
export function createEventQueue(left: () => void): EventQueue {
  /** What waits stands from `head` to `tail`; the places before are free, and used again once all is read. */
  let queue: (AgentEvent | undefined)[] = []
  let head = 0
  let tail = 0
  let seq = 0
  let closed = false
  /** Where the last delta of a part stands in the queue, while it is over its limit. */
  const deltas = new Map<string, number>()
  const readers: ((result: IteratorResult<AgentEvent, undefined>) => void)[] = []

  function take(): AgentEvent | undefined {
    if (head === tail) return undefined
    const event = queue[head]
    queue[head++] = undefined
    if (head === tail || head >= queueLimit) {
      // Now and then, so that taking costs the same for each.
      if (head < tail) queue = queue.slice(head, tail)
      tail -= head
      head = 0
      if (deltas.size > 0) deltas.clear()
    }
    return event
  }

  function enqueue(unnumbered: EventEnvelope): void {
    if (tail - head < queueLimit) {
      // What comes from here on stands behind it: nothing is joined to what came before.
      if (deltas.size > 0) deltas.clear()
      queue[tail++] = numbered(unnumbered, ++seq)
      return
    }
    const event = numbered(unnumbered, seq + 1)
    const key = deltaKey(event)
    const at = key === undefined ? undefined : deltas.get(key)
    const earlier = at === undefined ? undefined : queue[at]
    if (at !== undefined && earlier) {
      // Joined before it counts, so that the reader sees no gap.
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
      const event = take()
      if (event) return Promise.resolve({ value: event, done: false })
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
      else enqueue(event)
    },
    close: end,
    [Symbol.asyncIterator]: () => iterator,
  }
}

function deltaKey(event: AgentEvent): string | undefined {
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
      return undefined
  }
}

/** Two deltas of one part as one, under the number of the first: text grows, a value gives way to the later one. */
function joinDeltas(earlier: AgentEvent, later: AgentEvent): AgentEvent {
  if ('delta' in later && later.delta !== undefined && 'delta' in earlier && earlier.delta !== undefined) {
    return Object.freeze({ ...later, seq: earlier.seq, delta: earlier.delta + later.delta })
  }
  return Object.freeze({ ...later, seq: earlier.seq })
}
