import { execFile, spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { findPostgres, startPostgres } from '@provost/testing'

import { tryClientPage } from './client-page.ts'
import type { Outcome, Runtime, Tarballs, Try } from './packed.ts'
import { packedSettings } from './packed.ts'

const run = promisify(execFile)
const source = join(import.meta.dirname, 'bundlers')

/** How a program comes to a machine. `plain` has its packages beside it; Next is a server of its own. */
const builds = ['plain', 'esbuild', 'Vite SSR', 'webpack', 'Next'] as const
type Build = (typeof builds)[number]

/** What is built: a program for each store, and one with a script. Its name in paths, and its one line of output. */
const parts = [
  { name: 'memory', file: 'memory', prints: 'two turns' },
  { name: 'SQLite', file: 'sqlite', prints: 'two turns' },
  { name: 'PostgreSQL', file: 'postgresql', prints: 'two turns' },
  { name: 'code mode', file: 'code-mode', prints: 'script 7' },
] as const
type Part = (typeof parts)[number]

/** What one runtime has of its own: a database and a file. */
interface Stores {
  readonly DATABASE_URL: string
  readonly STORE: string
}

/**
 * Installs the applications beside the packed packages, builds them, and returns what tries them on a runtime.
 *
 * @param quick only plain, esbuild and Vite, with the stores that need no server; neither workerd nor a browser.
 */
export async function buildTries(folder: string, tarballs: Tarballs, quick: boolean): Promise<readonly Try[]> {
  if (!quick && findPostgres() === undefined)
    throw new Error('PostgreSQL is not installed: apt-get install postgresql. The matrix needs it.')
  const app = join(folder, 'bundlers')
  cpSync(source, app, { recursive: true, filter: (path) => !path.includes('node_modules') })
  const manifest = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')) as { dependencies: object }
  const needed = Object.entries(manifest.dependencies).filter(([name]) => !quick || ['esbuild', 'vite'].includes(name))
  const dependencies = { ...Object.fromEntries(needed), provost: tarballs['provost'] }
  writeFileSync(join(app, 'package.json'), JSON.stringify({ ...manifest, dependencies }))
  writeFileSync(join(app, 'pnpm-workspace.yaml'), packedSettings(tarballs))
  // The lock file names every version but those of the packed packages.
  await run('pnpm', ['install', '--no-frozen-lockfile', '--prefer-offline'], { cwd: app })

  const target = join(folder, 'built')
  const wanted: readonly Build[] = quick ? ['plain', 'esbuild', 'Vite SSR'] : builds
  const tried = quick ? parts.filter(({ name }) => name === 'memory' || name === 'SQLite') : parts
  const made = await run(process.execPath, ['build.mjs', target, ...wanted, ...tried.map(({ name }) => name)], {
    cwd: app,
  })
  const failures = made.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"build"'))
    .map((line) => JSON.parse(line) as { readonly build: string; readonly part: string; readonly seen: string })
  const failed = (build: Build, part: Part): string | undefined =>
    failures.find((one) => one.build === build && [part.name, 'all'].includes(one.part))?.seen

  let count = 0
  const tryBuilds: Try = async (runtime) => {
    const database = quick ? undefined : await startPostgres()
    const stores = { DATABASE_URL: database?.url ?? '', STORE: join(folder, `sessions-${++count}.db`) }
    const outcomes: Outcome[] = []
    for (const build of wanted) {
      const ask = build === 'Next' ? await startNext(runtime, app, stores) : undefined
      for (const part of tried) {
        const seen =
          failed(build, part) ??
          (await failure(async () => {
            const file = build === 'plain' ? app : join(target, build.replace(' ', '-'), part.file)
            const program = join(file, build === 'plain' ? `${part.file}.mjs` : 'app.mjs')
            const out = ask ? await ask.get(part.file) : await printed(runtime, program, stores)
            if (out.trim() !== part.prints) throw new Error(`It printed ${out.slice(0, 500)}`)
          }))
        outcomes.push({ check: `${build}: ${part.name}`, ok: seen === undefined, ...(seen !== undefined && { seen }) })
      }
      await ask?.stop()
    }
    await database?.stop()
    return outcomes
  }
  return quick ? [tryBuilds] : [tryBuilds, once(app, 'workerd', tryWorkerd), once(app, 'a browser', tryClientPage)]
}

/** What only the runtime of the matrix itself tries: it is not the runtime that executes the agent, or the client. */
function once(app: string, where: string, attempt: (app: string) => Promise<void>): Try {
  const check = where === 'workerd' ? 'workerd: memory' : 'Vite: the client and useChat in Chromium'
  return async ({ program }) => {
    if (program !== process.execPath) return []
    const seen = await failure(() => attempt(app))
    return [{ check, ok: seen === undefined, ...(seen !== undefined && { seen }) }]
  }
}

async function tryWorkerd(app: string): Promise<void> {
  const { stdout } = await run(process.execPath, ['workerd.mjs'], { cwd: app, timeout: 120_000 })
  if (stdout.trim() !== 'two turns') throw new Error(`It answered ${stdout.slice(0, 500)}`)
}

async function printed({ program, args }: Runtime, file: string, stores: Stores): Promise<string> {
  const env = { ...process.env, ...stores }
  return (await run(program, [...args, file], { cwd: dirname(file), env, timeout: 120_000 })).stdout
}

/** A Next application that runs: what a route of it answers, and its end. */
interface Running {
  get(part: string): Promise<string>
  stop(): Promise<void>
}

async function startNext({ program, args }: Runtime, app: string, stores: Stores): Promise<Running> {
  const next = [...args, join(app, 'node_modules/next/dist/bin/next'), 'start', '-H', '127.0.0.1', '-p', '0']
  const env = { ...process.env, ...stores, NEXT_TELEMETRY_DISABLED: '1' }
  const child = spawn(program, next, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const url = await new Promise<string | undefined>((resolve) => {
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const [, found] = /(http:\/\/127\.0\.0\.1:\d+)/u.exec(out) ?? []
      if (found !== undefined) resolve(found)
    })
    child.stderr.resume()
    void closed.then(() => resolve(undefined))
  })
  return {
    async get(part) {
      if (url === undefined) return 'nothing: next start ended'
      return (await fetch(`${url}/run/${part}`, { signal: AbortSignal.timeout(60_000) })).text()
    },
    async stop() {
      child.kill('SIGTERM')
      await closed
    },
  }
}

async function failure(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt()
    return undefined
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    return `${String(error)} ${stdout} ${stderr}`.slice(0, 1_500)
  }
}
