/**
 * node scripts/verify.ts [OPTIONS FOR TURBO]
 *
 * Everything that a change is judged by, at once: build, checks and tests; then what would be published. What has passed
 * and of which nothing has changed since is said again; `--force`, or TURBO_FORCE=true in the environment, runs all of
 * it. Ends with the closing line of the tests.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import { closingFile } from './closing-line.ts'

/** Services that tests use where the machine has them: the result of a run holds for a machine with the same ones. */
const services = {
  postgresql: globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
  chromium: (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'chromium'))),
}
const present = Object.entries(services).flatMap(([name, there]) => (there ? [name] : []))
const checks = ['lint', 'format', 'types', 'boundaries', 'workspace', 'unused']

function turbo(...tasks: readonly string[]): boolean {
  const { status } = spawnSync(
    'turbo',
    ['run', ...tasks, '--continue', '--log-prefix=none', ...process.argv.slice(2)],
    {
      stdio: 'inherit',
      env: { ...process.env, PROVOST_TEST_SERVICES: present.join() },
    },
  )
  return status === 0
}

rmSync(closingFile, { force: true })
// The linter follows imports into what is built: it must not be there by halves.
const built = turbo('build')
const checked = turbo(...checks, 'test:run')
const passed = built && checked && turbo('dist')
// Where the tests could not even start, nothing has passed.
process.stdout.write(existsSync(closingFile) ? readFileSync(closingFile, 'utf8') : '0 passed, 1 failed\n')
process.exitCode = passed ? 0 : 1
