import { availableParallelism } from 'node:os'

import type { KnownKeys, ThreadIsolation } from '@provost/core'
import { ProvostError, checkChoice, checkOptions } from '@provost/core'

import type { SandboxLimits } from '../worker/limits.ts'
import { followedLimits, limitsOf } from '../worker/limits.ts'
import { watchdog } from '../worker/watchdog.ts'
import type { WorkerPool } from '../worker/worker-pool.ts'
import type { SandboxResult, SandboxRunOptions } from './sandbox-options.ts'
import { runScript } from './script-run.ts'

export interface Sandbox {
  /**
   * Runs a script: the body of an async function, in JavaScript or TypeScript, with the tools as `tools.name(args)`.
   * Resolves whatever the script does. Rejects with a `ProvostError` for invalid options and after `close`.
   */
  run(source: string, options?: SandboxRunOptions): Promise<SandboxResult>
  /** Ends all runs and the threads. */
  close(): Promise<void>
}

/** Options of {@link createSandbox}. */
export interface SandboxOptions {
  readonly limits?: SandboxLimits | undefined
  /** Threads for scripts. Default: one per core, at most 4. */
  readonly workers?: number | undefined
  /**
   * What a script must break to reach this machine. Default `thread`: the engine, and a thread without access to files
   * and processes. Runtimes that cannot restrict a thread (Bun, Deno) refuse it with `no-thread-isolation`. `engine`: the
   * WebAssembly engine suffices.
   */
  readonly isolation?: ThreadIsolation | undefined
  /**
   * `values`: each value of a script carries its label through operators, members, calls and branches. Calls receive the
   * labels of their arguments as `flow`. Scripts compute several times slower, and the CPU and memory limits are raised
   * accordingly.
   */
  readonly flow?: 'values' | undefined
}

const sandboxKeys = { limits: true, workers: true, isolation: true, flow: true } satisfies KnownKeys<SandboxOptions>

const runKeys = {
  tools: true,
  acting: true,
  journal: true,
  record: true,
  signal: true,
  identity: true,
  busy: true,
} satisfies KnownKeys<SandboxRunOptions>

/**
 * Creates a sandbox for untrusted scripts. Each run has its own engine, in one of `workers` threads (default: one per
 * core, at most 4). The threads start with the first run. They let the process exit a tenth of a second after the last
 * run. Throws `invalid-options` for invalid limits. Its runs reject with `no-thread-isolation` where the runtime cannot
 * restrict a thread: see `isolation`.
 *
 * @example
 * const sandbox = createSandbox()
 * const { ok, value } = await sandbox.run('return (await tools.add({ a: 1, b: 2 })) * 2', {
 *   tools: { add: ({ a, b }) => a + b },
 * })
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  checkOptions(options, sandboxKeys, 'createSandbox')
  const { isolation = 'thread' } = options
  checkChoice(isolation, ['thread', 'engine'], 'isolation', 'createSandbox')
  checkChoice(options.flow, ['values'], 'flow', 'createSandbox')
  const followsValues = options.flow === 'values'
  const limits = followsValues ? followedLimits(limitsOf(options.limits)) : limitsOf(options.limits)
  const workers = options.workers ?? Math.min(4, availableParallelism())
  if (!Number.isInteger(workers) || workers < 1) {
    throw new ProvostError('invalid-options', `The option "workers" of createSandbox is ${String(workers)}.`, {
      hint: 'Use an integer of at least 1.',
    })
  }
  const dog = watchdog()
  const running = new Set<() => void>()
  let closed = false
  let opening: Promise<WorkerPool> | undefined
  const open = () =>
    (opening ??= import('../worker/worker-pool.ts').then(({ openPool }) =>
      openPool(workers, limits, isolation, followsValues),
    ))
  const opened = async (): Promise<WorkerPool> => {
    try {
      return await open()
    } catch (cause) {
      opening = undefined
      if (cause instanceof ProvostError) throw cause
      throw new ProvostError('sandbox-unavailable', 'The threads of the sandbox did not start.', {
        hint: 'See the cause. The script did not run.',
        cause,
      })
    }
  }

  const refuseClosed = () => {
    if (closed)
      throw new ProvostError('sandbox-closed', 'The sandbox was closed.', {
        hint: 'Create another one with createSandbox().',
      })
  }

  return {
    async run(source, given = {}) {
      checkOptions(given, runKeys, 'sandbox.run')
      refuseClosed()
      const pool = await opened()
      refuseClosed()
      return runScript({ pool, watchdog: dog, limits, running, followsValues }, source, given)
    },
    async close() {
      closed = true
      for (const stop of running) stop()
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}
