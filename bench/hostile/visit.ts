import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Asked, Told } from './child.ts'
import type { Figures } from './gap.ts'
import { holds } from './input.ts'
import type { HostileInput } from './input.ts'

/** What became of an input. */
export interface Visit {
  readonly name: string
  readonly category: string
  readonly door: string
  readonly bytes: number
  /** `hang` where the event loop stood still until the process was killed, `slow` where it only took too long, `crash` where it ended. */
  readonly outcome: string
  readonly expect: readonly string[]
  readonly holds: boolean
  readonly figures?: Figures
  /** Bytes of the sessions that it left, as they are exported. */
  readonly logged: number
  /** What a second process did with the store that the input left. */
  readonly second?: { readonly outcome: string; readonly gapMs: number; readonly gapCpuMs: number }
}

const script = fileURLToPath(new URL('child.ts', import.meta.url))

type Report = Extract<Told, { type: 'done' }> | { readonly type: 'hang' | 'slow' | 'crash' }

/** A process that takes inputs, is killed where one hangs, and started again. */
export interface Shared {
  pass(asked: Asked): Promise<Report>
  close(): void
}

/** How many times as long as it may hang an input may take. */
const patience = 6

/** @param timeoutMs without a turn of the event loop, after which an input hangs. */
export function sharedProcess(timeoutMs: number, execArgv: readonly string[] = []): Shared {
  let child: ChildProcess | undefined
  return {
    pass(asked) {
      const process = (child ??= fork(script, [], {
        execArgv: ['--conditions=@provost/source', '--no-warnings', ...execArgv],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }))
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined
        let most: NodeJS.Timeout | undefined
        const end = (report: Report): void => {
          clearTimeout(timer)
          clearTimeout(most)
          process.removeAllListeners()
          if (report.type !== 'done') {
            process.kill('SIGKILL')
            child = undefined
          }
          resolve(report)
        }
        // Making the payload and warming the door may take as long again.
        const arm = (ms: number): void => {
          clearTimeout(timer)
          timer = setTimeout(() => end({ type: 'hang' }), ms)
        }
        arm(timeoutMs + 30_000)
        process.on('message', (told: Told) => {
          if (told.type === 'done') return end(told)
          arm(timeoutMs)
          if (told.type === 'ready') most = setTimeout(() => end({ type: 'slow' }), patience * timeoutMs)
        })
        process.on('exit', () => end({ type: 'crash' }))
        process.send(asked)
      })
    },
    close() {
      child?.disconnect()
      child = undefined
    },
  }
}

/** Passes inputs, each through a process that it shares with those before it; what is left in a store is opened by another one. */
export async function* visits(
  inputs: readonly HostileInput[],
  { timeoutMs, execArgv }: { readonly timeoutMs: number; readonly execArgv?: readonly string[] },
): AsyncGenerator<Visit, void, undefined> {
  const [first, second] = [sharedProcess(timeoutMs, execArgv), sharedProcess(timeoutMs)]
  const above = await mkdtemp(join(tmpdir(), 'provost-hostile-'))
  try {
    for (const { name, category, door, expect, stored } of inputs) {
      const folder = await mkdtemp(join(above, 'input-'))
      const report = await first.pass({ name, folder, as: 'first' })
      const after = stored ? await second.pass({ name, folder, as: 'second' }) : undefined
      const outcome = report.type === 'done' ? report.outcome : report.type
      const read = after && (after.type === 'done' ? after.outcome : after.type)
      yield {
        name,
        category,
        door,
        bytes: report.type === 'done' ? report.bytes : 0,
        outcome,
        expect,
        holds: holds(outcome, expect) && (read === undefined || read.startsWith('read ')),
        ...(report.type === 'done' && { figures: report.figures }),
        logged: report.type === 'done' ? report.logged : 0,
        ...(after && {
          second: {
            outcome: read ?? '',
            gapMs: after.type === 'done' ? after.figures.gapMs : timeoutMs,
            gapCpuMs: after.type === 'done' ? after.figures.gapCpuMs : timeoutMs,
          },
        }),
      }
      await rm(folder, { recursive: true, force: true })
    }
  } finally {
    first.close()
    second.close()
    await rm(above, { recursive: true, force: true })
  }
}
