import type { Conditions, Machine } from './machine.ts'
import { isMeasured } from './row.ts'
import type { Effort, Measured, Row } from './row.ts'

/** The rows of one bench. */
export interface Section extends Conditions {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly effort: Effort
  readonly seconds: number
  readonly rows: readonly Row[]
}

export interface Results {
  readonly bench: 'all'
  readonly machine: Machine
  readonly sections: readonly Section[]
}

/** The groups of rows in their order. */
export function groupsOf(rows: readonly Row[]): readonly (readonly [group: string, rows: readonly Row[]])[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const known = groups.get(row.group)
    if (known) known.push(row)
    else groups.set(row.group, [row])
  }
  return [...groups]
}

/** An aim with what was measured. */
export interface Verdict {
  readonly section: string
  readonly row: Measured
  readonly measured: number
  readonly atMost: number
  readonly of: 'ratio' | 'median'
  readonly met: boolean
}

export function verdictsOf({ sections }: Results): readonly Verdict[] {
  return sections.flatMap(({ title, rows }) =>
    rows.filter(isMeasured).flatMap((row) => {
      if (!row.aim) return []
      const { of, atMost } = row.aim
      const measured = of === 'ratio' ? (row.ratio ?? Number.NaN) : row.median
      return [{ section: title, row, measured, atMost, of, met: measured <= atMost }]
    }),
  )
}

/** A peer that is ahead of the best row of ours in a group. */
export interface Loss {
  readonly section: string
  readonly group: string
  readonly ours: Measured
  readonly peer: Measured
  /** Of ours to theirs. */
  readonly times: number
}

/** Less than this is noise: two equal programs in one process differ by 5 %. */
const noise = 1.05

export function lossesOf({ sections }: Results): readonly Loss[] {
  return sections.flatMap(({ title, rows }) =>
    groupsOf(rows).flatMap(([group, all]) => {
      const measured = all.filter(isMeasured)
      // The first of ours is the plain one.
      const ours = measured.find(({ side }) => side === 'ours')
      if (!ours) return []
      return measured
        .filter(({ side, median }) => side === 'peer' && ours.median > median * noise)
        .map((peer): Loss => ({ section: title, group, ours, peer, times: ours.median / peer.median }))
    }),
  )
}
