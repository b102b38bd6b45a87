import path from 'node:path'

import { checkOptions, ProvostError } from '@provost/core'
import type { ExecResult, KnownKeys, Runtime } from '@provost/core'

import { createCapture } from './capture.ts'
import { createPosixFiles } from './posix-files.ts'
import type { FileFacts, PosixFiles } from './posix-files.ts'
import { defaultExecTimeoutMs, maxOutputBytes, timedOutExitCode } from './process.ts'

/** What {@link justBashRuntime} takes. */
export interface JustBashRuntimeOptions {
  /** Files that are there from the beginning, by their paths in `cwd`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** The root of all paths, absolute. Default `/work`. */
  readonly cwd?: string
  /** Variables that commands get. */
  readonly env?: Readonly<Record<string, string>>
}

const optionKeys = {
  files: true,
  cwd: true,
  env: true,
} satisfies KnownKeys<JustBashRuntimeOptions>

/**
 * A shell that is an interpreter: it has files of its own in memory, no processes, no network and nothing of this
 * machine, and forgets all when it is dropped. Needs the package `just-bash`, which is loaded by the first use.
 *
 * Output comes when a command is done, not as it is made. A command that computes without a pause holds up this process
 * until it ends or meets a limit of the interpreter; a worker thread around it is the cure where that matters.
 *
 * @example
 * const runtime = justBashRuntime({ files: { 'data.csv': 'a,b\n1,2\n' } })
 * const { stdout } = await runtime.exec('cut -d, -f2 data.csv')
 *
 * @throws ProvostError `missing-package` at the first use.
 */
export function justBashRuntime(options: JustBashRuntimeOptions = {}): Runtime {
  checkOptions(options, optionKeys, 'justBashRuntime')
  const { cwd = '/work', files = {}, env = {} } = options
  let started: ReturnType<typeof startBash> | undefined
  const bash = (): ReturnType<typeof startBash> => (started ??= startBash(cwd, files))
  const within: PosixFiles = {
    realpath: async (at) => (await bash()).fs.realpath(at).catch(withCode),
    facts: async (at) => factsOf(await (await bash()).fs.lstat(at).catch(withCode)),
    read: async (at) => (await bash()).fs.readFileBuffer(at).catch(withCode),
    write: async (at, data) => (await bash()).fs.writeFile(at, data).catch(withCode),
    makeFolder: async (at) => (await bash()).fs.mkdir(at, { recursive: true }).catch(withCode),
    rename: async (from, to) => (await bash()).fs.mv(from, to).catch(withCode),
    remove: async (at) => (await bash()).fs.rm(at).catch(withCode),
    entries: async (at) => {
      const names = await (await bash()).fs.readdir(at).catch(withCode)
      return Promise.all(names.map(async (name) => ({ name, ...(await within.facts(path.posix.join(at, name))) })))
    },
  }

  return {
    cwd,
    isolation: 'isolated',
    ...createPosixFiles(cwd, within),
    async exec(command, { cwd: below = '.', timeout = defaultExecTimeoutMs, signal, onOutput } = {}) {
      signal?.throwIfAborted()
      const { Bash, fs } = await bash()
      const late = AbortSignal.timeout(Math.min(timeout, 2 ** 31 - 1))
      // A shell for each command: they share the files and nothing else, and each has its own time.
      const shell = new Bash({ fs, cwd, env: { ...env }, executionLimits: { maxExecutionTimeMs: timeout } })
      const result = await shell.exec(command, {
        cwd: path.posix.resolve(cwd, below),
        signal: signal ? AbortSignal.any([signal, late]) : late,
      })
      signal?.throwIfAborted()
      return resultOf(result, late.aborted ? timeout : undefined, onOutput)
    },
  }
}

async function startBash(cwd: string, files: Readonly<Record<string, string | Uint8Array>>) {
  const { Bash } = await import('just-bash').catch((cause: unknown) => {
    throw new ProvostError('missing-package', 'The package just-bash is not installed.', {
      hint: 'Install it: npm install just-bash',
      cause,
    })
  })
  const named = Object.entries(files).map(([name, data]) => [path.posix.resolve(cwd, name), data])
  const { fs } = new Bash({ files: Object.fromEntries(named), cwd })
  await fs.mkdir(cwd, { recursive: true })
  return { Bash, fs }
}

function factsOf(stat: { isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean; size: number }): FileFacts {
  const kind = stat.isSymbolicLink ? 'link' : stat.isDirectory ? 'directory' : stat.isFile ? 'file' : 'other'
  return { kind, bytes: stat.size }
}

/** Its errors say their code in their message only. */
function withCode(error: unknown): never {
  const code = error instanceof Error ? /^(E[A-Z]{2,12})\b/.exec(error.message)?.[1] : undefined
  throw code === undefined ? error : Object.assign(new Error('just-bash refused'), { code, cause: error })
}

function resultOf(
  result: { readonly stdout: string; readonly stderr: string; readonly exitCode: number },
  timedOutAfter: number | undefined,
  onOutput: ((chunk: string, stream: 'stdout' | 'stderr') => void) | undefined,
): ExecResult {
  const bounded = (text: string, stream: 'stdout' | 'stderr') => {
    const capture = createCapture(maxOutputBytes, (piece) => onOutput?.(piece, stream))
    capture.write(new TextEncoder().encode(text))
    return capture
  }
  const stdout = bounded(result.stdout, 'stdout')
  const note = timedOutAfter === undefined ? '' : `Killed after ${timedOutAfter} ms.\n`
  const stderr = bounded(timedOutAfter === undefined ? result.stderr : note, 'stderr')
  return {
    stdout: stdout.text(),
    stderr: stderr.text(),
    exitCode: timedOutAfter === undefined ? result.exitCode : timedOutExitCode,
    truncated: stdout.truncated || stderr.truncated,
  }
}
