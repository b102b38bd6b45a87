import { hash } from 'node:crypto'

import type { Grant, Label, UsageReport } from '@provost/core'
import { canonicalJson, joinLabels, toJson } from '@provost/core'

import type { Operation, Operations } from '../operations/operations.ts'
import type { Join } from '../tree/async-context.ts'
import { addSpent, remaining } from '../tree/budget.ts'
import { noSpending } from '../tree/reservations.ts'
import type { Spawner } from './spawn.ts'

/** The agents that are run in work of a fan-out: children of the run that fans out. */
export interface JoinedRuns {
  readonly join: Join
  /** Of all that were started, in their order. */
  readonly keys: readonly string[]
}

/**
 * Lets agents that are run in a piece of work join the run that fans out. The same agent asked the same is the same
 * child when the work is done again after a crash. While all of them wait for somebody, so does the work.
 *
 * @param grant what the piece of work may use with all of them.
 */
export function joinedRuns(
  spawner: Spawner,
  { setParked }: Operations,
  work: Operation,
  at: string,
  grant: Grant,
  signal: AbortSignal,
): JoinedRuns {
  const keys: string[] = []
  const counts = new Map<string, number>()
  let [open, waiting] = [0, 0]
  // Each may use what the others leave.
  const within = (): Grant => {
    return remaining(grant, keys.map((key) => spawner.spentOf(key)).reduce(addSpent, noSpending))
  }
  const moved = (opened: number, waits: number): void => {
    open += opened
    waiting += waits
    setParked(work, open > 0 && open === waiting)
  }
  return {
    keys,
    async join(agent, input, given) {
      const asked = hash('sha256', canonicalJson([agent.name, toJson(input)])).slice(0, 16)
      const before = counts.get(asked) ?? 0
      counts.set(asked, before + 1)
      const key = `${at}.${asked}.${before}`
      keys.push(key)
      moved(1, 0)
      try {
        const ends = given.signal ? AbortSignal.any([signal, given.signal]) : signal
        const waits = (now: boolean): void => moved(0, now ? 1 : -1)
        // The piece of work has its place among the children.
        const place = () => () => {}
        return await spawner.start(agent, input, { key, grant, signal: ends, waits, wanted: given, within }, place)
      } finally {
        moved(-1, 0)
      }
    },
  }
}

/** What agents have used that have ended. */
export function usagesOf(spawner: Spawner, keys: readonly string[]): readonly UsageReport[] {
  return keys.flatMap((key) => spawner.usageOf(key) ?? [])
}

/** The join over what agents have seen. */
export function labelOfRuns(spawner: Spawner, keys: readonly string[], own: Label): Label {
  return joinLabels(own, ...keys.flatMap((key) => spawner.labelOf(key) ?? []))
}
