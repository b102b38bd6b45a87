import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

import { rolldown } from 'rolldown'
import type { Plugin } from 'rolldown'

import { throughBarrels } from './barrels.ts'
import { root } from './workspace.ts'

const folder = join(root, 'packages/code-mode')
const { resolve } = createRequire(join(folder, 'package.json'))
const piscina = dirname(resolve('piscina'))

/** The name under which the pool asks its threads for their program. */
const filename = 'provost:sandbox'
const threads = '\0threads-of-the-pool'
const program = '\0program-of-the-pool'
const nothing = '\0not-there'

/** Whether an import is that of the pool's threads, which {@link inlineSandbox} replaces. */
export function isOfThreads(id: string, importer: string | undefined): boolean {
  return id === 'node:worker_threads' && importer?.startsWith(piscina) === true
}

/**
 * Makes the program of code mode's threads a part of the code, and the engine, too: a bundle of a user has no file of ours
 * beside it. Piscina stays the pool. Its own worker and ours become one module in a `data:` URL, which its threads
 * start from; they read no file at all. The files that become part of it are added to `taken`.
 */
export function inlineSandbox(taken: Set<string>): Plugin {
  return {
    name: 'inline-sandbox',
    resolveId(id, importer) {
      if (id === '@napi-rs/nice') return nothing
      if (id === program || id === threads) return id
      return isOfThreads(id, importer) ? threads : null
    },
    // The pool names the file of its worker, which is not used.
    transform: (code, id) => (id.startsWith(piscina) ? `const __dirname = '/';${code}` : null),
    async load(id) {
      if (id === nothing) return 'export {}'
      if (id === threads) return threadsModule
      if (id === program)
        return `export const program = ${JSON.stringify(`data:text/javascript;base64,${base64(await workerProgram(taken))}`)}`
      return id === join(folder, 'src/worker/sandbox-program.ts') ? sandboxModule(taken) : null
    },
  }
}

/** `node:worker_threads` as the pool sees it: its threads start from the program, whatever file it names. */
const threadsModule = `
import { MessageChannel, MessagePort, receiveMessageOnPort, Worker as Thread } from 'node:worker_threads'
import { program } from ${JSON.stringify(program)}
export { MessageChannel, MessagePort, receiveMessageOnPort }
export class Worker extends Thread {
  constructor(_file, options) {
    super(new URL(program), options)
  }
}
`

function sandboxModule(taken: Set<string>): string {
  const file = resolve('quickjs-wasi/quickjs.wasm')
  taken.add(file)
  const engine = brotliCompressSync(readFileSync(file))
  return `
import { brotliDecompressSync } from 'node:zlib'
const packed = ${JSON.stringify(base64(engine))}
export async function sandboxProgram() {
  return { filename: ${JSON.stringify(filename)}, folders: [], engine: brotliDecompressSync(Buffer.from(packed, 'base64')) }
}
`
}

/** Piscina's worker and ours as one module. A `data:` URL can import nothing but what is built in. */
async function workerProgram(taken: Set<string>): Promise<string> {
  const entry = '\0entry'
  const code = `import work from ${JSON.stringify(join(folder, 'src/worker/sandbox.worker.ts'))}\nimport ${JSON.stringify(join(piscina, 'worker.js'))}\nexport default work`
  const bundle = await rolldown({
    input: entry,
    cwd: root,
    platform: 'node',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : id === '@napi-rs/nice' ? nothing : null),
        load: (id) => (id === entry ? code : id === nothing ? 'export {}' : null),
      },
      throughBarrels(),
    ],
    resolve: { conditionNames: ['@provost/source', 'import', 'node', 'default'] },
    treeshake: { moduleSideEffects: [{ test: /\/packages\/core\/src\//u, sideEffects: false }] },
  })
  const { output } = await bundle.generate({ format: 'cjs', comments: false, minify: true })
  await bundle.close()
  for (const file of Object.keys(output[0].modules)) taken.add(file)
  return `const module = { exports: {} };
((module, exports, require) => {${output[0].code}
})(module, module.exports, (name) => (name === ${JSON.stringify(filename)} ? module.exports : process.getBuiltinModule(name)))
`
}

function base64(content: string | Uint8Array): string {
  return Buffer.from(content).toString('base64')
}
