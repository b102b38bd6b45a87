import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
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
  const own = dirname(dirname(fileURLToPath(worker)))
  // The thread looks for the parser from its own file up, through the link of the package manager.
  const links = ['flow/node_modules', 'node_modules', '../package.json', '../node_modules'].map((at) => join(own, at))
  const folders = [own, entry('piscina'), entry('acorn'), ...links.filter((at) => existsSync(at))]
  const real = await Promise.all(folders.map((folder) => realpath(folder)))
  const engine = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  return { filename: worker.href, folders: [...new Set([...folders, ...real])], engine }
}
