import { availableParallelism } from 'node:os'

import type { KnownKeys } from '@provost/core'
import { ProvostError, checkOptions } from '@provost/core'

import type { SandboxLimits } from '../worker/limits.ts'
import { limitsOf } from '../worker/limits.ts'
import { watchdog } from '../worker/watchdog.ts'
import type { WorkerPool } from '../worker/worker-pool.ts'
import type { SandboxResult, SandboxRunOptions } from './sandbox-options.ts'
import { runScript } from './script-run.ts'

export interface Sandbox {
  /**
   * Runs a script: the body of an async function, in JavaScript or TypeScript, with the tools as `tools.name(args)`.
   * Resolves whatever the script does; rejects with a `ProvostError` for options that are none and after `close`.
   */
  run(source: string, options?: SandboxRunOptions): Promise<SandboxResult>
  /** Ends all that runs, and the threads. */
  close(): Promise<void>
}

const runKeys = {
  tools: true,
  journal: true,
  record: true,
  signal: true,
  identity: true,
  busy: true,
} satisfies KnownKeys<SandboxRunOptions>

/**
 * Makes a place for scripts nobody trusts. Each run has an engine of its own, in one of `workers` threads (default: one
 * per core, at most 4); the threads start with the first run and let the process end a tenth of a second after the last.
 * Throws `invalid-options` for limits that are none.
 *
 * @example
 * const sandbox = createSandbox()
 * const { ok, value } = await sandbox.run('return (await tools.add({ a: 1, b: 2 })) * 2', {
 *   tools: { add: ({ a, b }) => a + b },
 * })
 */
export function createSandbox(
  options: { readonly limits?: SandboxLimits | undefined; readonly workers?: number | undefined } = {},
): Sandbox {
  checkOptions(options, { limits: true, workers: true }, 'createSandbox')
  const limits = limitsOf(options.limits)
  const workers = options.workers ?? Math.min(4, availableParallelism())
  if (!Number.isInteger(workers) || workers < 1) {
    throw new ProvostError('invalid-options', `A sandbox cannot have ${String(workers)} workers.`, {
      hint: 'Give a whole number from 1.',
    })
  }
  const dog = watchdog()
  const running = new Set<() => void>()
  let closed = false
  let opening: Promise<WorkerPool> | undefined
  const open = () => (opening ??= import('../worker/worker-pool.ts').then(({ openPool }) => openPool(workers, limits)))
  const opened = async (): Promise<WorkerPool> => {
    try {
      return await open()
    } catch (cause) {
      opening = undefined
      throw new ProvostError('sandbox-unavailable', 'The threads of the sandbox did not start.', {
        hint: 'The cause says why; nothing of the script ran.',
        cause,
      })
    }
  }

  const refuseClosed = () => {
    if (closed) throw new ProvostError('sandbox-closed', 'The sandbox was closed.', { hint: 'Make another one.' })
  }

  return {
    async run(source, given = {}) {
      checkOptions(given, runKeys, 'sandbox.run')
      refuseClosed()
      const pool = await opened()
      refuseClosed()
      return runScript({ pool, dog, limits, running }, source, given)
    },
    async close() {
      closed = true
      for (const stop of running) stop()
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}
