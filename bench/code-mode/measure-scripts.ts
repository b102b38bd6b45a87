import { setTimeout as sleep } from 'node:timers/promises'

import { median } from '../measure.ts'
import type { Contender } from './contender.ts'
import { inTurns, timed } from './turns.ts'
import type { Plan } from './turns.ts'

const rows = Array.from({ length: 9000 }, (_, id) => ({
  id,
  name: `name ${id}`,
  text: 'x'.repeat(60),
  on: id % 3 === 0,
}))
export const tools = {
  add: ({ a, b }: { a: number; b: number }) => a + b,
  slow: ({ ms }: { ms: number }) => sleep(ms, ms),
  rows: () => rows,
  few: () => rows.slice(0, 100),
}
const n = 1000
const sequential = `let sum = 0; for (let i = 0; i < ${n}; i++) sum += await tools.add({ a: i, b: 1 }); return sum`
const batched = `const all = await Promise.all(Array.from({ length: ${n} }, (_, i) => tools.add({ a: i, b: 1 }))); return all.length`
const parallel = `const all = await Promise.all(Array.from({ length: 10 }, () => tools.slow({ ms: 50 }))); return all.length`
const large = `const rows = await tools.rows(); return rows.filter((row) => row.on).length`

const p95 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
/** Three digits after the point. */
export const round = (value: number): number => Math.round(value * 1000) / 1000

const warmUp = { warmUps: 40, warmUpMs: 3000 }

interface Measured extends Plan {
  readonly name: string
  readonly source: string
  /** What one run is divided by. */
  readonly per: number
}

/** What is measured, with so many rounds. */
function measuredIn(few: number): readonly Measured[] {
  return [
    { name: 'warmMs', source: 'return 1', per: 1, rounds: few * 2, inARow: 15, ...warmUp, warmUps: 200 },
    { name: 'warmWithGapsMs', source: 'return 1', per: 1, rounds: few, inARow: 12, ...warmUp, gapMs: 15 },
    { name: 'sequentialCallUs', source: sequential, per: n / 1000, rounds: few, inARow: 2, ...warmUp },
    { name: 'batchedCallUs', source: batched, per: n / 1000, rounds: few, inARow: 2, ...warmUp },
    { name: 'tenParallel50Ms', source: parallel, per: 1, rounds: few, inARow: 1, ...warmUp, warmUps: 3 },
    { name: 'megabyteMs', source: large, per: 1, rounds: few, inARow: 2, ...warmUp },
  ]
}

type Rows = Record<string, Record<string, number>>

/** By contender, then by what was measured. */
export interface Scripts {
  readonly medians: Rows
  readonly lowest: Rows
  /** The first of its kind, before all is compiled. */
  readonly first: Rows
  readonly samples: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>
}

/**
 * Runs scripts of each contender in turns, and closes the contenders.
 *
 * @param only names of what is measured. Default: all.
 */
export async function measureScripts(
  contenders: readonly Contender[],
  runs: number,
  only?: readonly string[],
): Promise<Scripts> {
  const medians: Rows = {}
  const lowest: Rows = {}
  const first: Rows = {}
  const samples: Record<string, Record<string, readonly number[]>> = {}
  for (const { name, run } of contenders) {
    const coldMs = await timed(() => run('return 1', tools))
    medians[name] = { coldMs: round(coldMs) }
    lowest[name] = {}
    first[name] = {}
    samples[name] = { coldMs: [coldMs] }
  }
  for (const { name, source, per, ...plan } of measuredIn(Math.max(3, Math.ceil(runs / 3)))) {
    if (only && !only.includes(name)) continue
    const subjects = contenders.map((contender) => ({ name: contender.name, run: () => contender.run(source, tools) }))
    for (const [contender, times] of Object.entries(await inTurns(subjects, plan))) {
      const values = times.warm.map((ms) => ms / per)
      Object.assign(samples[contender] ?? {}, { [name]: values })
      Object.assign(medians[contender] ?? {}, { [name]: round(median(values)) })
      if (name === 'warmMs') Object.assign(medians[contender] ?? {}, { warmP95Ms: round(p95(values)) })
      Object.assign(lowest[contender] ?? {}, { [name]: round(Math.min(...values)) })
      Object.assign(first[contender] ?? {}, { [name]: round(times.first / per) })
    }
  }
  for (const { close } of contenders) await close()
  return { medians, lowest, first, samples }
}
