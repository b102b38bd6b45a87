import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

const help = `Installs the packed packages in an empty folder and uses them on each runtime.

Usage: npm run matrix -- [options]

  --only NAME   runtimes whose name contains this; repeatable
  --write       writes the table into docs/runtimes.md
  --json        one JSON object on stdout, nothing else
  --help        this text

The runtimes come into bench/matrix/node_modules, by the first use. The exit code is 1 where a check fails.
`

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const home = join(import.meta.dirname, 'matrix')
const installed = join(home, 'node_modules')

/** A runtime: its name in the table, its program and the arguments before the file. */
interface Runtime {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

const runtimes: readonly Runtime[] = [
  { name: 'Node 22.18', program: join(installed, 'node-22.18/bin/node'), args: [] },
  { name: 'Node 24.0', program: join(installed, 'node-24.0/bin/node'), args: [] },
  { name: `Node ${process.versions.node.split('.').slice(0, 2).join('.')}`, program: process.execPath, args: [] },
  { name: 'Bun', program: join(installed, 'bun/bin/bun'), args: [] },
  { name: 'Deno', program: join(installed, 'deno/deno'), args: ['run', '--allow-all', '--quiet'] },
]

/** What came of one check on one runtime. */
interface Outcome {
  readonly check: string
  readonly ok: boolean
  readonly seen?: string
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
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
    ({ name }) => values.only.length === 0 || values.only.some((part) => name.includes(part)),
  )
  if (asked.length === 0) {
    process.stderr.write(`--only names no runtime: ${runtimes.map(({ name }) => name).join(', ')}.\n`)
    process.exitCode = 2
    return
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  if (!existsSync(join(installed, '.modules.yaml'))) {
    say('Installing the runtimes into bench/matrix, this once.')
    await run('pnpm', ['install', '--dir', home, '--frozen-lockfile'])
  }
  const folder = mkdtempSync(join(tmpdir(), 'provost-matrix-'))
  try {
    say('Packing the packages and installing them in an empty folder.')
    await installPacked(folder)
    const table = new Map<string, readonly Outcome[]>()
    for (const runtime of asked) {
      const outcomes = await tryOn(runtime, folder)
      table.set(runtime.name, outcomes)
      const faults = outcomes.filter(({ ok }) => !ok)
      say(`${runtime.name}: ${outcomes.length - faults.length} of ${outcomes.length}`)
      for (const { check, seen } of faults) say(`  ${check}: ${seen}`)
      if (faults.length > 0) process.exitCode = 1
    }
    const rows = pageRows(table)
    if (values.json)
      process.stdout.write(`${JSON.stringify({ bench: 'matrix', outcomes: Object.fromEntries(table) })}\n`)
    else process.stdout.write(`${rows}\n`)
    if (values.write) writePage(rows)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes an application in the folder whose only packages are those of this repository, as `pnpm pack` makes them. */
async function installPacked(folder: string): Promise<void> {
  await run('pnpm', ['--filter', './packages/*', '-r', 'pack', '--pack-destination', folder], { cwd: root })
  const tarballs: Record<string, string> = {}
  for (const manifest of globSync('packages/*/package.json', { cwd: root })) {
    const { name, version } = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as {
      name: string
      version: string
    }
    tarballs[name] = `file:./${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  }
  const dependencies = { provost: tarballs['provost'], 'just-bash': 'latest' }
  const files = {
    'package.json': JSON.stringify({ private: true, type: 'module', dependencies }),
    'pnpm-workspace.yaml': JSON.stringify({
      overrides: tarballs,
      nodeLinker: 'hoisted',
      pmOnFail: 'ignore',
      permissions: { '@mongodb-js/zstd': { build: false }, 'node-liblzma': { build: false } },
    }),
    'checks.mjs': readFileSync(join(home, 'checks.mjs'), 'utf8'),
    'mcp-server.mjs': readFileSync(join(home, 'mcp-server.mjs'), 'utf8'),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  await run('pnpm', ['install', '--prefer-offline'], { cwd: folder })
}

async function tryOn({ program, args }: Runtime, folder: string): Promise<readonly Outcome[]> {
  const ran = await run(program, [...args, 'checks.mjs'], { cwd: folder, timeout: 120_000 }).catch(
    (failed: { readonly stdout: string; readonly stderr: string }) => failed,
  )
  const outcomes = ran.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"check"'))
    .map((line): Outcome => JSON.parse(line) as Outcome)
  return outcomes.length > 0 ? outcomes : [{ check: 'start', ok: false, seen: ran.stderr.slice(0, 500) }]
}

function pageRows(table: ReadonlyMap<string, readonly Outcome[]>): string {
  const checks = [...new Set([...table.values()].flatMap((outcomes) => outcomes.map(({ check }) => check)))]
  const names = [...table.keys()]
  const mark = (name: string, check: string): string =>
    table.get(name)?.find((outcome) => outcome.check === check)?.ok ? 'yes' : '**no**'
  return [
    `| on | ${names.join(' | ')} |`,
    `| --- |${' --- |'.repeat(names.length)}`,
    ...checks.map((check) => `| ${check} | ${names.map((name) => mark(name, check)).join(' | ')} |`),
  ].join('\n')
}

function writePage(rows: string): void {
  const page = join(root, 'docs/runtimes.md')
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, text.replace(/\n\| on \|[^]*?\n(?!\|)/u, `\n${rows}\n`))
}

await main()
