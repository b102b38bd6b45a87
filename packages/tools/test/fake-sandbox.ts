import { spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'

import type { VercelCommand, VercelSandbox } from '@provost/tools'
import { FileSystem } from '@vercel/sandbox'

/** A sandbox whose machine is this one: the package's own file system on commands and files of this process. */
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
    async runCommand(command, args = []) {
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      const closed = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
      const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), closed])
      return { exitCode, stdout: async () => stdout, stderr: async () => stderr }
    },
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
