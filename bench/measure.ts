import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { keepCompiledCode } from './kept-code.ts'

keepCompiledCode()

/** Collects garbage now, so that no contender pays for another's. */
export const collectGarbage: () => void = (() => {
  setFlagsFromString('--expose-gc')
  // A new context has the function under this name once the flag is set; nothing types it.
  return runInNewContext('gc') as () => void
})()

export interface Sample {
  readonly cpuMs: number
  readonly wallMs: number
}

/**
 * What a sample begins with: a collection of all garbage, or as many runs again that do not count. With the garbage V8
 * throws away some of what it has learnt, so for what is compared warm, as in a server, it has to be the latter.
 */
export type Before = 'collect' | 'run'

/** CPU of the whole process (all threads, garbage collection included) and wall time of a run: the mean of `repeat` in a row. */
export async function sample(run: () => Promise<unknown>, repeat: number, before: Before = 'collect'): Promise<Sample> {
  if (before === 'collect') collectGarbage()
  else for (let n = 0; n < repeat; n++) await run()
  const [cpu, wall] = [process.cpuUsage(), performance.now()]
  for (let n = 0; n < repeat; n++) await run()
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: (user + system) / 1_000 / repeat, wallMs: (performance.now() - wall) / repeat }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return (low + high) / 2
}

export interface Subject {
  readonly name: string
  /** Runs in a row that make one sample; a single short one is below what the clock can tell. */
  readonly repeat: number
  /** Sets up what is measured; called before each sample, outside of it. */
  prepare(): () => Promise<unknown>
}

export interface Summary extends Sample {
  /** Samples the medians are of. */
  readonly runs: number
  readonly lowest: number
  readonly highest: number
}

export interface Plan {
  /** Samples of each subject. */
  readonly runs: number
  /** Samples before those that count. */
  readonly warmUps: number
  /** A subject that has used more CPU than this to warm up is warm. Default: no limit. */
  readonly warmUpMs?: number
  /** A subject that has used more CPU than this gets no further sample; what it has counts, be it one. */
  readonly budgetMs: number
  /** Default: `collect`. */
  readonly before?: Before
  progress(text: string): void
}

interface Taken {
  readonly subject: Subject
  readonly samples: Sample[]
  spentMs: number
}

/** Medians of samples taken in turn: every round has one of each subject, and each starts with another one. */
export async function compare(subjects: readonly Subject[], plan: Plan): Promise<Record<string, Summary>> {
  const taken = subjects.map((subject): Taken => ({ subject, samples: [], spentMs: 0 }))
  for (const subject of subjects) await warmUp(subject, plan)
  for (let round = 0; round < plan.runs; round++) {
    const first = round % taken.length
    for (const entry of [...taken.slice(first), ...taken.slice(0, first)]) {
      const { name, repeat } = entry.subject
      if (entry.spentMs > plan.budgetMs) continue
      const latest = await sample(entry.subject.prepare(), repeat, plan.before)
      entry.samples.push(latest)
      entry.spentMs += latest.cpuMs * repeat
      plan.progress(`${round + 1}/${plan.runs} ${name} ${latest.cpuMs.toFixed(2)} ms`)
    }
  }
  return Object.fromEntries(taken.map(({ subject, samples }) => [subject.name, summarise(samples)]))
}

/** Runs a subject until V8 has compiled what it is made of: the more code a library has, the longer that takes. */
async function warmUp(
  { name, repeat, prepare }: Subject,
  { warmUps, warmUpMs = Infinity, before, progress }: Plan,
): Promise<void> {
  let spentMs = 0
  for (let done = 0; done < warmUps && spentMs < warmUpMs; done++) {
    const { cpuMs } = await sample(prepare(), repeat, before)
    spentMs += cpuMs * repeat
    // The first one is what a fresh process pays.
    if (done === 0 || done === warmUps - 1) progress(`warm-up ${done + 1}/${warmUps} ${name} ${cpuMs.toFixed(2)} ms`)
  }
}

function summarise(samples: readonly Sample[]): Summary {
  const cpu = samples.map(({ cpuMs }) => cpuMs)
  return {
    cpuMs: median(cpu),
    wallMs: median(samples.map(({ wallMs }) => wallMs)),
    runs: samples.length,
    lowest: Math.min(...cpu),
    highest: Math.max(...cpu),
  }
}

/** The heap once timers of earlier runs have fired and what they held is gone. */
async function settledHeap(): Promise<number> {
  for (let n = 0; n < 4; n++) {
    await setTimeout(50)
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

/** Bytes of heap that are kept alive by what `make` returns. */
export async function retained(make: () => Promise<object>): Promise<number> {
  const before = await settledHeap()
  const kept = await make()
  const after = await settledHeap()
  return Reflect.ownKeys(kept).length > 0 ? after - before : 0
}
