import { readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What a thread for scripts is started with. */
export interface SandboxProgram {
  /** The module that the pool calls. */
  readonly filename: string
  /** Folders from which the thread reads its own code. All other files are closed to it. */
  readonly folders: readonly string[]
  /** The engine, as WebAssembly. */
  readonly engine: Uint8Array
}

/**
 * Returns the program from the files of this package. What is published has another function in its place, whose program
 * is text and needs no file: see `scripts/bundle/inline-sandbox.ts`. So code mode works in a bundle, too.
 */
export async function sandboxProgram(): Promise<SandboxProgram> {
  const worker = new URL('sandbox.worker.ts', import.meta.url)
  const entry = (name: string) => dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  const folders = [dirname(dirname(fileURLToPath(worker))), entry('piscina'), entry('acorn')]
  const real = await Promise.all(folders.map((folder) => realpath(folder)))
  const engine = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  return { filename: worker.href, folders: [...new Set([...folders, ...real])], engine }
}
