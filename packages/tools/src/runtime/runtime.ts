import path from 'node:path'

import type { KnownKeys, Runtime } from '@provost/core'
import { checkOptions } from '@provost/core'

import { confineTo } from './confine.ts'
import { createDisk } from './disk.ts'
import { defaultExecTimeoutMs, runCommand } from './process.ts'

/** Options of {@link nodeRuntime}. */
export interface NodeRuntimeOptions {
  /** The root of all paths. Default: the working directory of this process. */
  readonly cwd?: string
  /** Variables of commands besides PATH, HOME, LANG, TERM and TMPDIR of this process. */
  readonly env?: Readonly<Record<string, string>>
}

const inherited = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR']

const optionKeys = {
  cwd: true,
  env: true,
} satisfies KnownKeys<NodeRuntimeOptions>

/**
 * Files and processes of this machine.
 *
 * Files are confined to `cwd`: `..`, NUL and links that lead out are rejected, writes are atomic, and files of more
 * than 64 MB are not read. Its isolation is `process`. Commands start inside `cwd`, but are *not* confined to it: they
 * have the rights and the network of this process. They run in a process group that ends with the call (SIGTERM, after
 * a second SIGKILL), for at most 120 s by default, with a few environment variables. The first 1 MB of stdout and of
 * stderr each is kept. A command that times out has the exit code 124 and a note in stderr. Needs a POSIX system.
 *
 * @example
 * const runtime = nodeRuntime({ cwd: '/srv/project' })
 * const { stdout } = await runtime.exec('git status --short', { timeout: 10_000 })
 */
export function nodeRuntime(options: NodeRuntimeOptions = {}): Runtime {
  checkOptions(options, optionKeys, 'nodeRuntime')
  const cwd = path.resolve(options.cwd ?? process.cwd())
  const root = confineTo(cwd)
  return {
    cwd,
    isolation: 'process',
    ...createDisk(cwd),
    exec: async (command, { cwd: below = '.', timeout = defaultExecTimeoutMs, signal, onOutput } = {}) =>
      runCommand({
        command,
        cwd: below === '.' ? cwd : await root.existing(below),
        env: { ...handedDown(), ...options.env },
        timeoutMs: timeout,
        signal,
        onOutput,
      }),
  }
}

function handedDown(): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return env
}
