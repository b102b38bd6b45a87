import type { SessionState } from '@provost/agent'
import { emptySessionState, newEntry, placeOf, reduceEntry } from '@provost/agent/internal'
import type { Entry, EntryBody, Lease, NewEntry, SessionStore } from '@provost/core'
import { clockOf, positionId, ProvostError, sleep, uuidv7 } from '@provost/core'

/** The log of a conversation in another loop. Its entries are those of a session, so that every reader of logs reads it. */
export interface GuardLog {
  readonly session: string
  /** The state after all entries, also those that are not written yet. */
  readonly state: SessionState
  /** Adds entries. They are written with the next {@link commit}. */
  add(entries: readonly NewEntry[]): void
  /** Adds an entry at the position of the run, with an id that no other entry has. */
  addHere(kind: string, body: EntryBody): void
  /** Returns the number of an entry that is added next. */
  nextOffset(): number
  /** Acquires the log, and reads what other processes added to it. */
  acquire(): Promise<void>
  /** Writes the added entries, and releases the log. */
  commit(): Promise<void>
  /** Releases the log without writing. The state is void after it. */
  abandon(): Promise<void>
}

/** Milliseconds after which another process may take the log of one that died. */
const leaseMs = 30_000
/** Milliseconds that another process may judge a call of the same conversation. */
const longestWaitMs = 5_000
const pollMs = 25

/** Returns the log of a session in a store. It is empty until it is acquired. */
export function guardLog(store: SessionStore, session: string): GuardLog {
  const owner = `guard-${uuidv7()}`
  const clock = clockOf(store)
  const state = emptySessionState(clock)
  let pending: Entry[] = []
  let written = 0
  let lease: Lease | undefined

  const nextOffset = (): number => written + pending.length + 1

  function add(entries: readonly NewEntry[]): void {
    for (const one of entries) {
      const entry: Entry = Object.freeze({ ...one, offset: nextOffset() })
      pending.push(entry)
      reduceEntry(state, entry)
    }
  }

  async function release(): Promise<void> {
    const held = lease
    lease = undefined
    pending = []
    if (held) await store.release(session, held.fence)
  }

  return {
    session,
    state,
    add,
    addHere(kind, body) {
      const place = placeOf(state)
      add([newEntry(place, positionId(place.runId, place.step, kind, nextOffset()), body)])
    },
    nextOffset,
    async acquire() {
      for (let left = longestWaitMs; ; left -= pollMs) {
        const given = await store.lease(session, owner, leaseMs)
        if (given !== 'busy') {
          lease = given
          break
        }
        if (left <= 0) throw busy(session)
        await sleep(clock, pollMs)
      }
      for await (const entry of store.read(session, written)) {
        reduceEntry(state, entry)
        written = entry.offset
      }
    },
    async commit() {
      if (!lease) throw busy(session)
      if (pending.length > 0) {
        const { offset } = await store.append(session, pending, { after: written, fence: lease.fence })
        if (offset !== written + pending.length) throw busy(session)
        written = offset
        pending = []
      }
      await release()
    },
    abandon: release,
  }
}

function busy(session: string): ProvostError {
  return new ProvostError('session-busy', `Another process writes the log of the conversation ${session}.`, {
    hint: 'Give each conversation an id of its own with the option "session".',
  })
}
