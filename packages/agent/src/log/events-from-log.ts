import type { AgentEvent, Entry, EventPayloads, EventType } from '@provost/core'

import { numbered } from '../events/event-envelope.ts'
import { reduceEntry } from '../reducers/reducer.ts'
import type { EmitDurable, EventMeta } from '../types/log.ts'
import type { SessionState } from '../types/session-state.ts'
import { logSnapshot } from './log-snapshot.ts'

/**
 * An event and its position in the log: the n-th event of the entry with this offset. The start of an answer mostly streams
 * before the answer is recorded. It is not counted and has the number of the event behind it.
 */
export interface LoggedEvent {
  readonly offset: number
  readonly n: number
  readonly event: AgentEvent
}

const noParents: readonly string[] = Object.freeze([])

/** Rebuilds the events of a session from its log. */
export interface LogEvents {
  /** The state of the session after the entries taken so far. */
  readonly state: SessionState
  /** @param entry the next entry of the log, starting with the first. */
  take(entry: Entry): readonly LoggedEvent[]
  /** Returns the remaining events. Call it when the log has no further entry. */
  end(): readonly LoggedEvent[]
}

/** Options for the log of a child. */
export interface LogEventsOptions {
  /** The name of the log. Default: the session's own log. */
  readonly log?: string | undefined
  /** Run ids from the parent up to the root. */
  readonly parents?: readonly string[] | undefined
}

/**
 * Returns a reader that rebuilds the durable events of a session from its log. They equal the live events and have the same
 * ids. Transient events (deltas, progress) are not in a log. `seq` counts the events of this reader.
 *
 * @example
 * const events = logEvents(sessionId)
 * for await (const entry of store.read(sessionId)) for (const { event } of events.take(entry)) show(event)
 */
export function logEvents(sessionId: string, options: LogEventsOptions = {}): LogEvents {
  const { log = sessionId, parents = noParents } = options
  const { state, projection } = logSnapshot(sessionId)
  let meta: EventMeta | undefined
  let n = 0
  let passing = 0
  let seq = 0
  let out: LoggedEvent[] = []

  function tell<K extends EventType>(id: string, type: K, payload: EventPayloads[K]): void {
    if (!meta) return
    out.push({
      offset: state.offset,
      n,
      event: numbered({ type, id, meta, parents, payload, by: [], last: undefined }, ++seq),
    })
  }

  const emit: EmitDurable = Object.assign(
    <K extends EventType>(type: K, payload: EventPayloads[K]) => {
      tell(`${log}:${state.offset}.${n}`, type, payload)
      n++
    },
    {
      streamed: <K extends EventType>(type: K, payload: EventPayloads[K]) =>
        tell(`${log}:${state.offset}~${passing++}`, type, payload),
    },
  )

  function taken(): readonly LoggedEvent[] {
    const events = out
    out = []
    return events
  }

  return {
    state,
    take(entry) {
      if (entry.offset <= state.offset) return []
      projection.before(entry, emit)
      reduceEntry(state, entry)
      meta = entry
      n = 0
      passing = 0
      projection.project(entry, emit)
      return taken()
    },
    end() {
      projection.flush(emit)
      return taken()
    },
  }
}
