import { readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Piscina } from 'piscina'

import { engineExports, memoryImport } from '../engine/engine-exports.ts'
import type { EngineCode } from '../engine/quickjs.ts'
import { trimWasm } from '../engine/wasm-trim.ts'
import type { Limits } from './limits.ts'
import { type FromWorker, ring, type Task } from './task.ts'
import { workQueue } from './work-queue.ts'
import { type WorkerChannel, openWorkerChannel, type Serving } from './worker-channel.ts'

/** What all workers of a pool are told when they start. */
export interface WorkerSetup {
  readonly code: EngineCode
  readonly limits: Limits
}

/** Threads that run scripts. */
export interface WorkerPool {
  /** A task will be given soon: the worker that will get it wakes up meanwhile. */
  expect(): void
  /** Has a worker run a task as soon as one is free. */
  run(task: Task, hear: (message: FromWorker) => void): Assignment
  close(): Promise<void>
}

/** A task that was given to a pool. */
export interface Assignment {
  /** Sends something to the script, also while it waits for a worker. */
  post(text: string): void
  readonly ended: Promise<void>
  /** Takes it back, or ends the thread of the worker that has it, whatever that does. */
  cancel(): void
}

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
const worker = new URL(`./sandbox.worker${extension}`, import.meta.url)

/** The folders a worker reads its own code from; everything else on the disk is closed to it. */
async function ownFolders(): Promise<string[]> {
  const entry = (name: string) => dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  const folders = [dirname(dirname(fileURLToPath(worker))), entry('piscina')]
  return [...new Set([...folders, ...(await Promise.all(folders.map((folder) => realpath(folder))))])]
}

let compiled: Promise<EngineCode> | undefined

async function compile(): Promise<EngineCode> {
  const engine = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const { bytes, pages } = trimWasm(engine, engineExports, memoryImport)
  return { wasm: await WebAssembly.compile(Buffer.from(bytes)), pages }
}

/** Starts `workers` threads and has each make ready what its first script needs. */
export async function openPool(workers: number, limits: Limits): Promise<WorkerPool> {
  const code = await (compiled ??= compile())
  const pool = new Piscina<Serving | 'prepare', void>({
    filename: worker.href,
    minThreads: workers,
    maxThreads: workers,
    env: {},
    argv: [],
    execArgv: ['--no-warnings', '--permission', ...(await ownFolders()).map((folder) => `--allow-fs-read=${folder}`)],
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    workerData: { code, limits } satisfies WorkerSetup,
  })
  try {
    await Promise.all(Array.from({ length: workers }, () => pool.run('prepare')))
  } catch (error) {
    await pool.destroy()
    throw error
  }
  // The pool's own queue is none: what can be aborted and finds no worker is put behind what comes later, again and again.
  const queue = workQueue(workers)
  const serve = (serving: Serving, signal: AbortSignal) => pool.run(serving, { transferList: [serving.port], signal })
  let idle: WorkerChannel[] = []

  const run = (task: Task, hear: (message: FromWorker) => void): Assignment => {
    const cells = new Int32Array(task.flags)
    /** What is for a script that has not been heard of: it is sent again with the task, should that be. */
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
