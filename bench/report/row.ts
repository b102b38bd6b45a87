import type { Summary } from '../measure.ts'

/** Whose figure it is. A `bound` is what no runtime can be faster than, such as the same rows written by hand. */
export type Side = 'ours' | 'peer' | 'bound'

/** What a figure should be at most. */
export interface Aim {
  readonly of: 'ratio' | 'median'
  readonly atMost: number
}

/** A measured figure. Less is better, always. */
export interface Measured {
  /** What rows are compared within: the same work. */
  readonly group: string
  readonly name: string
  readonly side: Side
  readonly unit: string
  readonly samples: number
  readonly min: number
  readonly median: number
  readonly max: number
  /** To the median of the baseline of the group. */
  readonly ratio?: number
  readonly aim?: Aim
}

/** A figure that is missing, and the reason. */
export interface Missing {
  readonly group: string
  readonly name: string
  readonly side: Side
  readonly missing: string
}

export type Row = Measured | Missing

/** How much is measured: all, a short form of it, or just enough to see that it runs. */
export type Effort = 'full' | 'short' | 'quick'

export interface BenchPlan {
  readonly effort: Effort
  progress(text: string): void
}

export interface Bench {
  readonly name: string
  /** The heading on the page. */
  readonly title: string
  /** What is measured and how, in sentences for the page. */
  readonly about: string
  run(plan: BenchPlan): Promise<readonly Row[]>
}

/** The value for the effort of a plan. */
export function of<T>(plan: BenchPlan, values: Readonly<Record<Effort, T>>): T {
  return values[plan.effort]
}

export function isMeasured(row: Row): row is Measured {
  return 'median' in row
}

/** What {@link rowsOf} and {@link rowOf} say of their rows. */
export interface About {
  readonly group: string
  readonly unit: string
  /** The row whose median the others are divided by. */
  readonly baseline?: string
  /** Aims by name. */
  readonly aims?: Readonly<Record<string, Aim>>
  /** What a value is multiplied with. Default 1. */
  readonly scale?: number
}

export interface Values {
  readonly name: string
  readonly side: Side
  readonly values: readonly number[]
}

/** Rows of one group from the values of each subject. */
export function rowsOf(subjects: readonly Values[], about: About): readonly Measured[] {
  return withRatios(
    subjects.map(({ name, side, values }) => {
      const sorted = values.toSorted((a, b) => a - b)
      const at = (index: number): number => sorted[index] ?? Number.NaN
      const median = (at((sorted.length - 1) >> 1) + at(sorted.length >> 1)) / 2
      return { name, side, samples: sorted.length, min: at(0), median, max: at(sorted.length - 1) }
    }),
    about,
  )
}

/** Rows of one group from what `compare` returns, by name. */
export function rowsOfSummaries(
  summaries: Readonly<Record<string, Summary>>,
  sideOf: (name: string) => Side,
  about: About,
): readonly Measured[] {
  return withRatios(
    Object.entries(summaries).map(([name, { cpuMs, lowest, highest, runs }]) => ({
      name,
      side: sideOf(name),
      samples: runs,
      min: lowest,
      median: cpuMs,
      max: highest,
    })),
    about,
  )
}

type Figures = Omit<Measured, 'group' | 'unit' | 'ratio' | 'aim'>

function withRatios(rows: readonly Figures[], { group, unit, baseline, aims, scale = 1 }: About): readonly Measured[] {
  const base = rows.find(({ name }) => name === baseline)?.median
  return rows.map((row) => {
    const aim = aims?.[row.name]
    return {
      ...row,
      group,
      unit,
      min: row.min * scale,
      median: row.median * scale,
      max: row.max * scale,
      ...(base !== undefined && { ratio: row.median / base }),
      ...(aim && { aim }),
    }
  })
}

/** One row of a figure that is exact, such as a size. */
export function exact(name: string, side: Side, value: number): Values {
  return { name, side, values: [value] }
}
