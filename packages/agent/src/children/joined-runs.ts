import { hash } from 'node:crypto'

import type { Grant, Label, UsageReport } from '@provost/core'
import { canonicalJson, joinLabels, toJson } from '@provost/core'

import type { Operation, Operations } from '../operations/operations.ts'
import type { Join } from '../tree/async-context.ts'
import { addSpent, remaining } from '../tree/budget.ts'
import { noSpending } from '../tree/reservations.ts'
import type { Spawner } from './spawn.ts'

/** The agents run by a work item of a fan-out. They are children of the run that fans out. */
export interface JoinedRuns {
  readonly join: Join
  /** Keys of all started agents, in their order. */
  readonly keys: readonly string[]
}

/**
 * Makes agents run by a work item children of the run that fans out. The same agent with the same input is the same
 * child when the work runs again after a crash. The work item waits while all of its agents wait.
 *
 * @param grant the budget that the work item shares with its agents.
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
  // Each agent may use the budget that the others leave.
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
    async join(agent, input, options) {
      const asked = hash('sha256', canonicalJson([agent.name, toJson(input)])).slice(0, 16)
      const before = counts.get(asked) ?? 0
      counts.set(asked, before + 1)
      const key = `${at}.${asked}.${before}`
      keys.push(key)
      moved(1, 0)
      try {
        const ends = options.signal ? AbortSignal.any([signal, options.signal]) : signal
        const onParkedChange = (now: boolean): void => moved(0, now ? 1 : -1)
        // The work item already holds a slot.
        const place = () => () => {}
        return await spawner.start(agent, input, { key, grant, signal: ends, onParkedChange, options, within }, place)
      } finally {
        moved(-1, 0)
      }
    },
  }
}

/** Returns the usage of agents that have ended. */
export function usagesOf(spawner: Spawner, keys: readonly string[]): readonly UsageReport[] {
  return keys.flatMap((key) => spawner.usageOf(key) ?? [])
}

/** Returns the join of the labels of agents. */
export function labelOfRuns(spawner: Spawner, keys: readonly string[], own: Label): Label {
  return joinLabels(own, ...keys.flatMap((key) => spawner.labelOf(key) ?? []))
}
