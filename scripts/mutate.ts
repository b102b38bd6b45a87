/** `pnpm mutate`: see the help text below. */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const help = `pnpm mutate [SLICE…] [options]

Changes the source of the agent's kernel one small step at a time, and runs the tests that reach each change. A change
that no test notices has survived: it is printed as a diff.

SLICE is a folder or a file of packages/agent/src, or lines of a file:
  pnpm mutate inbox
  pnpm mutate tools/reconcile-call.ts
  pnpm mutate tree/budget.ts:75-101

  --since REF      only the kernel files that differ from a commit or branch
  --every-test     all tests of the package, not only the quick ones of the subject
  --every-mutator  empty strings, objects and lists too, and removed \`?.\`
  --jobs N         test processes at the same time (default: half of the cores)
  --help           this text

Without a slice it changes all kernel folders, which takes hours. The reports are in .mutate/: NAME.html for people,
NAME.json for programs.
`

const root = dirname(import.meta.dirname)
const source = 'packages/agent/src'
/** The kernel folders, each with the test folders, and the packages above the agent, that cover it. */
const kernel: Readonly<Record<string, readonly string[]>> = {
  state: ['state', 'run', 'session', 'children', 'tools'],
  reducers: ['state', 'session', 'children', 'composite', 'tools', 'hooks', 'replay'],
  entries: ['state', 'session', 'children', 'composite', 'tools', 'crash'],
  control: ['run', 'session', 'children', 'composite', 'hooks'],
  inbox: ['inbox', 'session', 'messages', 'children'],
  tools: ['tools', 'hooks', 'state', 'crash'],
  question: ['tools', 'hooks', 'state'],
  tree: ['tree', 'children', 'run', 'teams'],
  log: ['log', 'run', 'session', 'crash', 'events'],
  operations: ['composite', 'children', 'crash'],
  children: ['children', 'session', 'tree', 'composite', 'teams', 'replay'],
  session: ['session', 'inbox', 'log', 'messages'],
  run: ['run', 'session', 'log', 'crash', 'state'],
}
const tool = join(root, 'scripts/mutate')
const reports = '.mutate'
/** Their mutants are mostly wordings, or values that the types exclude. */
const coarse = ['StringLiteral', 'ObjectLiteral', 'ArrayDeclaration', 'OptionalChaining', 'Regex']

const { values: asked, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: 'string' },
    'every-test': { type: 'boolean', default: false },
    'every-mutator': { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(Math.max(1, availableParallelism() >> 1)) },
    help: { type: 'boolean', default: false },
  },
})

if (asked.help) {
  console.log(help)
  process.exit()
}
process.chdir(root)
const mutate = asked.since === undefined ? slices(positionals) : changedSince(asked.since)
if (mutate.length === 0) {
  console.log(`No kernel file differs from ${asked.since}.`)
  process.exit()
}
const name = (asked.since === undefined ? positionals.join('+') : 'changed').replaceAll(/[^\w+.-]/g, '-') || 'kernel'
const config = join(reports, `${name}.config.json`)
const report = join(reports, `${name}.json`)
mkdirSync(reports, { recursive: true })
writeFileSync(config, JSON.stringify(settings(), null, 2))

execFileSync('pnpm', ['install', '--dir', tool, '--frozen-lockfile', '--prefer-offline'], { stdio: 'inherit' })
const { status } = spawnSync(join(tool, 'node_modules/.bin/stryker'), ['run', config], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PROVOST_MUTATE_TESTS: asked['every-test'] ? '' : [...new Set(mutate.flatMap(testsFor))].join(),
  },
})
if (status === 0) console.log(summary())
process.exitCode = status ?? 1

/** The files to change, from folders, files and lines. */
function slices(wanted: readonly string[]): readonly string[] {
  return (wanted.length > 0 ? wanted : Object.keys(kernel)).map((slice) => {
    const [path = '', lines] = slice.split(':')
    const full = join(source, path.replace(`${source}/`, ''))
    if (globSync(full.endsWith('.ts') ? full : `${full}/*.ts`).length === 0) {
      console.error(
        `"${slice}" is no folder or file of ${source}. The kernel folders are ${Object.keys(kernel).join(', ')}.`,
      )
      process.exit(2)
    }
    return full.endsWith('.ts') ? [full, ...(lines ? [lines] : [])].join(':') : `${full}/**/*.ts`
  })
}

/** The kernel files that differ from a commit. */
function changedSince(ref: string): readonly string[] {
  const folders = Object.keys(kernel).map((folder) => join(source, folder))
  const listed = execFileSync('git', ['diff', '--name-only', '--diff-filter=d', ref, '--', ...folders])
  return listed.toString().split('\n').filter(Boolean)
}

/** The test folders for a path below {@link source}. A folder that the table does not list gets all of them. */
function testsFor(path: string): readonly string[] {
  return kernel[path.slice(source.length + 1).split('/')[0] ?? ''] ?? ['*']
}

/** The options of Stryker. */
function settings(): Readonly<Record<string, unknown>> {
  return {
    mutate,
    mutator: { excludedMutations: asked['every-mutator'] ? [] : coarse },
    testRunner: 'vitest',
    plugins: [join(tool, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
    vitest: { configFile: 'scripts/mutate.vitest.config.ts', related: false },
    // Runs for each mutant the tests that reach it. Code that only runs on import is left out: it would run all tests.
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    concurrency: Number(asked.jobs),
    timeoutMS: 8000,
    dryRunTimeoutMinutes: 30,
    // Node removes the types itself, so the sandbox needs no compiler.
    tsconfigFile: 'none',
    tempDirName: reports,
    ignorePatterns: ['**/dist', '.turbo', 'docs'],
    allowEmpty: true,
    reporters: ['progress-append-only', 'clear-text', 'json', 'html'],
    clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: false },
    jsonReporter: { fileName: report },
    htmlReporter: { fileName: join(reports, `${name}.html`) },
  }
}

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>
}

/** A table: for each folder how many mutants were killed, survived and were never reached. */
function summary(): string {
  const { files }: Report = JSON.parse(readFileSync(report, 'utf8'))
  const counts = new Map<string, Record<string, number>>()
  for (const [file, { mutants }] of Object.entries(files)) {
    const folder = basename(dirname(file))
    const count = counts.get(folder) ?? {}
    counts.set(folder, count)
    for (const { status: outcome } of mutants) count[outcome] = (count[outcome] ?? 0) + 1
  }
  const rows = [...counts].map(([folder, { Killed = 0, Timeout = 0, Survived = 0, NoCoverage = 0 }]) => {
    const all = Killed + Timeout + Survived + NoCoverage
    const score = all > 0 ? `${((100 * (Killed + Timeout)) / all).toFixed(1)} %` : '-'
    return `| ${folder} | ${Killed} | ${Timeout} | ${Survived} | ${NoCoverage} | ${score} |`
  })
  return ['', '| folder | killed | timed out | survived | not reached | score |', '|-|-|-|-|-|-|', ...rows].join('\n')
}
