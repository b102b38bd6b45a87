import { readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Piscina } from 'piscina'

import { engineExports, memoryImport } from './engine-exports.ts'
import type { Limits } from './limits.ts'
import type { EngineCode } from './quickjs.ts'
import type { Task } from './task.ts'
import { thinWasm } from './thin-wasm.ts'
import { turns } from './turns.ts'

/** Threads that run scripts. */
export interface WorkerPool {
  /** Ends when the worker is ready for the next task. Aborting ends the worker's thread, whatever it does. */
  run(task: Task, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
const worker = new URL(`./sandbox.worker${extension}`, import.meta.url)

/** The folders a worker reads its own code from; everything else on the disk is closed to it. */
async function ownFolders(): Promise<string[]> {
  const entry = (name: string) => dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  const folders = [dirname(dirname(fileURLToPath(worker))), entry('quickjs-wasi'), entry('piscina')]
  return [...new Set([...folders, ...(await Promise.all(folders.map((folder) => realpath(folder))))])]
}

let compiled: Promise<EngineCode> | undefined

async function compile(): Promise<EngineCode> {
  const engine = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const { bytes, pages } = thinWasm(engine, engineExports, memoryImport)
  return { wasm: await WebAssembly.compile(Buffer.from(bytes)), pages }
}

/** Starts `workers` threads and has each make ready what its first script needs. */
export async function openPool(workers: number, limits: Limits): Promise<WorkerPool> {
  const code = await (compiled ??= compile())
  const pool = new Piscina<Task | { warm: Limits }, void>({
    filename: worker.href,
    minThreads: workers,
    maxThreads: workers,
    env: {},
    argv: [],
    execArgv: ['--no-warnings', '--permission', ...(await ownFolders()).map((folder) => `--allow-fs-read=${folder}`)],
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    workerData: code,
  })
  await Promise.all(Array.from({ length: workers }, () => pool.run({ warm: limits })))
  // The pool's own queue is none: what can be aborted and finds no worker is put behind what comes later, again and again.
  const queue = turns(workers)
  return {
    run: (task, signal) => queue.take(() => pool.run(task, { transferList: [task.port], signal }), signal),
    close: () => pool.destroy(),
  }
}
