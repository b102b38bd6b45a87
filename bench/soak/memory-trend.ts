import type { Memory } from '../cluster/machines.ts'

const mb = 2 ** 20
/** What memory may grow by beside noise, in megabytes. */
const slackMb = 16

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Memory of a process after its collections, in megabytes: in the second quarter of the time, and in the last one. */
export interface MemoryTrend {
  readonly rssMb: readonly [early: number, late: number]
  readonly heapMb: readonly [early: number, late: number]
}

/** Returns the trend of samples at regular times. The first quarter warms up. */
export function memoryTrend(samples: readonly Memory[]): MemoryTrend {
  const quarter = Math.floor(samples.length / 4)
  const early = samples.slice(quarter, 2 * quarter)
  const late = samples.slice(-Math.max(1, quarter))
  const trend = (of: keyof Memory): readonly [number, number] => [
    Math.round(median(early.map((sample) => sample[of])) / mb),
    Math.round(median(late.map((sample) => sample[of])) / mb),
  ]
  return { rssMb: trend('rss'), heapMb: trend('heapUsed') }
}

/** Samples of a run that is too short for a trend. */
const fewSamples = 16

/** Returns what grows. A heap may grow by a tenth, the memory of the process by a quarter. */
export function growth({ rssMb, heapMb }: MemoryTrend, samples: number): readonly string[] {
  if (samples < fewSamples) return []
  const grows = ([early, late]: readonly [number, number], factor: number): boolean => late > early * factor + slackMb
  return [
    ...(grows(heapMb, 1.1) ? [`the heap grows from ${heapMb[0]} to ${heapMb[1]} MB`] : []),
    ...(grows(rssMb, 1.25) ? [`the process grows from ${rssMb[0]} to ${rssMb[1]} MB`] : []),
  ]
}
