import type { Usage } from '../messages/usage.ts'
import type { Timestamp } from '../values/json.ts'
import type { EntryOf } from './entry.ts'
import type { SessionStatus } from './run-status.ts'
import type { SessionInfo } from './run.ts'

/** What rules decided about the calls of one tool. */
export interface VerdictCount {
  /** The rule that an audit entry names; else the `by` of the decision, such as `default` or the name of a tool. */
  readonly rule: string
  /** Empty for an answer of the model. */
  readonly toolName: string
  readonly allowed: number
  /** Calls about which a human was asked. */
  readonly asked: number
  /** Of `asked`: approved by the human. */
  readonly approved: number
  /** Of `asked`: denied by the human, or without an answer in time. */
  readonly refused: number
  /** Denied without a question. */
  readonly denied: number
  readonly declassified: number
  /** Decisions that a policy in shadow mode would have made. */
  readonly flagged: number
}

/** What one agent used of one model on one day. */
export interface SpendCount {
  /** UTC day: `2026-11-24`. */
  readonly day: string
  readonly agent: string
  /** `provider/model`. */
  readonly model: string
  readonly usage: Usage
  /** US dollars of the calls whose price is known. */
  readonly cost: number
  /** Model calls of the session itself; those of children are in `steps` of the summary. */
  readonly calls: number
  /** The price of a call is unknown. */
  readonly unpriced?: true
  /** Of `usage`: failed attempts that were billed. */
  readonly discarded?: Usage
}

/** A wait that is open, and where its log tells about it. */
export interface OpenWait {
  /** The id of the wait. */
  readonly token: string
  readonly kind: EntryOf<'wait'>['kind']
  readonly agent: string
  readonly toolName: string
  readonly at: Timestamp
  /** The offset of the `wait` entry. */
  readonly offset: number
  /** The offset of the entry that has the arguments of the call: its message, or its `planned` entry. */
  readonly from: number
  readonly callId?: string
  /** The call of the child that waits. */
  readonly childCallId?: string
  readonly rule?: string
}

/** A session as lists, searches and sums show it: a fold of its main log. */
export interface SessionSummary extends SessionInfo {
  /** The first text that the session received, in one line of at most 200 characters; empty for a secret one. */
  readonly title: string
  readonly createdAt: Timestamp
  /** The offset of the last entry that the summary contains. */
  readonly offset: number
  /** Model responses, with those of children. */
  readonly steps: number
  /** Open waits, in the order in which they were opened. */
  readonly waits: readonly OpenWait[]
  readonly verdicts: readonly VerdictCount[]
  readonly spend: readonly SpendCount[]
  /** The session of which it is a fork. */
  readonly forkedFrom?: string
}

/** A place in the list of summaries, newest first. */
export interface SummaryPlace {
  readonly updatedAt: Timestamp
  readonly id: string
}

/** Which summaries a list has. Fields narrow it together. */
export interface SummaryFilter {
  /** Only summaries after this place of the list: older ones. */
  readonly before?: SummaryPlace
  /** Part of the title, in any case of letters, or the id. */
  readonly q?: string
  readonly status?: SessionStatus
  readonly agent?: string
  readonly principal?: string
  /** Sessions in which this rule decided something. */
  readonly rule?: string
  /** Updated at this time or later. */
  readonly from?: Timestamp
  /** Updated before this time. */
  readonly to?: Timestamp
  /** Summaries at most; default all. */
  readonly limit?: number
}

/** An open wait with its session. */
export interface SessionWait {
  readonly sessionId: string
  readonly wait: OpenWait
}

/** A place in the list of open waits, oldest first. */
export interface WaitPlace {
  readonly at: Timestamp
  readonly token: string
}

/** Summaries that changed, and the mark of the next look. */
export interface SummaryChanges {
  readonly sessions: readonly SessionSummary[]
  readonly mark: string
}

/**
 * The summaries of a store's sessions. A cache beside the logs: dropping it loses nothing, since a fold makes it again.
 * Logs of compensations are listed too, as `list` of the store lists them.
 */
export interface SessionSummaries {
  /** Returns summaries, newest first: by `updatedAt`, then by id. */
  list(filter?: SummaryFilter): Promise<readonly SessionSummary[]>
  get(sessionId: string): Promise<SessionSummary | undefined>
  /** Returns open waits of all sessions that are not in quarantine, oldest first. */
  waits(options: { readonly after?: WaitPlace; readonly limit: number }): Promise<readonly SessionWait[]>
  /**
   * Returns the summaries that changed since a mark, each with its latest state. Some may come twice.
   *
   * @param mark of the look before; absent: returns the present mark and no summaries.
   */
  changes(mark?: string): Promise<SummaryChanges>
}
