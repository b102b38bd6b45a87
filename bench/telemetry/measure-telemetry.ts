import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { RowName } from './row.ts'

export interface TelemetryPlan {
  readonly steps: number
  /** Runs before those that count. */
  readonly warm: number
  /** Samples of each row, and runs of each sample. */
  readonly rounds: number
  readonly repeat: number
  readonly names: readonly RowName[]
  progress(text: string): void
}

/** Runs rows in processes of their own, in turns. @returns CPU milliseconds a run in each sample, by row. */
export async function measureTelemetry(plan: TelemetryPlan): Promise<ReadonlyMap<RowName, readonly number[]>> {
  const { steps, warm, rounds, repeat, names, progress } = plan
  const collector = start('collector.ts', [])
  const [port] = await once(collector, 'message')
  const rows = names.map((name) => ({
    name,
    child: start('row.ts', [name, String(steps), String(port)]),
    samples: [] as number[],
  }))
  // In turn, so that no row has the machine at a better time than the others.
  const batch = Math.min(250, warm)
  for (let done = 0; done < warm; done += batch) {
    for (const { child } of rows) await sample(child, batch)
    progress(`warm-up ${done + batch}/${warm}`)
  }
  for (let round = 0; round < rounds; round++) {
    const first = round % rows.length
    for (const row of [...rows.slice(first), ...rows.slice(0, first)]) {
      row.samples.push(await sample(row.child, repeat))
    }
  }
  for (const { child } of rows) child.disconnect()
  collector.disconnect()
  return new Map(rows.map(({ name, samples }) => [name, samples]))
}

function start(file: string, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: process.execArgv })
}

/** @returns CPU milliseconds a run. */
async function sample(child: ChildProcess, runs: number): Promise<number> {
  child.send(runs)
  const [cpuMs] = await once(child, 'message')
  return Number(cpuMs)
}
