/**
 * node scripts/tests.ts [OPTIONS FOR TURBO]
 *
 * Runs all tests, unless nothing that they depend on has changed since they last passed: then what they said is said
 * again. `--force`, or TURBO_FORCE=true in the environment, runs them in any case. Ends with the closing line.
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

rmSync(closingFile, { force: true })
const { status } = spawnSync(
  'turbo',
  ['run', 'test:run', '--output-logs=full', '--log-prefix=none', '--log-order=stream', ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, PROVOST_TEST_SERVICES: present.join() } },
)
if (existsSync(closingFile)) process.stdout.write(readFileSync(closingFile, 'utf8'))
else process.stdout.write('0 passed, 1 failed\n')
process.exitCode = status ?? 1
