import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

import { buildTries } from './matrix/builds.ts'
import { commandTries } from './matrix/commands.ts'
import { managerNames, managerTries } from './matrix/managers.ts'
import { oldNodeTries } from './matrix/old-nodes.ts'
import type { Outcome, Runtime, Tarballs, Try } from './matrix/packed.ts'
import { installPacked, pack } from './matrix/packed.ts'

const help = `Installs the packed packages in an empty folder and uses them on each runtime.

Usage: npm run matrix -- [options]

  --only NAME   runtimes whose name contains this; repeatable
  --unbundled   leaves out everything that is built: bundlers, Next, workerd, a browser
  --quick       only this Node: everyday use, and plain, esbuild and Vite with a store in memory and SQLite
  --templates   instead: creates each template of create-provost, tests and starts it, on Node
  --managers    instead: creates each template with npm, pnpm, Yarn 1, Yarn 4 and Bun, and runs the commands of its README;
                --only names package managers and templates
  --built       takes the build that is there, instead of building anew from emptied folders
  --write       writes what was tried into its table of docs/runtimes.md; other cells stay
  --json        one JSON object on stdout, nothing else
  --help        this text

The runtimes come into bench/matrix/node_modules, by the first use. The exit code is 1 where a check fails.
`

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const home = join(import.meta.dirname, 'matrix')
const installed = join(home, 'node_modules')

const runtimes: readonly Runtime[] = [
  { name: 'Node 22.18', program: join(installed, 'node-22.18/bin/node'), args: [] },
  { name: 'Node 24.0', program: join(installed, 'node-24.0/bin/node'), args: [] },
  { name: `Node ${process.versions.node.split('.').slice(0, 2).join('.')}`, program: process.execPath, args: [] },
  { name: 'Bun', program: join(installed, 'bun/bin/bun'), args: [] },
  { name: 'Deno', program: join(installed, 'deno/deno'), args: ['run', '--allow-all', '--quiet'] },
]

/** An application in an empty folder: what it installs beside the packed packages, and the program that checks it. */
interface Application {
  readonly program: string
  readonly dependencies: Readonly<Record<string, string>>
  /** Packed packages that it names itself. Default: all. */
  readonly packed?: readonly string[]
}

