import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

import type { VercelCommand, VercelSandbox } from '@provost/tools'
import { FileSystem } from '@vercel/sandbox'
import { afterAll } from 'vitest'

/** A shell that runs one command after another, which is faster than a new shell for each. */
function startShell() {
  const folder = mkdtempSync(path.join(tmpdir(), 'provost-shell-'))
  const [out, err] = [path.join(folder, 'out'), path.join(folder, 'err')]
  const loop = 'while IFS= read -r line; do eval "$line" >"$1" 2>"$2" </dev/null; echo $?; done'
  const bash = spawn('bash', ['-c', loop, 'bash', out, err], { stdio: ['pipe', 'pipe', 'inherit'] })
  const codes = createInterface(bash.stdout)[Symbol.asyncIterator]()
  let last: Promise<unknown> = Promise.resolve()
  const run = async (words: readonly string[]) => {
    bash.stdin.write(`${words.map(quoted).join(' ')}\n`)
    const { value: exitCode } = await codes.next()
    const [stdout, stderr] = [readFileSync(out, 'utf8'), readFileSync(err, 'utf8')]
    return { exitCode: Number(exitCode), stdout: async () => stdout, stderr: async () => stderr }
  }
  return {
    run(...words: readonly string[]): ReturnType<typeof run> {
      const ended = last.then(() => run(words))
      last = ended.catch(() => undefined)
      return ended
    },
    stop() {
      bash.kill()
      rmSync(folder, { recursive: true })
    },
  }
}

function quoted(word: string): string {
  return `$'${word.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`
}

let shell: ReturnType<typeof startShell> | undefined
afterAll(() => shell?.stop())

/** A sandbox on this machine: the file system of the package over commands and files of this process. */
export function fakeSandbox(): VercelSandbox & { readonly stops: number } {
  let stops = 0
  const fs = new FileSystem({
    readFileToBuffer: ({ path: at }) => readFile(at).catch(() => null),
    writeFiles: async (files) => {
      for (const file of files) {
        await mkdir(path.dirname(file.path), { recursive: true })
        await writeFile(file.path, file.content)
      }
    },
    mkDir: async (at) => void (await mkdir(at, { recursive: true })),
    runCommand: (command, args = []) => (shell ??= startShell()).run(command, ...args),
  })
  return {
    fs,
    runCommand: async ({ cmd, args, cwd }) => localCommand(cmd, args, cwd),
    stop: async () => stops++,
    get stops() {
      return stops
    },
  }
}

function localCommand(command: string, args: readonly string[], cwd: string): VercelCommand {
  const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 137)))
  return {
    async *logs() {
      type Line = { stream: 'stdout' | 'stderr'; data: string }
      const lines: Line[] = []
      let wake = (): void => undefined
      const state = { open: true }
      for (const stream of ['stdout', 'stderr'] as const)
        child[stream].setEncoding('utf8').on('data', (data: string) => {
          lines.push({ stream, data })
          wake()
        })
      void closed.then(() => {
        state.open = false
        wake()
      })
      while (state.open || lines.length > 0) {
        const line = lines.shift()
        if (line) yield line
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    wait: async () => ({ exitCode: await closed }),
    async kill(signal = 'SIGTERM') {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    },
  }
}
