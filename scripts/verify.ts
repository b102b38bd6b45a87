/**
 * node scripts/verify.ts [--force]
 *
 * Runs all checks of a change: build, lint with types, format, layers, prose and the tests of each package. Full runs, as
 * in CI, also check unused and published code, against which the compiler checks everything, and use it packed. Unchanged
 * checks that passed are reported from the cache. `--force`, or TURBO_FORCE=true in the environment, runs everything. Ends
 * with the closing line of all tests.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'

import { closing, type Counts, sumOf } from './closing-line.ts'
import { recall, remember, rememberLinted, runTests, testFiles, unlinted } from './test-files.ts'

/** Services that tests use when installed: a cached result is valid for machines with the same services. */
const services = {
  postgresql: globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
  chromium: (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'chromium'))),
}
const present = Object.entries(services).flatMap(([name, there]) => (there ? [name] : []))
const full = process.env['PROVOST_TEST_FULL'] === '1'
const force = process.argv.includes('--force') || process.env['TURBO_FORCE'] === 'true'
// The linter has all types and reports their errors too. In full runs the compiler repeats that, on the built packages.
const checks = ['format', 'boundaries', 'layers', 'prose', 'workspace', ...(full ? ['peers', 'unused'] : [])]

const env: NodeJS.ProcessEnv = {
  ...process.env,
  PROVOST_TEST_SERVICES: present.join(),
  // A third of the work of linter and compiler is garbage collection.
  ...(totalmem() > 2 ** 33 && { GOGC: 'off', GOMEMLIMIT: `${Math.floor(totalmem() / 4)}` }),
}

/** Prints a program's output after its end, so that it does not mix with test output. */
async function succeeds(program: string, ...args: readonly string[]): Promise<boolean> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<boolean>((resolve) => child.once('close', (code) => resolve(code === 0)))
  process.stdout.write(await text(child.stdout))
  return ended
}

function turbo(...tasks: readonly string[]): Promise<boolean> {
  const options = ['--continue', '--log-prefix=none', '--log-order=grouped', ...(force ? ['--force'] : [])]
  return succeeds('turbo', 'run', ...tasks, ...options)
}

/** Lints changed folders. Most of the time goes into the types of each file's imports. */
async function lint(): Promise<boolean> {
  const folders = force ? ['.'] : unlinted(files)
  if (folders.length === 0) return true
  // Files at the root are in no folder.
  const clean = await succeeds('pnpm', '--silent', 'run', 'lint', ...folders, ...globSync('*.ts'))
  if (clean) rememberLinted(files)
  return clean
}

/** The packed packages are used from empty folders, and from bundles. */
function installs(): Promise<boolean> {
  return succeeds('node', 'bench/matrix.ts', '--quick', '--built')
}

/** The linter follows imports into build output, which must be complete. What would be published is checked beside the tests, too. */
async function check(): Promise<boolean> {
  const built = await turbo('build')
  const [linted, checked] = await Promise.all([lint(), turbo(...checks)])
  const published = !full || (built && (await turbo('types:dist', 'dist')) && (await installs()))
  return built && linted && checked && published
}

/** The result of a file that did not run to its end. */
const lost: Counts = { passed: 0, failed: 1, skipped: [] }

const files = testFiles(env)
const known = force ? new Map<string, Counts>() : recall(files)
const stale = files.filter(({ path }) => !known.has(path))
// The linter loads shared files once per core. When many tests run, it gets half of the cores.
if (stale.length > 50) env['GOMAXPROCS'] = `${Math.ceil(availableParallelism() / 2)}`
const checking = check()
const run = stale.length > 0 ? await runTests(stale) : { files: new Map<string, Counts>(), errors: 0 }
const counts = new Map(files.map(({ path }) => [path, known.get(path) ?? run.files.get(path) ?? lost]))
// An error without a file may belong to any file that ran.
remember(files, run.errors > 0 ? known : counts)
const sound = await checking
const all = sumOf([...counts.values(), { passed: 0, failed: run.errors, skipped: [] }])
process.stdout.write(closing(all))
process.exitCode = sound && all.failed === 0 ? 0 : 1
