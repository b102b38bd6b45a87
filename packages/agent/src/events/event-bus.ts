import { deepFreeze } from '@provost/core'

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
  const subscribers = new Set<(event: EventEnvelope, by: Reaction) => void>()
  const queues = new Set<EventQueue>()
  const emitted: { readonly event: EventEnvelope; readonly by: Reaction }[] = []
  let emitting = false
  /** No event follows `agent.end`, even if a hook still throws or emits. */
  let ended = false
  let closed = false

  function send(event: EventEnvelope, by: Reaction): void {
    for (const subscriber of subscribers) subscriber(event, by)
    above?.forward(event, by)
  }

  let follower: { hear(event: EventEnvelope, by: Reaction): void; heeds(): boolean } | undefined

  return {
    active: () => subscribers.size > 0 || above?.followed() === true,
    followed: () => queues.size > 0 || follower?.heeds() === true || above?.followed() === true,

    forward(event, by) {
      if (closed || ended) return
      for (const queue of queues) queue.push(event)
      follower?.hear(event, by)
      above?.forward(event, by)
    },

    emit(id, meta, type, payload, by = noObservers) {
      if ((subscribers.size === 0 && above?.followed() !== true) || ended) return
      ended = type === 'agent.end'
      for (const key in payload) {
        const value = payload[key]
        if (typeof value === 'object' && value !== null) deepFreeze(value)
      }
      const event: EventEnvelope = { type, id, meta, parents, payload, last: undefined }
      if (emitting) {
        // A listener emits: for all listeners, its event follows the one it reacts to.
        emitted.push({ event, by })
        return
      }
      emitting = true
      try {
        send(event, by)
        for (let next = emitted.shift(); next; next = emitted.shift()) send(next.event, next.by)
      } finally {
        emitting = false
      }
    },

    listen(observer, receive, types) {
      let seq = 0
      const subscriber = (event: EventEnvelope, by: Reaction): void => {
        if (by.includes(observer)) return
        seq++
        if (types?.has(event.type) !== false) receive(numbered(event, seq), by)
      }
      subscribers.add(subscriber)
      return () => subscribers.delete(subscriber)
    },

    follow(receive, heeds) {
      let seq = 0
      follower = { hear: (event, by) => receive(numbered(event, ++seq), by), heeds }
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

    close() {
      closed = true
      for (const queue of queues) queue.close()
      subscribers.clear()
    },
  }
}
