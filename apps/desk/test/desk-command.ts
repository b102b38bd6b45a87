import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'

import { runCommand } from '../src/command.ts'

/** The result of a command. */
export interface Finished {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** An environment without keys and without Ollama. */
const bare = { PATH: process.env['PATH'], OLLAMA_HOST: 'http://127.0.0.1:1' }

/** A new folder for the data of a desk. */
export function folder(): string {
  return mkdtempSync(join(tmpdir(), 'desk-'))
}

/** The desk as a user starts it, in its own process. */
export function launch(args: readonly string[]): ChildProcess {
  const main = join(import.meta.dirname, '../src/main.ts')
  // The compile cache halves the time each of the starts takes.
  const env = { ...bare, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
  return spawn(process.execPath, ['--conditions=@provost/source', main, ...args], { env })
}

/** The end of a process and its output. */
export function finish(child: ChildProcess): Promise<Finished> {
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}

/** A process from its start to its end. */
export function start(...args: readonly string[]): Promise<Finished> {
  return finish(launch(args))
}

/** A running desk, which ends when it is interrupted. */
export interface AtWork {
  readonly finished: Promise<Finished>
  /** Calls back with the output from now on. */
  listen(heard: (text: string) => void): void
  interrupt(): void
}

/** As a process. */
export function startWork(...args: readonly string[]): AtWork {
  const child = launch(args)
  return {
    finished: finish(child),
    listen: (heard) => void child.stdout?.on('data', heard),
    interrupt: () => void child.kill('SIGINT'),
  }
}

/** Runs in this process, which receives an emulated signal. */
export function work(...args: readonly string[]): AtWork {
  const out = new EventEmitter()
  return {
    finished: deskIn({}, (text) => void out.emit('text', text), ...args),
    listen: (heard) => void out.on('text', heard),
    interrupt: () => void process.emit('SIGINT'),
  }
}

/** The same command in this process, without the time of a process start. It leaves only files. */
export function desk(...args: readonly string[]): Promise<Finished> {
  return deskIn({}, () => {}, ...args)
}

/** The same with more environment variables and a callback for its output. */
export async function deskIn(
  more: Readonly<Record<string, string>>,
  heard: (text: string) => void,
  ...args: readonly string[]
): Promise<Finished> {
  const [out, err] = [printed(heard), printed(() => {})]
  const code = await runCommand(args, { env: { ...bare, ...more }, stdin: {}, stdout: out.stream, stderr: err.stream })
  return { code, out: out.text(), err: err.text() }
}

function printed(heard: (text: string) => void): { readonly stream: Writable; text(): string } {
  let text = ''
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      text += chunk
      heard(chunk)
      done()
    },
  })
  return { stream, text: () => text }
}
