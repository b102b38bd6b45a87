import { setTimeout as sleep } from 'node:timers/promises'

export interface Subject {
  readonly name: string
  run(): Promise<unknown>
}

export interface Plan {
  /** Each subject has its turn once in a round. */
  readonly rounds: number
  /** Runs of a turn that count; the one before them does not, since it pays for what the others left. */
  readonly inARow: number
  /** What is slept before each run, in ms. */
  readonly gapMs?: number
  /** Runs before the first that counts, */
  readonly warmUps: number
  /** or this time, in ms, where that is over sooner. */
  readonly warmUpMs: number
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Wall times of a subject, in ms. */
export interface Times {
  /** The first run of the warm-up. */
  readonly first: number
  /** Each run that counts. */
  readonly warm: readonly number[]
}

/** Runs the subjects in turns, once all are warm: engines compile what they run often, some later than others. */
export async function inTurns(subjects: readonly Subject[], plan: Plan): Promise<Record<string, Times>> {
  const { rounds, inARow, gapMs = 0, warmUps, warmUpMs } = plan
  const taken: { subject: Subject; first: number; warm: number[] }[] = []
  for (const subject of subjects) {
    const first = await timed(subject.run)
    let spent = first
    for (let i = 1; i < warmUps && spent < warmUpMs; i++) spent += await timed(subject.run)
    taken.push({ subject, first, warm: [] })
  }
  for (let round = 0; round < rounds; round++) {
    const first = round % taken.length
    for (const { subject, warm } of [...taken.slice(first), ...taken.slice(0, first)]) {
      for (let i = 0; i <= inARow; i++) {
        if (gapMs > 0) await sleep(gapMs)
        const took = await timed(subject.run)
        if (i > 0) warm.push(took)
      }
    }
  }
  return Object.fromEntries(taken.map(({ subject, first, warm }) => [subject.name, { first, warm }]))
}
