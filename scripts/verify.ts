/**
 * node scripts/verify.ts [OPTIONS FOR TURBO]
 *
 * Everything that a change is judged by, at once: build, lint with types, format, layers and the tests of each package;
 * in full runs, as in CI, also the compiler's own check, what is unused and what would be published. What has passed and
 * of which nothing has changed since is said again; `--force`, or TURBO_FORCE=true in the environment, runs all of it.
 * Ends with the closing line of all tests.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import { closing, type Counts, countsFile } from './closing-line.ts'

/** Services that tests use where the machine has them: the result of a run holds for a machine with the same ones. */
const services = {
  postgresql: globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
  chromium: (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'chromium'))),
}
const present = Object.entries(services).flatMap(([name, there]) => (there ? [name] : []))
const full = process.env['PROVOST_TEST_FULL'] === '1'
// The linter, which has all types at hand, tells their errors as well; in full runs the compiler does so once more.
const checks = ['lint', 'format', 'boundaries', 'workspace', ...(full ? ['types', 'unused'] : [])]

/** The packages that have tests, each with a run of its own; the root's are those of the scripts. */
const tested = ['.', ...globSync(['packages/*', 'apps/*', 'bench', 'examples'])].filter((folder) =>
  existsSync(join(folder, 'package.json')),
)

/** A test that waits leaves its core to another package: there are a few more at work than there are cores. */
function turbo(...tasks: readonly string[]): boolean {
  const { status } = spawnSync(
    'turbo',
    [
      'run',
      ...tasks,
      '--continue',
      '--log-prefix=none',
      '--log-order=grouped',
      '--concurrency=150%',
      ...process.argv.slice(2),
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, PROVOST_TEST_SERVICES: present.join() },
    },
  )
  return status === 0
}

/** What came of the tests of one package. Where they could not even start, nothing has passed. */
function countsOf(folder: string): Counts {
  const file = join(folder, countsFile)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { passed: 0, failed: 1, skipped: [] }
}

for (const folder of tested) rmSync(join(folder, countsFile), { force: true })
// The linter follows imports into what is built: it must not be there by halves.
const built = turbo('build')
const checked = turbo(...checks, 'test', 'test:scripts')
const passed = built && checked && (!full || turbo('types:dist', 'dist'))
const all = tested.map(countsOf)
process.stdout.write(
  closing({
    passed: all.reduce((sum, counts) => sum + counts.passed, 0),
    failed: all.reduce((sum, counts) => sum + counts.failed, 0),
    skipped: all.flatMap((counts) => counts.skipped),
  }),
)
process.exitCode = passed ? 0 : 1
