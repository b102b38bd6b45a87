import type { AgentEvent } from '@provost/core'
import { assertNever } from '@provost/core'

import type { EventEnvelope, EventQueue } from '../types/log.ts'
import { numbered } from './event-envelope.ts'

/** Number of waiting events from which on deltas of the same part are joined. Other events are never dropped. */
export const queueLimit = 1024

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

  function take(): AgentEvent | undefined {
    if (head === tail) return undefined
    const event = queue[head]
    queue[head++] = undefined
    if (head === tail || head >= queueLimit) {
      // Compacts occasionally, so that each take has the same cost.
      if (head < tail) queue = queue.slice(head, tail)
      tail -= head
      head = 0
      if (deltas.size > 0) deltas.clear()
    }
    return event
  }

  function enqueue(unnumbered: EventEnvelope): void {
    if (tail - head < queueLimit) {
      // Later events follow this one: deltas are not joined with earlier ones.
      if (deltas.size > 0) deltas.clear()
      queue[tail++] = numbered(unnumbered, ++seq)
      return
    }
    const event = numbered(unnumbered, seq + 1)
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
    case 'agent.end':
    case 'agent.error':
    case 'agent.followup.queued':
    case 'agent.resumed':
    case 'agent.start':
    case 'agent.steered':
    case 'agent.suspended':
    case 'context.compacted':
    case 'evaluator.iteration':
    case 'extension':
    case 'fanout.child':
    case 'fanout.merged':
    case 'fanout.start':
    case 'file.generated':
    case 'governance.blocked':
    case 'governance.declassified':
    case 'governance.flagged':
    case 'handoff.end':
    case 'handoff.start':
    case 'input.requested':
    case 'input.resolved':
    case 'message.end':
    case 'message.start':
    case 'model.fallback':
    case 'model.retry':
    case 'progress.written':
    case 'reasoning.end':
    case 'reasoning.start':
    case 'source.cited':
    case 'step.end':
    case 'step.start':
    case 'text.end':
    case 'text.start':
    case 'tool.approval.requested':
    case 'tool.approval.resolved':
    case 'tool.call.end':
    case 'tool.call.start':
    case 'tool.execute.end':
    case 'tool.execute.error':
    case 'tool.execute.start':
    case 'tool.remote.requested':
    case 'tool.remote.resolved':
    case 'tool.skipped':
    case 'tool.uncertain':
    case 'turn.end':
    case 'turn.mode':
    case 'turn.start':
      return undefined
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
