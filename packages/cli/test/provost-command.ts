import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../provost/bin/provost.js', import.meta.url))

/** The module with the agents `desk` and `clerk`. */
export const deskFile = fileURLToPath(new URL('fixture/desk.ts', import.meta.url))
export const desk = `${deskFile}#desk`

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A folder with a store, in which commands are executed. */
export interface Place {
  readonly folder: string
  readonly start: (args: readonly string[], env?: Readonly<Record<string, string>>) => ChildProcess
  /** Starts a shell command in a terminal of its own. The program is `$PROVOST`. */
  readonly inTerminal: (command: string, env: Readonly<Record<string, string>>) => ChildProcess
  readonly provost: (...args: readonly string[]) => Promise<Ended>
  readonly provostWith: (env: Readonly<Record<string, string>>, ...args: readonly string[]) => Promise<Ended>
  readonly remove: () => void
}

/** Makes an empty folder. Each command is the real program, in a process of its own. */
export function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'provost-cli-'))
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const own = { PATH, PROVOST: program, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }
  const start: Place['start'] = (args, env = {}) =>
    spawn(process.execPath, ['--conditions=@provost/source', program, ...args], {
      cwd: folder,
      env: { ...own, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  const provostWith: Place['provostWith'] = async (env, ...args) => ended(start(args, env))
  return {
    folder,
    start,
    inTerminal: (command, env) =>
      spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env: { ...own, SHELL: '/bin/sh', ...env } }),
    provostWith,
    provost: (...args) => provostWith({}, ...args),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Collects what a process writes until it ends. */
export function ended(child: ChildProcess): Promise<Ended> {
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}

/** Whether all cases run. Each process of a case loads the runtime, so by default few of them start one. */
export const full: boolean = process.env['PROVOST_TEST_FULL'] === '1'
