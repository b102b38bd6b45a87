import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

import { servePacked } from '../../scripts/packed-registry.ts'
import type { Outcome, Runtime, Tarballs, Try } from './packed.ts'

const installed = join(import.meta.dirname, 'node_modules')

/** A package manager: how it creates a project, and programs that are not on the PATH, with their files. */
interface Manager {
  readonly name: string
  readonly create: string
  readonly programs?: Readonly<Record<string, string>>
}

/** In the order of the table. */
const managers: readonly Manager[] = [
  { name: 'npm', create: 'npm create provost@latest NAME -- --template NAME --yes' },
  { name: 'pnpm', create: 'pnpm create provost NAME --template NAME --yes' },
  {
    name: 'Yarn 1',
    create: 'yarn create provost NAME --template NAME --yes',
    programs: { yarn: 'yarn/bin/yarn.js' },
  },
  {
    name: 'Yarn 4',
    create: 'yarn create provost NAME --template NAME --yes',
    programs: { yarn: 'yarn-4/bin/yarn.js' },
  },
  {
    name: 'Bun',
    create: 'bun create provost NAME --template NAME --yes',
    programs: { bun: 'bun/bin/bun', bunx: 'bun/bin/bun' },
  },
]

/** The names of all package managers. */
export const managerNames: readonly string[] = managers.map(({ name }) => name)

/** Of all names, those that `--only` names: whole, or else in part. All if it names none of them. */
function chosen(all: readonly string[], only: readonly string[]): readonly string[] {
  const found = all.filter((name) => only.some((part) => part === name || (!all.includes(part) && name.includes(part))))
  return found.length > 0 ? found : all
}

const templates = ['script', 'server', 'team', 'next']

/** Returns the commands in the shell blocks of a README, in their order, without their comments. */
function commandsOf(readme: string): readonly string[] {
  return [...readme.matchAll(/^```sh\n(?<block>[^]*?)^```/gmu)].flatMap(({ groups }) =>
    (groups?.['block'] ?? '')
      .split('\n')
      .map((line) => line.replace(/(?:^|\s+)# .*$/u, ''))
      .filter((line) => line !== ''),
  )
}

/** A package manager, by its name, and what tries each template with it. */
export interface ManagerTry {
  readonly name: string
  readonly attempt: Try
}

/**
 * Returns what creates each template with a package manager in an empty folder, from a registry with the packed packages, and
 * then runs all commands of its README, word for word. Where one names `SESSION`, it gets the session that was printed last.
 *
 * @param only names of package managers and of templates, or parts of them. Default: all.
 */
export function managerTries(folder: string, tarballs: Tarballs, only: readonly string[]): readonly ManagerTry[] {
  const packed = Object.values(tarballs).map((file) => file.slice('file:'.length))
  const names = chosen(managerNames, only)
  const asked = managers.filter(({ name }) => names.includes(name))
  return asked.map((manager) => ({
    name: manager.name,
    attempt: async (runtime) => {
      const registry = await servePacked(packed)
      const home = join(folder, manager.name.replace(' ', '-'))
      mkdirSync(home)
      const env = environment(manager, runtime, registry.url, home)
      const outcomes: Outcome[] = []
      for (const check of chosen(templates, only)) {
        const seen = await firstFault(manager, check, home, env)
        outcomes.push({ check, ok: seen === undefined, ...(seen !== undefined && { seen }) })
      }
      await registry.close()
      return outcomes
    },
  }))
}

/** What a user has, and each package manager's way to name a registry. */
function environment(
  { programs = {} }: Manager,
  { program }: Runtime,
  registry: string,
  home: string,
): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:p?npm_|PROVOST_|CI$)/iu.test(name))
  const folder = join(home, '.programs')
  mkdirSync(folder)
  for (const [name, file] of Object.entries(programs)) {
    const path = join(installed, file)
    if (!file.endsWith('.js')) symlinkSync(path, join(folder, name))
    else writeFileSync(join(folder, name), `#!/bin/sh\nexec node "${path}" "$@"\n`, { mode: 0o755 })
  }
  return {
    ...Object.fromEntries(own),
    PATH: [folder, dirname(program), process.env['PATH'] ?? ''].join(delimiter),
    npm_config_registry: registry,
    pnpm_config_registry: registry,
    YARN_REGISTRY: registry,
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_ENABLE_TELEMETRY: '0',
    // What was packed a moment ago would be too young.
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    // Another packing of the same version may be in the user's.
    YARN_CACHE_FOLDER: join(home, '.cache'),
    npm_config_yes: 'true',
    NEXT_TELEMETRY_DISABLED: '1',
    // A free one.
    PORT: '0',
  }
}

/** @returns the first command that fails, and what it printed. */
async function firstFault(
  { create }: Manager,
  template: string,
  home: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const command = create.replaceAll('NAME', template)
  const made = await ended(command, home, env)
  if (made.code !== 0) return told(command, made)
  const project = join(home, template)
  let session = ''
  for (const line of commandsOf(readFileSync(join(project, 'README.md'), 'utf8'))) {
    const step = line.replace('SESSION', session)
    const result = await ended(step, project, env)
    // A run that waits for an approval.
    const good = result.code === 0 || (result.code === 3 && step.includes('provost run'))
    if (!good) return told(step, result)
    session = /--approve (\S+)/u.exec(result.out)?.[1] ?? session
  }
  return undefined
}

interface Ended {
  /** 0 for a server that was stopped after its page was read. */
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function told(command: string, { code, out, err }: Ended): string {
  return `${command} ended with ${code}: ${out.slice(-1_000)} ${err.slice(-1_000)}`
}

/** Runs a command of a shell to its end. The page of a server is read once it prints its address, then the server is stopped. */
async function ended(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const stop = (): void => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) process.kill(-child.pid)
  }
  const timer = setTimeout(stop, 600_000)
  let out = ''
  let err = ''
  let page: Promise<number | null> | undefined
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    const [url] = /http:\/\/127\.0\.0\.1:\d+(?=\s)/u.exec(out) ?? []
    if (url !== undefined) page ??= statusOf(url).finally(stop)
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return { code: page ? await page : code, out, err }
}

async function statusOf(url: string): Promise<number | null> {
  const response = await fetch(url)
  return response.ok && (await response.text()).includes('<html') ? 0 : response.status
}
