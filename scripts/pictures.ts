/**
 * npm run pictures
 *
 * Makes the pictures of `docs/pictures` with the tests of the console: builds the page, runs the tests that take pictures in
 * Chromium, and keeps one picture of each view. Ends with exit code 1 if a test fails, a picture is missing, or they are too large.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Pictures that pages of the documentation show, by the test file that takes them. */
const taken: Readonly<Record<string, readonly string[]>> = {
  console: ['sessions', 'talk'],
  inbox: ['inbox'],
  'session-views': ['scripts'],
  'context-memory': ['compaction', 'memory'],
  tour: ['tour'],
  views: ['timeline', 'provenance', 'policy', 'travel', 'log', 'page-policy', 'page-cost', 'page-system'],
}
/** Bytes of all pictures together: each clone of the repository has them. */
const mostBytes = 1_450_000

const root = join(import.meta.dirname, '..')
const kept = join(root, 'docs/pictures')
const made = mkdtempSync(join(tmpdir(), 'provost-pictures-'))
const [vite, vitest] = ['packages/console/node_modules/.bin/vite', 'node_modules/.bin/vitest'].map((name) =>
  join(root, name),
)

function run(program: string | undefined, args: readonly string[], cwd: string): void {
  const env = { ...process.env, PROVOST_TEST_FULL: '1', PROVOST_TEST_PICTURES: made }
  execFileSync(program ?? '', args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
}

try {
  run(vite, ['build', '--logLevel', 'warn'], join(root, 'packages/console'))
  const files = Object.keys(taken).map((name) => `packages/console/test/${name}.test.ts`)
  run(vitest, ['run', '--project', 'console', ...files], root)
  const names = Object.values(taken).flat()
  const missing = names.filter((name) => !existsSync(join(made, `${name}-desk-light.png`)))
  if (missing.length > 0) throw new Error(`The tests took no picture of: ${missing.join(', ')}. Is Chromium installed?`)
  for (const name of readdirSync(kept)) if (name.endsWith('.png')) rmSync(join(kept, name))
  for (const name of names) copyFileSync(join(made, `${name}-desk-light.png`), join(kept, `${name}.png`))
  const size = names.reduce((sum, name) => sum + statSync(join(kept, `${name}.png`)).size, 0)
  console.log(`${names.length} pictures, ${Math.round(size / 1_000)} kB.`)
  if (size > mostBytes) throw new Error(`The pictures have ${size} bytes, more than ${mostBytes}.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  rmSync(made, { recursive: true, force: true })
}
