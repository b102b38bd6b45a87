import type { ThreadIsolation } from '@provost/core'
import { threadFlags } from '@provost/core'
import { Piscina } from 'piscina'

import { engineExports, memoryImport } from '../engine/engine-exports.ts'
import type { EngineCode } from '../engine/quickjs.ts'
import { trimWasm } from '../engine/wasm-trim.ts'
import type { Limits } from './limits.ts'
import { sandboxProgram } from './sandbox-program.ts'
import { type FromWorker, ring, type Task } from './task.ts'
import { workQueue } from './work-queue.ts'
import { type WorkerChannel, openWorkerChannel, type Serving } from './worker-channel.ts'

/** What all workers of a pool receive at their start. */
export interface WorkerSetup {
  readonly code: EngineCode
  readonly limits: Limits
  /** The values of scripts are followed. */
  readonly followsValues: boolean
}

/** Threads that run scripts. */
export interface WorkerPool {
  /** Announces a task: the worker that will receive it wakes up. */
  expect(): void
  /** Runs a task as soon as a worker is free. */
  run(task: Task, hear: (message: FromWorker) => void): Assignment
  close(): Promise<void>
}

/** A task that the pool accepted. */
export interface Assignment {
  /** Sends a text to the script, also while it waits for a worker. */
  post(text: string): void
  readonly ended: Promise<void>
  /** Withdraws the task, or ends the thread of its worker, whatever the worker does. */
  cancel(): void
}

let compiled: Promise<EngineCode> | undefined

async function compile(engine: Uint8Array): Promise<EngineCode> {
  const { bytes, pages } = trimWasm(engine, engineExports, memoryImport)
  return { wasm: await WebAssembly.compile(Buffer.from(bytes)), pages }
}

/** Starts `workers` threads and prepares each for its first script. */
export async function openPool(
  workers: number,
  limits: Limits,
  isolation: ThreadIsolation,
  followsValues: boolean = false,
): Promise<WorkerPool> {
  const { filename, folders, engine } = await sandboxProgram()
  const execArgv = [...threadFlags(isolation, folders, 'codeMode')]
  const code = await (compiled ??= compile(engine))
  const pool = new Piscina<Serving | 'prepare', void>({
    filename,
    minThreads: workers,
    maxThreads: workers,
    env: {},
    argv: [],
    execArgv,
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    workerData: { code, limits, followsValues } satisfies WorkerSetup,
  })
  // It tells of a thread that fails between two jobs, which it replaces, and of an answer to a job that was withdrawn. Deno
  // delivers such an answer while it ends a thread. No script is affected, and an error without a listener ends the process.
  pool.on('error', () => {})
  try {
    await Promise.all(Array.from({ length: workers }, () => pool.run('prepare')))
  } catch (error) {
    await pool.destroy()
    throw error
  }
  // The pool's own queue is not used: it moves abortable jobs without a worker behind later jobs, again and again.
  const queue = workQueue(workers)
  const serve = (serving: Serving, signal: AbortSignal) => pool.run(serving, { transferList: [serving.port], signal })
  let idle: WorkerChannel[] = []

  const run = (task: Task, hear: (message: FromWorker) => void): Assignment => {
    const cells = new Int32Array(task.flags)
    /** Texts for a script that has sent no message yet. They are sent again with the task if necessary. */
    const early: string[] = []
    const leaving = new AbortController()
    let begun = false
    let line: WorkerChannel | undefined
    const listen = (message: FromWorker) => {
      begun = true
      hear(message)
    }
    const send = (text: string) => {
      line?.post(text)
      ring(cells)
    }
    const attempt = async (): Promise<boolean> => {
      idle = idle.filter(({ over }) => !over)
      const free = idle.pop() ?? openWorkerChannel(serve)
      line = free
      const taken = free.run(task, listen)
      for (const text of early) send(text)
      try {
        return await taken
      } finally {
        line = undefined
        if (!free.over) idle.push(free)
      }
    }
    const work = async () => {
      let taken = false
      while (!taken) taken = await attempt()
    }
    return {
      ended: queue.take(work, leaving.signal),
      post(text) {
        if (!begun) early.push(text)
        send(text)
      },
      cancel() {
        leaving.abort()
        line?.kill()
      },
    }
  }
  return { run, expect: () => idle.at(-1)?.wake(), close: () => pool.destroy() }
}
