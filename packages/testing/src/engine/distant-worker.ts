import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import type { DistantWorker } from './subject.ts'

/** The program of the other process. A bundle for workerd has no `import.meta.url`, and starts none. */
function script(): URL {
  // Not `import.meta.url` itself, from which bundlers would take the file for one of theirs.
  const here = import.meta.url
  const extension = here.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./worker-child${extension}`, here)
}

/**
 * Starts a worker in another process, and returns when it serves.
 *
 * @param settings its arguments after the module.
 */
export async function startDistantWorker(module: string, settings: readonly string[]): Promise<DistantWorker> {
  const flags = process.execArgv.filter((flag) => flag.startsWith('--conditions='))
  const child = spawn(process.execPath, [...flags, fileURLToPath(script()), module, ...settings], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const serves = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', (line) => (line === 'serves' ? serves : reached).resolve())
  await Promise.race([
    serves.promise,
    closed.then(([code]) => Promise.reject(new Error(`The worker ended with ${String(code)} as it started.`))),
  ])
  return {
    reached: reached.promise,
    signal: (name) => void child.kill(name),
    async ended() {
      await closed
    },
  }
}
