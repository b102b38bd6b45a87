import type { Followed, Turn } from './follow.ts'

/** A worker that was killed, and the logs that it could write. */
export interface Kill {
  /** When the signal was sent, and when the process was gone. */
  readonly at: number
  readonly goneAt: number
  readonly leased: readonly string[]
}

/** How long sessions waited for another process after theirs was killed, in milliseconds. */
export interface Takeovers {
  readonly takeovers: number
  /** The median. */
  readonly takeoverMs: number
  readonly takeoverLastMs: number
}

/** Returns whether a run was in progress at a time. */
export function wasRunning(turns: readonly Turn[], at: number): boolean {
  const last = turns.findLast((turn) => turn.at <= at)
  return last?.op === 'started' || last?.op === 'resumed'
}

/**
 * Measures from each SIGKILL to the first entry of another process in the sessions that the victim ran. Another process
 * begins with an entry of the run.
 */
export function takeovers(sessions: ReadonlyMap<string, Followed>, kills: readonly Kill[]): Takeovers {
  const waits = kills
    .flatMap(({ at, goneAt, leased }) =>
      leased.flatMap((id) => {
        const turns = sessions.get(id)?.turns ?? []
        const next = wasRunning(turns, goneAt) ? turns.find((turn) => turn.at > goneAt) : undefined
        return next ? [next.at - at] : []
      }),
    )
    .toSorted((a, b) => a - b)
  return {
    takeovers: waits.length,
    takeoverMs: Math.round(waits[Math.floor((waits.length - 1) / 2)] ?? 0),
    takeoverLastMs: Math.round(waits.at(-1) ?? 0),
  }
}
