import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import type { ExecResult } from '@provost/core'

import { createCapture } from './capture.ts'
import { killStrays, markName } from './stray.ts'

/** Bytes of stdout and of stderr each that are kept. */
export const maxOutputBytes: number = 1024 * 1024
/** Bytes of stdout and stderr together after which a command is ended. */
export const maxPrintedBytes: number = 64 * 1024 * 1024
/** Milliseconds that a command may take by default. */
export const defaultExecTimeoutMs: number = 120_000
/** The exit code of a command that ran out of time, as of `timeout(1)`. */
export const timedOutExitCode: number = 124

/** The exit code of a command that printed too much, as of one whose reader has gone. */
export const floodedExitCode: number = 128 + constants.signals.SIGPIPE

/** Milliseconds between asking a group to end and ending it. */
const killAfterMs = 1_000
/** Milliseconds that a pipe may stay open after the group has ended: a process that left the group holds it. */
const pipeGraceMs = 100
const pollMs = 10
const longestTimerMs = 2 ** 31 - 1

/** One command to run. */
export interface Command {
  readonly command: string
  /** Absolute. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly onOutput: ((chunk: string, stream: 'stdout' | 'stderr') => void) | undefined
}

/**
 * Runs a shell command in its own process group. The call ends when the shell ends, times out or is aborted. By then
 * all its processes have ended, unless one cannot be killed or hides (see {@link killStrays}).
 *
 * @throws ProvostError `exec-failed` when it cannot be started; the signal's reason when it was aborted;
 * what `onOutput` throws, which ends the command.
 */
export async function runCommand(options: Command): Promise<ExecResult> {
  const { signal, timeoutMs } = options
  signal?.throwIfAborted()
  if (options.command.includes('\0'))
    throw new ProvostError('exec-failed', 'The command contains a NUL character, which no shell accepts.', {
      hint: "Write the command without it; printf '\\0' prints one.",
    })
  let broken: { readonly error: unknown } | undefined
  const hand = (text: string, stream: 'stdout' | 'stderr'): void => {
    try {
      options.onOutput?.(text, stream)
    } catch (error) {
      broken ??= { error }
      end()
    }
  }
  const stdout = createCapture(maxOutputBytes, (text) => hand(text, 'stdout'))
  const stderr = createCapture(maxOutputBytes, (text) => hand(text, 'stderr'))
  const mark = randomUUID()
  let printed = 0
  const { exited, closed, group, release } = await start(options, mark, (chunk, stream) => {
    printed += chunk.length
    if (printed > maxPrintedBytes) cutShort({ exitCode: floodedExitCode, note: `printing ${maxPrintedBytes} bytes` })
    if (stream === 'stdout') stdout.write(chunk)
    else stderr.write(chunk)
  })

  let cut: { readonly exitCode: number; readonly note: string } | undefined
  let killer: NodeJS.Timeout | undefined
  const end = (): void => {
    signalGroup(group, 'SIGTERM')
    // A shell that ignores the request would otherwise never exit.
    killer ??= setTimeout(signalGroup, killAfterMs, group, 'SIGKILL')
  }
  const cutShort = (why: NonNullable<typeof cut>): void => {
    if (cut) return
    cut = why
    end()
  }
  const timer = setTimeout(
    () => cutShort({ exitCode: timedOutExitCode, note: `${timeoutMs} ms` }),
    Math.min(timeoutMs, longestTimerMs),
  )
  if (signal?.aborted) end()
  signal?.addEventListener('abort', end, { once: true })
  try {
    const exitCode = await exited
    await sweep(group, closed)
    const ended = closed.then(() => true)
    const quiet = await Promise.race([ended, sleep(pipeGraceMs, false, { ref: false })])
    // Something may have left the group. Ids go up, so a look at the younger ones is enough unless there is a reason.
    await killStrays(mark, quiet && !cut && !signal?.aborted ? group : 1)
    if (!quiet) await Promise.race([ended, sleep(pipeGraceMs, false, { ref: false })])
    if (signal?.aborted) throw signal.reason
    if (broken) throw broken.error
    return {
      stdout: stdout.text(),
      stderr: cut ? withNote(stderr.text(), `Killed after ${cut.note}.`) : stderr.text(),
      exitCode: cut?.exitCode ?? exitCode,
      truncated: stdout.truncated || stderr.truncated,
    }
  } finally {
    clearTimeout(timer)
    clearTimeout(killer)
    signal?.removeEventListener('abort', end)
    release()
  }
}

interface Started {
  /** The id of the process group, the shell's own. */
  readonly group: number
  /** The shell's exit code. */
  readonly exited: Promise<number>
  /** Resolves when all processes have closed the pipes. */
  readonly closed: Promise<void>
  /** Closes the pipes on this side, even if a process still holds them. */
  release(): void
}

async function start(
  { command, cwd, env }: Command,
  mark: string,
  onData: (chunk: Uint8Array, stream: 'stdout' | 'stderr') => void,
): Promise<Started> {
  try {
    // The last pipe carries no data: all processes of the shell inherit it, so it closes when all of them have ended.
    const child = spawn(shell(), ['-c', command], {
      cwd,
      env: { ...env, [markName]: mark },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    const group = child.pid
    if (group === undefined) throw new Error('it has no process id')
    remember(group)
    const pipes = child.stdio.filter((stream) => stream instanceof Readable)
    child.stdout?.on('data', (chunk: Buffer) => onData(chunk, 'stdout'))
    child.stderr?.on('data', (chunk: Buffer) => onData(chunk, 'stderr'))
    pipes.at(-1)?.resume()
    // A pipe that breaks has ended, which is all there is to know.
    for (const pipe of pipes) pipe.on('error', () => undefined)
    return {
      group,
      exited: new Promise((resolve) =>
        child.once('exit', (code, name) => resolve(code ?? 128 + constants.signals[name ?? 'SIGKILL'])),
      ),
      closed: new Promise((resolve) => child.once('close', () => resolve())),
      release() {
        for (const pipe of pipes) pipe.destroy()
        groups.delete(group)
      },
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ProvostError('exec-failed', `The command could not be started: ${why}.`, {
      hint: 'Check that the working directory exists and that there is a shell.',
      cause,
    })
  }
}

/** Ends what the shell left behind: asked first, then killed. */
async function sweep(group: number, closed: Promise<void>): Promise<void> {
  // Zombie processes still count as a group, so the pipes are checked as well.
  const ended = closed.then(() => true)
  const last = performance.now() + killAfterMs
  let left = signalGroup(group, 'SIGTERM')
  while (left && performance.now() < last)
    left = !(await Promise.race([ended, sleep(pollMs, false)])) && signalGroup(group, 0)
  signalGroup(group, 'SIGKILL')
}

/** @returns whether the group still has a process that receives the signal. */
function signalGroup(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, name)
    return true
  } catch {
    return false
  }
}

/** Groups that run now: they do not get a terminal's Ctrl-C, so they end with this process. */
const groups = new Set<number>()
let watching = false

function remember(group: number): void {
  groups.add(group)
  if (!watching) process.once('exit', killAll)
  watching = true
}

function killAll(): void {
  for (const group of groups) signalGroup(group, 'SIGKILL')
}

let knownShell: string | undefined

function shell(): string {
  return (knownShell ??= existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh')
}

function withNote(text: string, note: string): string {
  return text === '' || text.endsWith('\n') ? `${text}${note}\n` : `${text}\n${note}\n`
}
