import type { EventBus, EventEnvelope, EventQueue, Reaction } from '../types/log.ts'
import { numbered } from './event-envelope.ts'
import { createEventQueue } from './event-queue.ts'

const noObservers: Reaction = Object.freeze([])

/**
 * Creates the event bus of a run.
 *
 * @param parents run ids from the run above up to the root.
 * @param above the event bus of the run above.
 */
export function createEventBus(parents: readonly string[], above?: EventBus): EventBus {
  const subscribers = new Set<(event: EventEnvelope) => void>()
  const queues = new Set<EventQueue>()
  const emitted: EventEnvelope[] = []
  let emitting = false
  /** No event follows `agent.end`, even if a hook still throws or emits. */
  let ended = false
  let closed = false

  let follower: { hear(event: EventEnvelope): void; heeds(): boolean } | undefined

  return {
    active: () => subscribers.size > 0 || above?.followed() === true,
    followed: () => queues.size > 0 || follower?.heeds() === true || above?.followed() === true,

    forward(event) {
      if (closed || ended) return
      for (const queue of queues) queue.push(event)
      follower?.hear(event)
      above?.forward(event)
    },

    emit(id, meta, type, payload, by = noObservers) {
      if ((subscribers.size === 0 && above?.followed() !== true) || ended) return
      ended = type === 'agent.end'
      const event: EventEnvelope = { type, id, meta, parents, payload, by, last: undefined }
      if (emitting) {
        // A listener emits: for all listeners, its event follows the one it reacts to.
        emitted.push(event)
        return
      }
      emitting = true
      try {
        for (let next: EventEnvelope | undefined = event; next; next = emitted.shift()) {
          for (const subscriber of subscribers) subscriber(next)
          above?.forward(next)
        }
      } finally {
        emitting = false
      }
    },

    listen(observer, receive, types) {
      let seq = 0
      const subscriber = (event: EventEnvelope): void => {
        if (event.by.includes(observer)) return
        seq++
        if (types?.has(event.type) !== false) receive(numbered(event, seq), event.by)
      }
      subscribers.add(subscriber)
      return () => subscribers.delete(subscriber)
    },

    follow(receive, heeds) {
      let seq = 0
      follower = { hear: (event) => receive(numbered(event, ++seq), event.by), heeds }
    },

    subscribe() {
      const queue = createEventQueue(() => {
        subscribers.delete(queue.push)
        queues.delete(queue)
      })
      if (closed) queue.close()
      else {
        subscribers.add(queue.push)
        queues.add(queue)
      }
      return queue
    },

    isOver: () => ended || closed,

    close() {
      closed = true
      for (const queue of queues) queue.close()
      subscribers.clear()
    },
  }
}
