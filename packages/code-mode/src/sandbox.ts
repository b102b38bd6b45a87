import { availableParallelism } from 'node:os'

import { checkOptions, type Json, type KnownKeys, ProvostError } from '@provost/core'

import type { Journal, JournalEntry } from './journal.ts'
import { limitsOf, type SandboxLimits } from './limits.ts'
import type { SandboxError } from './sandbox-error.ts'
import { runScript, type ScriptCall } from './script-run.ts'
import { watchdog } from './watchdog.ts'
import type { WorkerPool } from './worker-pool.ts'

/** What a run used. */
export interface SandboxStats {
  /** Polls of the interrupt handler: the same for the same script and results. */
  readonly fuel: number
  /** Time the script computed, in ms. */
  readonly cpuMs: number
  /** Calls of tools. */
  readonly calls: number
  /** Memory of the script and its engine at its largest, in bytes. */
  readonly memoryBytes: number
}

export type SandboxResult = {
  /** What the script printed, at most 16 KiB. */
  readonly logs: readonly string[]
  readonly stats: SandboxStats
  /** What the script heard. Absent where that is more than 32 MiB. */
  readonly journal?: Journal
} & (
  | { readonly ok: true; readonly value: Json; readonly error?: never }
  | { readonly ok: false; readonly value?: never; readonly error: SandboxError }
)

/**
 * A tool as a script calls it: gets the arguments as parsed JSON, returns what JSON can write. It may say what it takes,
 * `({ id }: { id: number }) => …`, but nobody checks what a script gives it.
 */
// Of a method, since what that takes may be narrower: a function that is asked for may only take more.
export type ScriptTool = { execute(input: unknown, call: ScriptCall): unknown }['execute']

export interface SandboxRunOptions {
  readonly tools?: Readonly<Record<string, ScriptTool>> | undefined
  /** What an earlier run of the same source recorded: its calls are not made again. */
  readonly journal?: unknown
  /** Called with each result before the script hears it, in order; the script waits for it. */
  readonly record?: ((entry: JournalEntry, journal: Journal) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
  /** What makes two runs the same: where the script's random numbers come from, and the one time it sees, epoch ms. */
  readonly identity?: { readonly seed: string; readonly at: number } | undefined
  /** Told each time the script is set to work, with what settles when it waits for calls alone, or has ended. */
  readonly busy?: ((work: Promise<void>) => void) | undefined
}

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
  const open = () => (opening ??= import('./worker-pool.ts').then(({ openPool }) => openPool(workers, limits)))
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
