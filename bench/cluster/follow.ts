import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from 'provost'
import type { Agent, Entry, SessionStore } from 'provost'

/** What the log of a session says so far. */
export interface Followed {
  readonly id: string
  /** Undefined before its first run. */
  readonly status: string | undefined
  /** Its run; empty before the first one. */
  readonly runId: string
  /** Tokens of the approvals that it waits for. */
  readonly open: ReadonlySet<string>
  /** Starts, rests, continuations and ends of its run, in order. */
  readonly turns: readonly Turn[]
}

/** A change of a run, and the first entry of each process that continues it. */
export interface Turn {
  readonly op: 'started' | 'resumed' | 'suspended' | 'ended'
  readonly at: number
}

/** Reads the logs of sessions, each entry once, and approves what they ask. */
export interface Follower {
  readonly sessions: ReadonlyMap<string, Followed>
  /** Creates a session and gives it work, without running it. */
  begin(id: string, principal: string): Promise<void>
  /** Reads what is new in the logs of sessions that have not ended, and answers their questions. */
  look(): Promise<void>
  /** Ids of the sessions that have not ended, and do not wait for an answer that never comes. */
  unfinished(): readonly string[]
}

/** What sessions are asked to do, and what their questions are answered. */
export interface Following {
  /** Returns the input of a session. Default: `Pay all.` */
  inputOf?(id: string): string
  /** Returns the answer to the questions of a session; `never` leaves them open. Default: `approve`. */
  answerOf?(id: string): 'approve' | 'deny' | 'never'
}

/** Whether a run has ended, by its status in {@link Followed}. */
export const isOver = (status: string | undefined): status is string =>
  status === 'completed' || status === 'failed' || status === 'aborted'

/** Retries what the store refuses while it is away. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries > 100) throw error
      await sleep(200)
    }
  }
}

interface Reading {
  readonly id: string
  status: string | undefined
  runId: string
  readonly open: Set<string>
  readonly turns: Turn[]
  offset: number
}

/** Creates a follower of the sessions that it begins. */
export function followSessions(
  store: SessionStore,
  agent: Agent,
  { inputOf = () => 'Pay all.', answerOf = () => 'approve' }: Following = {},
): Follower {
  const sessions = new Map<string, Reading>()

  function note(session: Reading, entry: Entry): void {
    session.offset = entry.offset
    if (entry.type === 'wait' && entry.kind === 'approval') session.open.add(entry.token)
    if (entry.type === 'resolved') session.open.delete(entry.token)
    if (entry.type !== 'run') return
    session.runId = entry.runId
    session.status = entry.op === 'ended' ? entry.status : entry.op
    session.turns.push({ op: entry.op, at: entry.at })
  }

  async function read(session: Reading): Promise<void> {
    for await (const entry of store.read(session.id, session.offset)) note(session, entry)
    const decision = answerOf(session.id)
    if (decision === 'never') return
    for (const token of session.open) {
      await store.deliver(session.id, token, { decision }, 'boss')
      session.open.delete(token)
    }
  }

  async function create(id: string, principal: string): Promise<void> {
    try {
      await (await agent.createSession({ id, principal: { id: principal } })).close()
    } catch (error) {
      // The store accepted it as its answer was lost.
      if (!(error instanceof ProvostError) || error.code !== 'session-exists') throw error
    }
  }

  const waits = ({ id, status, open }: Reading): boolean =>
    status === 'suspended' && open.size > 0 && answerOf(id) === 'never'

  const unfinished = (): readonly string[] =>
    [...sessions.values()].flatMap((session) => (isOver(session.status) || waits(session) ? [] : [session.id]))

  return {
    sessions,
    unfinished,
    async begin(id, principal) {
      await patiently(() => create(id, principal))
      await patiently(() => store.deliver(id, 'send/1', { mode: 'queue', input: inputOf(id) }, principal))
      sessions.set(id, { id, status: undefined, runId: '', open: new Set(), turns: [], offset: 0 })
    },
    async look() {
      for (const id of unfinished()) {
        const session = sessions.get(id)
        if (session) await patiently(() => read(session))
      }
    },
  }
}