const everyday: Application = { program: 'checks.mjs', packed: ['provost'], dependencies: { 'just-bash': '^3.4.0' } }
const typed: Application = {
  program: 'types.mjs',
  dependencies: { '@types/node': '^24.19.2', typescript: '^7.0.2' },
}
const typedPeers: Application = {
  program: 'types.mjs',
  dependencies: {
    ...typed.dependencies,
    '@types/pg': '^8.23.1',
    ai: '^7.0.173',
    kysely: '^0.29.9',
    pg: '^8.23.1',
    pino: '^10.4.0',
  },
}
/** It asks the compiler, and runs on this Node only: other runtimes have rows of their own. */
const readmes: Application = { ...typedPeers, program: 'readmes.mjs' }
const traced: readonly Application[] = [
  { '@opentelemetry/api': '1.9.1', '@opentelemetry/sdk-trace-base': '^2.12.0' },
  { '@opentelemetry/api': '^1.10.0', '@opentelemetry/sdk-trace': '^3.1.1' },
].map((dependencies) => ({ program: 'telemetry.mjs', packed: ['provost', '@provost/telemetry'], dependencies }))

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      unbundled: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      templates: { type: 'boolean', default: false },
      managers: { type: 'boolean', default: false },
      built: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const asked = runtimes.filter(
    ({ name, program }) =>
      (values.managers || values.only.length === 0 || values.only.some((part) => name.includes(part))) &&
      (!(values.quick || values.managers) || program === process.execPath) &&
      (!values.templates || name.startsWith('Node')),
  )
  if (asked.length === 0) {
    process.stderr.write(`--only names no runtime: ${runtimes.map(({ name }) => name).join(', ')}.\n`)
    process.exitCode = 2
    return
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  if (!values.quick && !existsSync(join(installed, '.modules.yaml'))) {
    say('Installing the runtimes into bench/matrix, this once.')
    await run('pnpm', ['install', '--dir', home, '--frozen-lockfile'])
  }
  const folder = mkdtempSync(join(tmpdir(), 'provost-matrix-'))
  try {
    say('Packing the packages and installing them in empty folders.')
    const tarballs = await pack(folder, values.built)
    const columns = await columnsOf(folder, tarballs, asked, values)
    const table = new Map<string, readonly Outcome[]>()
    for (const { name, tryAll } of columns) {
      const outcomes = await tryAll()
      table.set(name, outcomes)
      const faults = outcomes.filter(({ ok }) => !ok)
      say(`${name}: ${outcomes.length - faults.length} of ${outcomes.length}`)
      for (const { check, seen } of faults) say(`  ${check}: ${seen}`)
      if (faults.length > 0) process.exitCode = 1
    }
    const page = values.managers ? managersTable : runtimesTable
    const rows = pageRows(page, marksOf(table))
    if (values.json)
      process.stdout.write(`${JSON.stringify({ bench: 'matrix', outcomes: Object.fromEntries(table) })}\n`)
    else process.stdout.write(`${rows}\n`)
    if (values.write) writePage(page, marksOf(table))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What one run of the matrix tries. */
interface Chosen {
  readonly only: readonly string[]
  readonly unbundled: boolean
  readonly quick: boolean
  readonly templates: boolean
  readonly managers: boolean
}

/** A column of the table. */
interface Column {
  readonly name: string
  readonly tryAll: () => Promise<readonly Outcome[]>
}

async function columnsOf(
  folder: string,
  tarballs: Tarballs,
  asked: readonly Runtime[],
  chosen: Chosen,
): Promise<readonly Column[]> {
  if (chosen.managers) {
    const managers = managerTries(folder, tarballs, chosen.only)
    return asked.flatMap((runtime) =>
      managers.map(({ name, attempt }): Column => ({ name, tryAll: () => attempt(runtime) })),
    )
  }
  const tries = await (chosen.templates ? templateTries(folder, tarballs) : applicationTries(folder, tarballs, chosen))
  return asked.map((runtime) => ({
    name: runtime.name,
    tryAll: async () => (await Promise.all(tries.map((attempt) => attempt(runtime)))).flat(),
  }))
}

async function applicationTries(
  folder: string,
  tarballs: Tarballs,
  { unbundled, quick }: Chosen,
): Promise<readonly Try[]> {
  const tries: Try[] = []
  const applications = quick ? [everyday] : [everyday, ...traced, typed, typedPeers]
  for (const [n, application] of applications.entries()) {
    const file = await install(application, join(folder, String(n)), tarballs)
    tries.push((runtime) => tryOn(runtime, file))
  }
  if (!quick) {
    const file = await install(readmes, join(folder, 'readmes'), tarballs)
    tries.push(async (runtime) => (runtime.program === process.execPath ? tryOn(runtime, file) : []))
    tries.push(...(await commandTries(folder, tarballs)), ...(await oldNodeTries(folder, tarballs)))
  }
  return unbundled ? tries : [...tries, ...(await buildTries(folder, tarballs, quick))]
}

/** Loaded only here: it needs a browser. */
async function templateTries(folder: string, tarballs: Tarballs): Promise<readonly Try[]> {
  const { createTemplates, tryTemplate } = await import('./matrix/templates.ts')
  const projects = await createTemplates(folder, tarballs)
  return projects.map((project) => (runtime) => tryTemplate(runtime.program, project))
}

/** Makes an application whose packages of this repository are the packed ones. @returns the path of its program. */
async function install(
  { program, packed, dependencies }: Application,
  folder: string,
  tarballs: Tarballs,
): Promise<string> {
  mkdirSync(folder)
  const own = packed ? Object.fromEntries(packed.map((name) => [name, tarballs[name]])) : tarballs
  const manifest = { private: true, type: 'module', dependencies: { ...own, ...dependencies } }
  for (const name of [program, 'mcp-server.mjs']) copyFileSync(join(home, name), join(folder, name))
  await installPacked(folder, tarballs, manifest)
  return join(folder, program)
}

async function tryOn({ program, args }: Runtime, file: string): Promise<readonly Outcome[]> {
  let ended = true
  const ran = await run(program, [...args, file], { cwd: dirname(file), timeout: 240_000 }).catch(
    (failed: { readonly stdout: string; readonly stderr: string }) => {
      ended = false
      return failed
    },
  )
  const outcomes = ran.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"check"'))
    .map((line): Outcome => JSON.parse(line) as Outcome)
  // A program that dies in the middle has printed only what passed before.
  if (ended || outcomes.some(({ ok }) => !ok)) return outcomes
  return [...outcomes, { check: `${basename(file)} ends`, ok: false, seen: ran.stderr.slice(0, 500) }]
}

/** Cells of the table: by check, then by runtime. */
type Marks = Map<string, Map<string, string>>

function marksOf(table: ReadonlyMap<string, readonly Outcome[]>): Marks {
  const marks: Marks = new Map()
  for (const [name, outcomes] of table) {
    for (const { check, ok } of outcomes) {
      const row = marks.get(check) ?? new Map<string, string>()
      marks.set(check, row.set(name, ok ? 'yes' : '**no**'))
    }
  }
  return marks
}

/** A table of the page: its first heading, by which it is found, and all of its columns. */
interface PageTable {
  readonly heading: string
  readonly columns: readonly string[]
}

const runtimesTable: PageTable = { heading: 'on', columns: runtimes.map(({ name }) => name) }
const managersTable: PageTable = { heading: 'template', columns: managerNames }

function pageRows({ heading, columns }: PageTable, marks: Marks): string {
  const names = columns.filter((name) => [...marks.values()].some((row) => row.has(name)))
  return [
    `| ${heading} | ${names.join(' | ')} |`,
    `| --- |${' --- |'.repeat(names.length)}`,
    ...[...marks].map(([check, row]) => `| ${check} | ${names.map((name) => row.get(name) ?? '').join(' | ')} |`),
  ].join('\n')
}

function writePage(table: PageTable, tried: Marks): void {
  const page = join(root, 'docs/runtimes.md')
  const text = readFileSync(page, 'utf8')
  const tableOfPage = new RegExp(String.raw`\n(?<rows>\| ${table.heading} +\|[^]*?)\n(?!\|)`, 'u')
  const [head = [], , ...rows] = (tableOfPage.exec(text)?.groups?.['rows'] ?? '').split('\n').map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  const marks: Marks = new Map()
  for (const [check = '', ...cells] of rows) {
    const known = cells.flatMap((cell, n): [string, string][] => (cell === '' ? [] : [[head[n + 1] ?? '', cell]]))
    marks.set(check, new Map([...known, ...(tried.get(check) ?? [])]))
  }
  for (const [check, row] of tried) if (!marks.has(check)) marks.set(check, row)
  writeFileSync(
    page,
    text.replace(tableOfPage, () => `\n${pageRows(table, marks)}\n`),
  )
}

await main()
