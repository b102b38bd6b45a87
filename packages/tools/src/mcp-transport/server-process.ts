import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

import type { MaybePromise } from '@provost/core'

import { serverText } from './server-text.ts'

/** A server that runs as a process of this machine, in its own process group. */
export interface ServerProcess {
  /** Writes to its standard input; what it does not read is not waited for. */
  write(text: string): void
  /** Its exit and its last line on stderr; undefined while it runs. */
  ending(): string | undefined
  /** Resolves when it has ended by itself or was killed, and its last output has been read. */
  readonly ended: Promise<void>
  /** Ends it: its input is closed, it is asked to end, it is killed, and with it all of its group. */
  kill(): Promise<void>
}

/** The command of a server. */
export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Milliseconds to end by itself once its input is closed; then to end when asked. */
const eofGraceMs = 100
const termGraceMs = 1_000
/** Milliseconds that what it left behind may hold its pipes. */
const pipeGraceMs = 100
const stderrLength = 4_096
const windows = process.platform === 'win32'

/** Rejects with the error of `spawn` if the process cannot be started. */
export async function startServer(
  { command, args, env, cwd }: ServerCommand,
  onOutput: (chunk: Buffer) => MaybePromise<void>,
): Promise<ServerProcess> {
  const child: ChildProcessWithoutNullStreams = spawn(command, [...args], {
    env,
    ...(cwd !== undefined && { cwd }),
    stdio: 'pipe',
    // Its own group, so that its children end with it.
    detached: !windows,
    windowsHide: true,
  })
  let stderr = ''
  const read = readAll(child.stdout, onOutput)
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrLength)
  })
  // A pipe that breaks belongs to a process that ends, which is noticed below.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
  // Such as a signal that could not be sent.
  child.on('error', () => undefined)
  remember(child)

  let ending: string | undefined
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      ending = signal ? `was ended by ${signal}` : `ended with code ${code}`
      resolve()
    })
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const ended = exited.then(async () => {
    await Promise.race([Promise.all([closed, read]), sleep(pipeGraceMs)])
    const last = serverText(stderr, 1_000)
    if (last) ending = `${ending}, and its last words were: ${last}`
  })

  let killed: Promise<void> | undefined
  const kill = async (): Promise<void> => {
    child.stdin.end()
    await Promise.race([exited, sleep(eofGraceMs)])
    if (ending === undefined) {
      send(child, 'SIGTERM')
      await Promise.race([exited, sleep(termGraceMs)])
    }
    // Also when it has ended: what it has started may not have.
    send(child, 'SIGKILL')
    await exited
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
    running.delete(child)
    await ended
  }
  return {
    write: (text) => void child.stdin.write(text),
    ending: () => ending,
    ended,
    kill: () => (killed ??= kill()),
  }
}

/** Reading pauses until earlier input is consumed, so a fast server waits. */
async function readAll(output: AsyncIterable<Buffer>, onOutput: (chunk: Buffer) => MaybePromise<void>): Promise<void> {
  try {
    for await (const chunk of output) await onOutput(chunk)
  } catch {
    // The pipe of a process that ends may break.
  }
}

function send(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  try {
    if (windows || child.pid === undefined) child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // The process has already ended.
  }
}

/** Servers that run now: they are in no group of a terminal, so they end with this process. */
const running = new Set<ChildProcessWithoutNullStreams>()
let watching = false

function remember(child: ChildProcessWithoutNullStreams): void {
  running.add(child)
  if (!watching) process.once('exit', killAll)
  watching = true
}

function killAll(): void {
  for (const child of running) send(child, 'SIGKILL')
}
