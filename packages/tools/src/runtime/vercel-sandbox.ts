import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { checkOptions, ProvostError } from '@provost/core'
import type { KnownKeys, Runtime } from '@provost/core'

import { createCapture } from './capture.ts'
import { createPosixFiles } from './posix-files.ts'
import type { FileFacts, FolderEntry, PosixFiles } from './posix-files.ts'
import { defaultExecTimeoutMs, floodedExitCode, maxOutputBytes, maxPrintedBytes, timedOutExitCode } from './process.ts'

/** The members of a `@vercel/sandbox` command that are used. */
export interface VercelCommand {
  logs(options?: { signal?: AbortSignal }): AsyncIterable<{ stream: 'stdout' | 'stderr'; data: string }>
  wait(options?: { signal?: AbortSignal }): Promise<{ exitCode: number }>
  kill(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** The members of a `@vercel/sandbox` `Sandbox` that are used. */
export interface VercelSandbox {
  readonly fs: {
    realpath(at: string): Promise<string>
    lstat(at: string): Promise<{ isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean; size: number }>
    readFile(at: string): Promise<Uint8Array>
    writeFile(at: string, data: Uint8Array): Promise<void>
    mkdir(at: string, options: { recursive: boolean }): Promise<unknown>
    rename(from: string, to: string): Promise<void>
    unlink(at: string): Promise<void>
  }
  runCommand(command: { cmd: string; args: string[]; cwd: string; detached: true }): Promise<VercelCommand>
  stop(): Promise<unknown>
}

/** Options of {@link vercelSandboxRuntime}. */
export interface VercelSandboxRuntimeOptions {
  /** A sandbox that you made. Default: one with the package's defaults, made by the first use. */
  readonly sandbox?: VercelSandbox
  /** The root of all paths, absolute. Default `/vercel/sandbox`, where commands of a sandbox start. */
  readonly cwd?: string
}

/** A runtime that keeps a virtual machine until it is stopped. */
export interface VercelSandboxRuntime extends Runtime {
  /** Stops the sandbox, also one from the options. Does nothing if none was created. */
  stop(): Promise<void>
}

/** Milliseconds between asking a command to end and ending it. */
const killAfterMs = 1_000
const maxListingCharacters = 16 * 1024 * 1024

const optionKeys = {
  sandbox: true,
  cwd: true,
} satisfies KnownKeys<VercelSandboxRuntimeOptions>

/**
 * Returns a runtime with the files and commands of a virtual machine at Vercel. Needs credentials and the package
 * `@vercel/sandbox`, which the first use loads unless a sandbox is given.
 *
 * @example
 * const sandbox = await Sandbox.create({ timeout: 600_000, networkPolicy: 'deny-all' })
 * const agent = createAgent({ name: 'coder', model, tools: [...fileTools, bashTool], runtime: vercelSandboxRuntime({ sandbox }) })
 *
 * @throws ProvostError `missing-package`, `sandbox-unavailable` at the first use.
 */
export function vercelSandboxRuntime(options: VercelSandboxRuntimeOptions = {}): VercelSandboxRuntime {
  checkOptions(options, optionKeys, 'vercelSandboxRuntime')
  const { cwd = '/vercel/sandbox' } = options
  let started: Promise<VercelSandbox> | undefined = options.sandbox && Promise.resolve(options.sandbox)
  const sandbox = (): Promise<VercelSandbox> =>
    (started ??= createSandbox().catch((error: unknown) => {
      // The next use tries again.
      started = undefined
      throw error
    }))
  const files: PosixFiles = {
    realpath: async (at) => (await sandbox()).fs.realpath(at),
    facts: async (at) => factsOf(await (await sandbox()).fs.lstat(at)),
    read: async (at) => (await sandbox()).fs.readFile(at),
    write: async (at, data) => (await sandbox()).fs.writeFile(at, data),
    makeFolder: async (at) => void (await (await sandbox()).fs.mkdir(at, { recursive: true })),
    rename: async (from, to) => (await sandbox()).fs.rename(from, to),
    remove: async (at) => (await sandbox()).fs.unlink(at),
    entries: async (at) => entriesOf(await sandbox(), at),
  }

  return {
    cwd,
    isolation: 'isolated',
    ...createPosixFiles(cwd, files),
    async stop() {
      if (started) await (await started).stop()
    },
    async exec(command, { cwd: below = '.', timeout = defaultExecTimeoutMs, signal, onOutput } = {}) {
      signal?.throwIfAborted()
      const at = path.posix.resolve(cwd, below)
      const running = await (
        await sandbox()
      ).runCommand({ cmd: 'bash', args: ['-c', command], cwd: at, detached: true })
      const stdout = createCapture(maxOutputBytes, (text) => onOutput?.(text, 'stdout'))
      const stderr = createCapture(maxOutputBytes, (text) => onOutput?.(text, 'stderr'))
      const over = new AbortController()
      let printed = 0
      const listening = listen(running, over.signal, ({ stream, data }) => {
        const bytes = new TextEncoder().encode(data)
        printed += bytes.length
        if (stream === 'stdout') stdout.write(bytes)
        else stderr.write(bytes)
        return printed <= maxPrintedBytes
      })
      try {
        const end = await Promise.race([endOf(running, listening), stopOf(timeout, signal, over.signal)])
        if (end === 'aborted') throw signal?.reason
        if (end === 'timeout') stderr.write(new TextEncoder().encode(`Killed after ${timeout} ms.\n`))
        if (end === 'flooded')
          stderr.write(new TextEncoder().encode(`Killed after printing ${maxPrintedBytes} bytes.\n`))
        const exitCode = end === 'timeout' ? timedOutExitCode : end === 'flooded' ? floodedExitCode : end.exitCode
        if (end === 'timeout' || end === 'flooded') await killed(running)
        return {
          stdout: stdout.text(),
          stderr: stderr.text(),
          exitCode,
          truncated: stdout.truncated || stderr.truncated,
        }
      } catch (error) {
        await killed(running)
        throw error
      } finally {
        over.abort()
        // Later output is ignored.
        listening.catch(() => undefined)
      }
    },
  }
}

async function endOf(command: VercelCommand, listening: Promise<boolean>): Promise<'flooded' | { exitCode: number }> {
  return (await listening) ? 'flooded' : command.wait()
}

/** @returns whether `take` had enough. */
async function listen(
  command: VercelCommand,
  signal: AbortSignal,
  take: (line: { stream: 'stdout' | 'stderr'; data: string }) => boolean,
): Promise<boolean> {
  for await (const line of command.logs({ signal })) {
    if (signal.aborted) break
    if (!take(line)) return true
  }
  return false
}

async function stopOf(
  timeout: number,
  signal: AbortSignal | undefined,
  over: AbortSignal,
): Promise<'timeout' | 'aborted'> {
  const either = signal ? AbortSignal.any([signal, over]) : over
  const late = await sleep(Math.min(timeout, 2 ** 31 - 1), 'timeout' as const, { signal: either }).catch(
    () => undefined,
  )
  return late ?? 'aborted'
}

/** Ends a command, by force if it ignores the request. */
async function killed(command: VercelCommand): Promise<void> {
  await command.kill('SIGTERM').catch(() => undefined)
  const ended = await Promise.race([
    command.wait().then(
      () => true,
      () => true,
    ),
    sleep(killAfterMs, false, { ref: false }),
  ])
  if (!ended) await command.kill('SIGKILL').catch(() => undefined)
}

/** With one command for all of a folder: each costs a round trip. No name has a slash, so that parts them. */
async function entriesOf(sandbox: VercelSandbox, at: string): Promise<readonly FolderEntry[]> {
  const args = [at, '-mindepth', '1', '-maxdepth', '1', '-printf', '%y %s %f/']
  const command = await sandbox.runCommand({ cmd: 'find', args, cwd: '/', detached: true })
  const pieces: string[] = []
  let room = maxListingCharacters
  for await (const { stream, data } of command.logs()) {
    room -= data.length
    if (room < 0) break
    if (stream === 'stdout') pieces.push(data)
  }
  if (room < 0) {
    await killed(command)
    throw new ProvostError('folder-too-large', `The folder ${JSON.stringify(at)} has too many entries to be listed.`, {
      hint: 'List it with a command.',
    })
  }
  const rows = pieces.join('').split('/').slice(0, -1)
  return rows.map((row) => {
    const [type = '', bytes = '', ...name] = row.split(' ')
    return { name: name.join(' '), kind: kinds[type] ?? 'other', bytes: Number(bytes) }
  })
}

const kinds: Readonly<Record<string, FileFacts['kind']>> = { f: 'file', d: 'directory', l: 'link' }

async function createSandbox(): Promise<VercelSandbox> {
  const { Sandbox } = await import('@vercel/sandbox').catch((cause: unknown) => {
    throw new ProvostError('missing-package', 'The package @vercel/sandbox is not installed.', {
      hint: 'Install it: npm install @vercel/sandbox',
      cause,
    })
  })
  return Sandbox.create().catch((cause: unknown) => {
    throw new ProvostError('sandbox-unavailable', 'Vercel did not create a sandbox.', {
      hint: 'Set VERCEL_OIDC_TOKEN (`vercel env pull` writes it), or pass your own `sandbox`, made with a token. See the cause.',
      cause,
    })
  })
}

function factsOf(stats: Awaited<ReturnType<VercelSandbox['fs']['lstat']>>): FileFacts {
  const kind = stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'directory' : stats.isFile() ? 'file' : 'other'
  return { kind, bytes: stats.size }
}
