/**
 * node scripts/verify.ts [--force]
 *
 * Everything that a change is judged by, at once: build, lint with types, format, layers and the tests of each package;
 * in full runs, as in CI, also the compiler's own check, what is unused and what would be published. What has passed and
 * of which nothing has changed since is said again; `--force`, or TURBO_FORCE=true in the environment, runs all of it.
 * Ends with the closing line of all tests.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'

import { closing, type Counts, sumOf } from './closing-line.ts'
import { recall, remember, rememberLinted, runTests, testFiles, unlinted } from './test-files.ts'

/** Services that tests use where the machine has them: the result of a run holds for a machine with the same ones. */
const services = {
  postgresql: globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
  chromium: (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'chromium'))),
}
const present = Object.entries(services).flatMap(([name, there]) => (there ? [name] : []))
const full = process.env['PROVOST_TEST_FULL'] === '1'
const force = process.argv.includes('--force') || process.env['TURBO_FORCE'] === 'true'
// The linter, which has all types at hand, tells their errors as well; in full runs the compiler does so once more.
const checks = ['format', 'boundaries', 'layers', 'workspace', ...(full ? ['types', 'peers', 'unused'] : [])]

const env: NodeJS.ProcessEnv = {
  ...process.env,
  PROVOST_TEST_SERVICES: present.join(),
  // Of the linter's and the compiler's work a third is collecting garbage.
  ...(totalmem() > 2 ** 33 && { GOGC: 'off', GOMEMLIMIT: `${Math.floor(totalmem() / 4)}` }),
}

/** What a program has to say comes when it has ended, so that it does not mix with the words of the tests. */
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

/** Lints where something has changed. Most of the time goes into the types of what each file imports. */
async function lint(): Promise<boolean> {
  const folders = force ? ['.'] : unlinted(files)
  if (folders.length === 0) return true
  // What is linted by itself beside them is in no folder.
  const clean = await succeeds('pnpm', '--silent', 'run', 'lint', ...folders, ...globSync('*.ts'))
  if (clean) rememberLinted(files)
  return clean
}

/** The linter follows imports into what is built: it must not be there by halves. */
async function check(): Promise<boolean> {
  const built = await turbo('build')
  const [linted, checked] = await Promise.all([lint(), turbo(...checks)])
  return built && linted && checked
}

/** What came of a file that did not get to its end. */
const lost: Counts = { passed: 0, failed: 1, skipped: [] }

const files = testFiles(env)
const known = force ? new Map<string, Counts>() : recall(files)
const stale = files.filter(({ path }) => !known.has(path))
// On each core that it has the linter looks anew at what all files share. Where many tests run it has half of them.
if (stale.length > 50) env['GOMAXPROCS'] = `${Math.ceil(availableParallelism() / 2)}`
const checking = check()
const run = stale.length > 0 ? await runTests(stale) : { files: new Map<string, Counts>(), errors: 0 }
const counts = new Map(files.map(({ path }) => [path, known.get(path) ?? run.files.get(path) ?? lost]))
// An error that belongs to no file may be of any of those that ran.
remember(files, run.errors > 0 ? known : counts)
const sound = await checking
const passed = sound && (!full || (await turbo('types:dist', 'dist')))
const all = sumOf([...counts.values(), { passed: 0, failed: run.errors, skipped: [] }])
process.stdout.write(closing(all))
process.exitCode = passed && all.failed === 0 ? 0 : 1
