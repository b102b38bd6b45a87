import { logEvents } from '@provost/agent'
import type { LogEvents, SessionState } from '@provost/agent'
import type { Entry, EventOf, TransientBuffer, SessionStore } from '@provost/core'

import type { ClientRedaction } from '../http/public-errors.ts'
import type { FeedItem } from '../stream/event-feed.ts'
import { feedItem } from '../stream/event-feed.ts'
import { compare, origin } from '../stream/event-position.ts'
import type { ReadCursor, Sent } from '../stream/read-cursor.ts'
import { joined } from '../stream/read-cursor.ts'
import { eventsIn } from '../stream/transient-chunk.ts'

/** The log of a session and the logs of its children, read from their first entries. */
export interface SessionTree {
  /** State folded from the session's own log. */
  readonly state: SessionState
  /** End event of the last finished run. */
  readonly end: EventOf<'agent.end'> | undefined
  /** Yields the entries since the last call and the transient events after them, without what the reader has received. */
  read(place: ReadCursor): AsyncGenerator<readonly Sent[]>
}

interface Branch {
  readonly log: string
  readonly parents: readonly string[]
  readonly events: LogEvents
  /** Active children by their logs. */
  readonly children: Map<string, Branch>
}

/** Events in one batch. */
const batchSize = 64

/**
 * @param redaction removes from each event what clients may not receive.
 * @param buffer transient events that the store keeps.
 * @param retained returns the events that this process keeps. Without both, only durable events are read.
 */
export function sessionTree(
  store: SessionStore,
  sessionId: string,
  redaction: ClientRedaction,
  buffer?: TransientBuffer,
  retained: () => readonly FeedItem[] = () => [],
): SessionTree {
  const root = branchOf(sessionId, [])
  let end: EventOf<'agent.end'> | undefined

  function branchOf(log: string, parents: readonly string[]): Branch {
    return { log, parents, events: logEvents(sessionId, { log, parents }), children: new Map() }
  }

  const lastOf = ({ events }: Branch): number => events.state.entries.at(-1)?.offset ?? 0

  function itemsOf({ log }: Branch, logged: ReturnType<LogEvents['take']>): readonly FeedItem[] {
    return logged.map(({ event: whole, offset, n }) => {
      const event = redaction.event(whole)
      if (log === sessionId && event.type === 'agent.end') end = event
      const passes = event.id.startsWith('~', event.id.search(/[.~]\d+$/u))
      return feedItem(event, log, { position: { offset, n, passing: false }, ...(passes && { isUnpositioned: true }) })
    })
  }

  /** Returns the transient events of a log after the reader's position. */
  async function transientEventsOf({ log }: Branch, place: ReadCursor): Promise<readonly FeedItem[]> {
    const offset = place.at(log)?.offset ?? 0
    const stored = ((await buffer?.read(log, offset)) ?? []).flatMap(eventsIn)
    const kept = retained().filter((item) => item.log === log && item.position?.passing && offsetOf(item) >= offset)
    // The reader takes an event once, also if both have it.
    return kept.length === 0 ? stored : [...stored, ...kept].toSorted(inOrder)
  }

  async function* readBranch(branch: Branch, place: ReadCursor): AsyncGenerator<FeedItem> {
    const { log, events } = branch
    let passing: readonly FeedItem[] | undefined
    let next = 0
    const from = lastOf(branch)
    for await (const entry of store.read(log, from)) {
      const items = itemsOf(branch, events.take(entry))
      // The events of a run's start are due when the next entry comes.
      const late = items.filter((item) => offsetOf(item) < entry.offset)
      yield* late
      if (entry.offset > (place.at(log)?.offset ?? 0)) {
        // Transient events before an entry precede the events of the entry.
        passing ??= await transientEventsOf(branch, place)
        for (; offsetOf(passing[next]) < entry.offset && next < passing.length; next++) {
          yield* passing.slice(next, next + 1)
        }
      }
      yield* readChildren(branch, entry, place)
      yield* late.length > 0 ? items.slice(late.length) : items
    }
    yield* itemsOf(branch, events.end())
    const rest = lastOf(branch) > 0 ? await transientEventsOf(branch, place) : []
    for (const item of rest) {
      // It follows an entry that is not read yet and comes with that entry.
      if (offsetOf(item) > lastOf(branch)) break
      yield item
    }
    for (const child of branch.children.values()) {
      place.opened(child.log)
      yield* readBranch(child, place)
    }
  }

  /** Yields the events of the children that an entry names: a finished child is read to its end first. */
  async function* readChildren(branch: Branch, entry: Entry, place: ReadCursor): AsyncGenerator<FeedItem> {
    const { log, parents, children } = branch
    if (entry.type === 'child' && entry.op === 'spawned') {
      children.set(entry.log, branchOf(entry.log, [entry.runId, ...parents]))
      return
    }
    const over = overAt(entry, children)
    for (const child of over) {
      children.delete(child.log)
      const seen = (place.at(log)?.offset ?? 0) >= entry.offset && place.at(child.log) === undefined
      if (seen) continue
      place.opened(child.log)
      yield* readBranch(child, place)
    }
  }

  return {
    get state() {
      return root.events.state
    },
    get end() {
      return end
    },
    async *read(place) {
      let batch: Sent[] = []
      for await (const item of readBranch(root, place)) {
        const sent = place.take(item, true)
        if (sent) batch.push(sent)
        if (batch.length < batchSize) continue
        yield joined(batch)
        batch = []
      }
      if (batch.length > 0) yield joined(batch)
    },
  }
}

function inOrder({ position: a = origin }: FeedItem, { position: b = origin }: FeedItem): number {
  return compare(a, b)
}

function offsetOf(item: FeedItem | undefined): number {
  return item?.position?.offset ?? 0
}

function overAt(entry: Entry, children: ReadonlyMap<string, Branch>): readonly Branch[] {
  if (entry.type === 'run' && entry.op === 'ended') return [...children.values()]
  if (entry.type !== 'child' || entry.op !== 'joined' || entry.status === 'suspended') return []
  const child = children.get(entry.log)
  return child ? [child] : []
}
