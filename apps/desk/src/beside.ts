import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Agent, SessionStore } from 'provost'
import { createServer, serve } from 'provost/server'

import type { Desk } from './desk.ts'
import { DeskError } from './fault.ts'

/** The console, served beside a desk at work. */
export interface Beside {
  /** With the token of this start. */
  readonly url: string
  /** Of the guided tour. */
  readonly tourUrl: string
  /** Whether the page is being built. The addresses answer once it is. */
  readonly isBuilding: boolean
  /** Resolves with the problem of a page that could not be built. */
  readonly problem: Promise<unknown>
  close(): Promise<void>
}

/**
 * Serves the console over the sessions of a desk, at a free port of this machine. It takes no session from the store: the desk
 * works on them, and the console resumes those that its reader decides.
 */
export async function openBeside(agent: Agent<string, Desk>, store: SessionStore, desk: Desk): Promise<Beside> {
  const isBuilding = !(await isPageBuilt())
  const page = (isBuilding ? buildPage() : Promise.resolve()).then(() => import('@provost/console'))
  const problem = page.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  const server = createServer({ agents: [agent], store, context: () => desk, concurrency: 0, console: { page } })
  const listening = await serve(server, { port: 0 })
  const { url, consoleUrl = url } = listening
  return {
    url: consoleUrl,
    tourUrl: consoleUrl.replace('#', 'tour#'),
    ...{ isBuilding, problem },
    close: () => listening.close({ graceMs: 2_000 }),
  }
}

const folder = fileURLToPath(new URL('..', import.meta.resolve('@provost/console')))

/** Whether the built page of the console is newer than its sources. */
async function isPageBuilt(): Promise<boolean> {
  const built = await timeOf(join(folder, 'dist/page/index.html'))
  const sources = ['index.html', 'vite.config.ts']
  for await (const file of glob('src/**/*.{ts,tsx,css}', { cwd: folder })) sources.push(file)
  const times = await Promise.all(sources.map((file) => timeOf(join(folder, file))))
  return built > Math.max(...times)
}

async function buildPage(): Promise<void> {
  const vite = join(folder, 'node_modules/vite/bin/vite.js')
  const child = spawn(process.execPath, [vite, 'build', '--logLevel', 'error'], { cwd: folder, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new DeskError('usage', 'The console could not be built: pnpm build says why')
}

/** Returns when a file was written; 0 for one that is not there. */
async function timeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.mtimeMs ?? 0
}
