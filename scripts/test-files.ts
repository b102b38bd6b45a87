import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

import { type Counts, countsOf } from './closing-line.ts'

/** A test file. */
export interface TestFile {
  readonly path: string
  /** The package of the file. */
  readonly folder: string
  /** Hash of its content, of its package without other test files, and of all dependencies. */
  readonly key: string
}

/** Results of test files: completed ones by path, and errors that belong to no file. */
export interface TestRun {
  readonly files: ReadonlyMap<string, Counts>
  readonly errors: number
}

/** Cache of passed test files, by key. */
const memory = 'node_modules/.cache/tests.json'
/** Cache of keys for which the linter found nothing. */
const lintMemory = 'node_modules/.cache/lint.json'

type Memory = Readonly<Record<string, { readonly key: string; readonly counts: Counts }>>

/** Lists all test files. turbo.json declares what a package and its tests depend on; turbo computes a hash of it. */
export function testFiles(env: NodeJS.ProcessEnv): readonly TestFile[] {
  const { stdout, stderr, status } = spawnSync('turbo', ['run', 'test', 'test:scripts', '--dry=json'], {
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`turbo does not say what the tests depend on:\n${stderr}`)
  const { tasks }: { tasks: readonly { task: string; hash: string; directory: string }[] } = JSON.parse(stdout)
  return tasks
    .filter(({ task }) => task === 'test' || task === 'test:scripts')
    .flatMap(({ hash, directory }) => {
      const folder = directory || 'scripts'
      return globSync(join(folder, 'test/**/*.test.ts')).map((path) => {
        const key = createHash('sha256').update(hash).update(readFileSync(path)).digest('base64url')
        return { path, folder, key }
      })
    })
}

/** Returns the cached results of unchanged files that passed. */
export function recall(files: readonly TestFile[]): ReadonlyMap<string, Counts> {
  const known: Memory = read(memory)
  return new Map(
    files.flatMap(({ path, key }) => {
      const entry = known[path]
      return entry?.key === key ? [[path, entry.counts] as const] : []
    }),
  )
}

/** Stores which of the files passed. */
export function remember(files: readonly TestFile[], counts: ReadonlyMap<string, Counts>): void {
  const passed = files.flatMap(({ path, key }) => {
    const its = counts.get(path)
    return its?.failed === 0 ? [[path, { key, counts: its }] as const] : []
  })
  write(memory, Object.fromEntries(passed))
}

/** Lists folders that changed, or whose dependencies changed, since the linter found nothing there. */
export function unlinted(files: readonly TestFile[]): readonly string[] {
  const clean: Readonly<Record<string, string>> = read(lintMemory)
  return [...new Set(files.filter(({ path, key }) => clean[path] !== key).map(({ folder }) => folder))]
}

/** Stores that the linter found nothing. */
export function rememberLinted(files: readonly TestFile[]): void {
  write(lintMemory, Object.fromEntries(files.map(({ path, key }) => [path, key])))
}

/** The files that take longest in full runs, longest first. */
const longest = [
  'packages/provost/test/effects/effect-matrix.test.ts',
  'bench/test/hostile.test.ts',
  'packages/server/test/engine/outage.test.ts',
  'packages/server/test/engine/takeover.test.ts',
  'packages/client/test/takeover.test.ts',
  'bench/test/features.test.ts',
  'packages/agent/test/crash/crash-process.test.ts',
  'bench/test/planned-suites.test.ts',
  'packages/server/test/sessions/quarantine.test.ts',
  'bench/test/adaptive.test.ts',
  'examples/test/examples.test.ts',
]

/**
 * Runs test files. One process for each core takes file after file, from any package: shared modules are loaded once
 * per core, and all cores are busy to the end.
 */
export async function runTests(files: readonly TestFile[]): Promise<TestRun> {
  // Vitest is loaded only when a file has to run.
  const [{ BaseSequencer, startVitest }, { options }] = await Promise.all([
    import('vitest/node'),
    import('../vitest.config.ts'),
  ])
  const placeOf = (file: string): number => [...longest, relative('.', file)].indexOf(relative('.', file))
  /** Starts the longest files first, so that no process works on one alone at the end; then the largest ones. */
  class LongestFirst extends BaseSequencer {
    override async sort(given: Parameters<InstanceType<typeof BaseSequencer>['sort']>[0]) {
      // oxlint-disable-next-line unicorn/no-array-sort -- It is no array.
      const bySize = await super.sort(given)
      return bySize.toSorted((one, other) => placeOf(one.moduleId) - placeOf(other.moduleId))
    }
  }
  const vitest = await startVitest([], {
    ...options,
    run: true,
    watch: false,
    config: false,
    reporters: ['default'],
    sequence: { sequencer: LongestFirst },
    include: files.map(({ path }) => path),
  })
  const { state } = vitest
  const counts = new Map(state.getTestModules().map((module) => [module.moduleId, countsOf(module)]))
  const errors = state.getUnhandledErrors().length
  await vitest.close()
  return {
    errors,
    files: new Map(
      files.flatMap(({ path }) => {
        const its = counts.get(resolve(path))
        return its ? [[path, its] as const] : []
      }),
    ),
  }
}

function read<T>(file: string): Readonly<Record<string, T>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // The cache is missing or truncated: everything runs.
    return {}
  }
}

function write(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
}
