import type { AgentEvent, EventBase, EventPayloads, EventType } from '@provost/core'

/** Where and when an event happened. A log entry says so of the events that belong to it. */
export type EventPlace = Pick<EventBase, 'runId' | 'step' | 'agent' | 'at'>

/** An event that only its reader's number is missing from: each reader counts for itself. */
export interface Unnumbered<K extends EventType = EventType> {
  readonly type: K
  readonly id: string
  readonly place: EventPlace
  readonly parents: readonly string[]
  readonly payload: EventPayloads[K]
  /** As it was last numbered: whoever follows from the start counts the same. */
  last: AgentEvent | undefined
}

/** The event as the reader gets it for whom it is the `seq`-th. */
export function numbered(event: Unnumbered, seq: number): AgentEvent {
  if (event.last?.seq === seq) return event.last
  const { type, id, place, parents, payload } = event
  const { runId, step, agent, at } = place
  const made: unknown = Object.freeze({ seq, type, id, runId, step, agent, parents, at, ...payload })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- K ties type and payload together; the compiler cannot see that their sum is a member of the union
  return (event.last = made as AgentEvent)
}
