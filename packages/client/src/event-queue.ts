import type { AgentEvent } from '@provost/core'

/** Events queued for an iterator. */
export interface EventQueue extends AsyncIterable<AgentEvent> {
  push(event: AgentEvent): void
  close(): void
}

/** Queued events from which on adjacent deltas are joined. */
const many = 1024

export function createEventQueue(): EventQueue {
  let waiting: AgentEvent[] = []
  let closed = false
  let notify: (() => void) | undefined

  function wake(): void {
    notify?.()
    notify = undefined
  }

  async function* iterate(): AsyncGenerator<AgentEvent> {
    for (;;) {
      const events = waiting
      waiting = []
      yield* events
      if (waiting.length > 0) continue
      if (closed) return
      await new Promise<void>((resolve) => (notify = resolve))
    }
  }

  return {
    push(event) {
      const last = waiting.at(-1)
      if (
        waiting.length >= many &&
        last?.type === 'text.delta' &&
        event.type === 'text.delta' &&
        last.messageId === event.messageId &&
        last.partId === event.partId
      ) {
        waiting[waiting.length - 1] = { ...event, delta: last.delta + event.delta }
      } else waiting.push(event)
      wake()
    },
    close() {
      closed = true
      wake()
    },
    [Symbol.asyncIterator]: iterate,
  }
}
