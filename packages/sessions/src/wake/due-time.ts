import type { ClaimOptions, DueSession, LeaseState } from '@provost/core'

import type { RunChange } from '../kit/session-info.ts'

/** Milliseconds after which a run is due whose lease was released. A process that only read it takes its lease within them. */
export const releasedMs = 500
/** Due times are spread over this share of their delay, so that the sessions of a dead process do not come back all at once. */
export const jitterShare = 0.2

/** Returns a delay with a random part. */
export function withJitter(ms: number): number {
  return ms * (1 + Math.random() * jitterShare)
}

/** What a store knows of a log when an append changes its run. */
export interface WakePlace {
  /** Number of the last delivery. */
  readonly mail: number
  /** When a run in progress is due: after the end of its lease. Undefined for a lease without an end. */
  readonly leased: number | undefined
  readonly now: number
}

/** Returns when a session is due after an append that changes its run; undefined for never. */
export function dueAfter({ status, due, seen }: RunChange, { mail, leased, now }: WakePlace): number | undefined {
  if (status === 'running') return leased
  if (status === 'suspended') return seen === undefined || mail > seen ? now : due
  return seen !== undefined && mail > seen ? now : due
}

/** A session that may be claimed. */
export interface DueRow<K> {
  readonly key: K
  readonly due: number
  readonly principal: string | undefined
}

/**
 * Selects the sessions of a claim: those of different principals take turns, and each principal's come in the order of
 * their due times.
 */
export function inTurns<R extends DueRow<unknown>>(rows: readonly R[], limit: number): readonly R[] {
  const turns = new Map<string | undefined, number>()
  const ranked = rows
    .toSorted((a, b) => a.due - b.due)
    .map((row) => {
      const turn = (turns.get(row.principal) ?? 0) + 1
      turns.set(row.principal, turn)
      return { row, turn }
    })
  return ranked
    .toSorted((a, b) => a.turn - b.turn || a.row.due - b.row.due)
    .slice(0, limit)
    .map(({ row }) => row)
}

/** Rows that a claim compares: more than it takes, so that a principal with many due sessions does not fill it. */
export function claimWindow({ limit }: Pick<ClaimOptions, 'limit'>): number {
  return Math.min(Math.max(limit * 4, 64), 1_024)
}

/** Returns when a due session with a living writer is looked at again. */
export function dueBehind({ until }: LeaseState, now: number, hiddenMs: number): number {
  return Math.min(now + withJitter(hiddenMs), until === undefined ? Number.POSITIVE_INFINITY : until + 1)
}

/** Returns a claimed session. */
export function dueSession(id: string, agent: string, principal: string | undefined, takeovers: number): DueSession {
  return { id, agent, takeovers, ...(principal !== undefined && { principal }) }
}
