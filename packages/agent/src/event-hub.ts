import type { AgentEvent, EventPayloads, EventType, Extension } from '@provost/core'
import { deepFreeze } from '@provost/core'

import type { EventQueue } from './event-queue.ts'
import { createEventQueue } from './event-queue.ts'
import { numbered } from './unnumbered.ts'
import type { EventPlace, Unnumbered } from './unnumbered.ts'

/** The observers who set an event off, one by reacting to the other. */
export type Reaction = readonly Extension[]
const nobody: Reaction = Object.freeze([])

/** Hands the events of a run to everybody who listens. */
export interface EventHub {
  /** Whether anybody listens: without, events need not be made. */
  active(): boolean
  emit<K extends EventType>(id: string, place: EventPlace, type: K, payload: EventPayloads[K], by?: Reaction): void
  /**
   * Listens for an observer, who does not hear what it set off itself: it would answer itself for ever.
   * @param types what it hears of; events of others count and are not made for it. Default: all.
   * @returns stops listening.
   */
  listen(
    observer: Extension,
    receive: (event: AgentEvent, by: Reaction) => void,
    types?: ReadonlySet<EventType>,
  ): () => void
  /** A bounded queue to iterate; it begins with the next event. */
  subscribe(): EventQueue
  /** Takes an event of a child: for those who follow the run, not for its own observers, whom the child may have too. */
  relay(event: Unnumbered, by: Reaction): void
  /**
   * Hears of children, for those who listen to the session, whom no child knows; one follower at most.
   * @param heeds whether anybody listens now.
   */
  follow(receive: (event: AgentEvent, by: Reaction) => void, heeds: () => boolean): void
  /** Whether anybody follows the run from outside. */
  followed(): boolean
  /** No event follows: iterations end. */
  close(): void
}

/**
 * Makes the hub of a run.
 *
 * @param parents run ids from the run above up to the root.
 * @param above the hub of the run above.
 */
export function createEventHub(parents: readonly string[], above?: EventHub): EventHub {
  const subscribers = new Set<(event: Unnumbered, by: Reaction) => void>()
  const queues = new Set<EventQueue>()
  const emitted: { readonly event: Unnumbered; readonly by: Reaction }[] = []
  let emitting = false
  /** After `agent.end` nothing follows, whatever a hook still throws or emits. */
  let ended = false
  let closed = false

  function send(event: Unnumbered, by: Reaction): void {
    for (const subscriber of subscribers) subscriber(event, by)
    above?.relay(event, by)
  }

  let follower: { hear(event: Unnumbered, by: Reaction): void; heeds(): boolean } | undefined

  return {
    active: () => subscribers.size > 0 || above?.followed() === true,
    followed: () => queues.size > 0 || follower?.heeds() === true || above?.followed() === true,

    relay(event, by) {
      if (closed || ended) return
      for (const queue of queues) queue.push(event)
      follower?.hear(event, by)
      above?.relay(event, by)
    },

    emit(id, place, type, payload, by = nobody) {
      if ((subscribers.size === 0 && above?.followed() !== true) || ended) return
      ended = type === 'agent.end'
      for (const key in payload) {
        const value = payload[key]
        if (typeof value === 'object' && value !== null) deepFreeze(value)
      }
      const event: Unnumbered = { type, id, place, parents, payload, last: undefined }
      if (emitting) {
        // A listener that emits: for everybody, its event follows the one it reacts to.
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
      const subscriber = (event: Unnumbered, by: Reaction): void => {
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
