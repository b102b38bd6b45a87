import { logEvents } from '@provost/agent'
import type { AgentEvent, Entry, SessionStore } from '@provost/core'
import { parentLogOf } from '@provost/sessions'

import { entriesOf } from './recorded-session.ts'

/** Logs that one session may have, so that a damaged store cannot lead through endless ones. */
const mostLogs = 10_000

/**
 * Yields the durable events of a session: those of a child follow the event that started it.
 *
 * @param entries of the session's own log.
 */
export async function* sessionEvents(
  store: SessionStore,
  sessionId: string,
  entries: readonly Entry[],
): AsyncGenerator<AgentEvent> {
  const seen = new Set([sessionId])

  async function* eventsOf(log: string, own: readonly Entry[], parents: readonly string[]): AsyncGenerator<AgentEvent> {
    const events = logEvents(sessionId, { log, parents })
    for (const entry of own) {
      for (const { event } of events.take(entry)) yield event
      if (entry.type === 'child' && !seen.has(entry.log) && seen.size < mostLogs) {
        seen.add(entry.log)
        const child = await entriesOf(store, entry.log)
        // An entry may name a separate session as its child.
        if (parentLogOf(child[0]) === log) yield* eventsOf(entry.log, child, [entry.runId, ...parents])
      }
    }
    for (const { event } of events.end()) yield event
  }

  yield* eventsOf(sessionId, entries, [])
}
