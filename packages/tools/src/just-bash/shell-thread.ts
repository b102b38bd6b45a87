import { Worker } from 'node:worker_threads'

import type { ThreadIsolation } from '@provost/core'
import { ProvostError, threadFlags } from '@provost/core'

import { maxOutputBytes } from '../runtime/process.ts'
import type { KeptEntry, ShellReply, ShellSetup, ShellTask, ShellTasks } from './shell-task.ts'
import { mostKept } from './shell-task.ts'

/** A thread that runs an interpreter, one task after the other. It is started by the first, and again after a kill. */
export interface ShellThread {
  /**
   * Does a task once those before it are done.
   *
   * @param bounds ends the thread when a task takes longer than `timeoutMs` from its begin, or is aborted. What the task
   * did to files is lost then; all that was done before it is kept.
   * @throws ShellKilled where the thread was ended by its time or its memory; the signal's reason where it was aborted.
   */
  run<K extends keyof ShellTasks>(
    task: K,
    input: ShellTasks[K]['input'],
    bounds?: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<ShellTasks[K]['output']>
}

/** The thread of a task was ended. */
export class ShellKilled extends Error {
  readonly why: 'time' | 'memory' | 'files' | 'crash'

  constructor(why: ShellKilled['why'], message: string) {
    super(message)
    this.why = why
  }
}

/** Milliseconds that an idle thread is kept. Files are kept in any case. */
const idleMs = 10_000
/** Milliseconds that a task other than a command may take, and a thread to start. */
const startMs = 30_000
const longestTimerMs = 2 ** 31 - 1

/** Not `import.meta.url` itself, from which bundlers would take the file for one of theirs. */
const here = import.meta.url
const extension = here.endsWith('.ts') ? '.ts' : '.js'
const program = new URL(`./just-bash.worker${extension}`, here)

/** Makes the thread of one runtime. */
export function createShellThread({
  cwd,
  files,
  isolation,
}: Pick<ShellSetup, 'cwd' | 'files'> & { readonly isolation: ThreadIsolation }): ShellThread {
  /** The changes by commands, by path. This is the primary state; each thread has a copy. */
  const kept = new Map<string, KeptEntry>()
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let last: Promise<unknown> = Promise.resolve()

  function end(): void {
    void worker?.terminate()
    worker = undefined
  }

  function start(): Worker {
    const workerData: ShellSetup = { cwd, files, kept: [...kept.values()], maxOutputBytes }
    const started = new Worker(program, {
      workerData,
      env: {},
      argv: [],
      // The thread reads its own code, and cannot write, start processes or load native code.
      execArgv: [...threadFlags(isolation, ['*'], 'justBashRuntime')],
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
      // Whatever it prints is not this process's.
      stdout: true,
      stderr: true,
    })
    started.on('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  function keep(changed: readonly KeptEntry[]): void {
    for (const entry of changed) {
      // The key is deleted and set, so that a recreated parent precedes its contents.
      kept.delete(entry.path)
      if (entry.kind !== 'gone' || entry.fromStart) kept.set(entry.path, entry)
    }
  }

  function perform(
    task: ShellTask,
    timeoutMs: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ShellTasks[keyof ShellTasks]['output']> {
    signal?.throwIfAborted()
    clearTimeout(idle)
    const thread = (worker ??= start())
    thread.ref()
    return new Promise((resolve, reject) => {
      let timer = setTimeout(() => give(new ShellKilled('time', 'It did not start.')), startMs)
      const settle = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        thread.off('message', hear)
        thread.off('error', onError)
        thread.off('exit', onExit)
        thread.unref()
        idle = setTimeout(end, idleMs).unref()
      }
      const give = (reason: unknown): void => {
        settle()
        end()
        reject(reason)
      }
      const onAbort = (): void => give(signal?.reason)
      const onError = (error: Error & { readonly code?: unknown }): void => {
        const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        give(
          new ShellKilled(isMemory ? 'memory' : 'crash', isMemory ? 'It ran out of memory.' : 'The interpreter broke.'),
        )
      }
      const onExit = (): void => give(new ShellKilled('crash', 'The interpreter ended.'))
      const hear = (reply: ShellReply): void => {
        switch (reply.say) {
          case 'begun':
            clearTimeout(timer)
            timer = setTimeout(
              () => give(new ShellKilled('time', 'It took too long.')),
              Math.min(timeoutMs ?? startMs, longestTimerMs),
            )
            return
          case 'done':
            keep(reply.changed)
            settle()
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own thread answers the task it was given
            return resolve(reply.output as ShellTasks[keyof ShellTasks]['output'])
          case 'failed':
            keep(reply.changed)
            settle()
            return reject(withCode(reply.message))
          case 'too-many':
            return give(new ShellKilled('files', `It left ${reply.count} files; ${mostKept} are kept.`))
          case 'missing':
            return give(missing(reply.reason))
        }
      }
      thread.on('message', hear)
      thread.once('error', onError)
      thread.once('exit', onExit)
      signal?.addEventListener('abort', onAbort, { once: true })
      thread.postMessage(task)
    })
  }

  return {
    run(task, input, { timeoutMs, signal } = {}) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the pair of a task's name and its input
      const whole = { task, input } as ShellTask
      const done = last.then(() => perform(whole, timeoutMs, signal))
      last = done.catch(() => {})
      const answer = done as Promise<ShellTasks[typeof task]['output']>
      return signal ? orAborted(answer, signal) : answer
    },
  }
}

/** Rejects at once, also while the task waits for its turn. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Returns the code of an interpreter error, which only its message contains. */
function withCode(message: string): Error {
  const code = /^(E[A-Z]{2,12})\b/.exec(message)?.[1]
  return code === undefined ? new Error(message) : Object.assign(new Error('just-bash refused'), { code })
}

function missing(reason: string): ProvostError {
  if (!/just-bash/.test(reason))
    return new ProvostError('exec-failed', `The interpreter did not start: ${reason.slice(0, 500)}`)
  return new ProvostError('missing-package', 'The package just-bash is not installed.', {
    hint: 'Install it: npm install just-bash',
  })
}
