import { compare, retained } from '../measure.ts'
import type { Plan } from '../measure.ts'
import { keptRuns, provost } from './provost.ts'
import { check } from './script.ts'

/** What a step costs in a short and in a long run of the same number of steps in all. */
export interface Scaling {
  readonly steps: readonly [short: number, long: number]
  readonly cpuMsPerStep: Readonly<Record<string, number>>
  /** Long to short. */
  readonly cpuRatio: number
  readonly heapBytesPerStep: Readonly<Record<string, number>>
  readonly heapRatio: number
}

export async function measureScaling(short: number, long: number, plan: Plan): Promise<Scaling> {
  const subjects = [short, long].map((steps) => ({
    name: `${steps}`,
    repeat: long / steps,
    prepare() {
      const run = provost.prepare(steps)
      return async () => check(provost.name, steps, await run())
    },
  }))
  const summaries = await compare(subjects, plan)
  const cpu = perStep([short, long], (steps) => (summaries[steps]?.cpuMs ?? Number.NaN) / steps)
  const bytes: Record<number, number> = {}
  for (const steps of [short, long]) bytes[steps] = await retained(() => keptRuns(steps, long / steps))
  const heap = perStep([short, long], (steps) => (bytes[steps] ?? Number.NaN) / long)
  return {
    steps: [short, long],
    cpuMsPerStep: cpu.values,
    cpuRatio: cpu.ratio,
    heapBytesPerStep: heap.values,
    heapRatio: heap.ratio,
  }
}

function perStep(
  [short, long]: readonly [number, number],
  of: (steps: number) => number,
): { values: Record<string, number>; ratio: number } {
  return { values: { [short]: of(short), [long]: of(long) }, ratio: of(long) / of(short) }
}
