import path from 'node:path'

import { checkChoice, checkOptions } from '@provost/core'
import type { ExecResult, KnownKeys, Runtime, ThreadIsolation } from '@provost/core'

import { createPosixFiles } from '../runtime/posix-files.ts'
import type { PosixFiles } from '../runtime/posix-files.ts'
import { defaultExecTimeoutMs, timedOutExitCode } from '../runtime/process.ts'
import type { ShellOutput } from './shell-task.ts'
import { createShellThread, ShellKilled } from './shell-thread.ts'

/** Options of {@link justBashRuntime}. */
export interface JustBashRuntimeOptions {
  /** Files that are there from the beginning, by their paths in `cwd`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** The root of all paths, absolute. Default `/work`. */
  readonly cwd?: string
  /** Variables that commands get. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * What a command must break to reach this machine. Default `thread`: the interpreter, and a thread without access to
   * files and processes. Runtimes that cannot restrict a thread (Bun, Deno) refuse it with `no-thread-isolation`. `engine`:
   * the interpreter suffices.
   */
  readonly isolation?: ThreadIsolation
}

const optionKeys = {
  files: true,
  cwd: true,
  env: true,
  isolation: true,
} satisfies KnownKeys<JustBashRuntimeOptions>
/** The exit code of a command that was killed, as of SIGKILL. */
const killedExitCode = 137

/**
 * Returns a runtime with an interpreted shell: files in memory, no processes, no network and nothing of this machine.
 * Its state ends with it. The first use loads the package `just-bash`.
 *
 * The interpreter runs in a separate thread with 256 MB of memory and no variables of this process. Commands and file
 * operations run one after the other, and output arrives when a command ends. A command that exceeds `timeout` or is
 * aborted is killed with its thread. Its changes to files are lost; those of earlier commands are kept. The same
 * applies to a command that needs more memory (exit code 137) or leaves more than 20,000 files.
 *
 * @example
 * const runtime = justBashRuntime({ files: { 'data.csv': 'a,b\n1,2\n' } })
 * const { stdout } = await runtime.exec('cut -d, -f2 data.csv')
 *
 * @throws ProvostError `missing-package` at the first use.
 */
export function justBashRuntime(options: JustBashRuntimeOptions = {}): Runtime {
  checkOptions(options, optionKeys, 'justBashRuntime')
  const { cwd = '/work', files = {}, env = {}, isolation = 'thread' } = options
  checkChoice(isolation, ['thread', 'engine'], 'isolation', 'justBashRuntime')
  const named = Object.entries(files).map(([name, data]) => [path.posix.resolve(cwd, name), data])
  const thread = createShellThread({ cwd, isolation, files: Object.fromEntries(named) })
  const within: PosixFiles = {
    realpath: (at) => thread.run('realpath', at),
    facts: (at) => thread.run('facts', at),
    read: (at) => thread.run('read', at),
    write: (at, data) => thread.run('write', { at, data }),
    makeFolder: (at) => thread.run('makeFolder', at),
    rename: (from, to) => thread.run('rename', { from, to }),
    remove: (at) => thread.run('remove', at),
    entries: (at) => thread.run('entries', at),
  }

  return {
    cwd,
    isolation: 'isolated',
    ...createPosixFiles(cwd, within),
    async exec(command, { cwd: below = '.', timeout = defaultExecTimeoutMs, signal, onOutput } = {}) {
      signal?.throwIfAborted()
      const task = { command, cwd: path.posix.resolve(cwd, below), env: { ...env }, timeoutMs: timeout }
      const output = await thread.run('exec', task, { timeoutMs: timeout, signal }).catch((error: unknown) => {
        if (error instanceof ShellKilled) return killed(error, timeout)
        throw error
      })
      return handedOn(output, onOutput)
    },
  }
}

function killed({ why, message }: ShellKilled, timeoutMs: number): ShellOutput {
  const late = why === 'time'
  const note = late ? `Killed after ${timeoutMs} ms.` : `Killed: ${message}`
  const stderr = `${note} Its changes to files are lost.\n`
  return { stdout: '', stderr, exitCode: late ? timedOutExitCode : killedExitCode, truncated: false }
}

function handedOn(
  output: ShellOutput,
  onOutput: ((chunk: string, stream: 'stdout' | 'stderr') => void) | undefined,
): ExecResult {
  for (const stream of ['stdout', 'stderr'] as const) if (output[stream] !== '') onOutput?.(output[stream], stream)
  return output
}
