import { existsSync, globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'

import { defineConfig, type TestUserConfig } from 'vitest/config'

import { closingLine } from './scripts/closing-line.ts'

/** Under this condition the packages of the workspace are their src, not their dist: no test needs a build. */
const source = '@provost/source'
const root = import.meta.dirname
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** All of them from the root; in the folder of one (`pnpm test` there) only that one. */
const projects = globSync(['packages/*', 'apps/*', 'bench', 'examples', 'scripts']).filter(
  (folder) => folder === 'scripts' || existsSync(join(folder, 'package.json')),
)

/** What holds for every test, however many of them run. */
export const options: TestUserConfig = {
  // Node itself loads the sources, as it does for users: no bundler between a test and what it tests.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  // A file costs its tests, not a process. So files leave nothing behind: what was replaced comes back by itself.
  isolate: false,
  // One more than cores: tests wait for processes and leases a lot.
  maxWorkers: availableParallelism() + 1,
  // A busy machine is no failure; what hangs still ends. So no test has a shorter limit of its own.
  testTimeout: full ? 600_000 : 120_000,
  hookTimeout: 120_000,
  // A poll waits for an event, not for a time.
  expect: { poll: { timeout: 60_000, interval: 5 } },
  globalSetup: [join(root, 'scripts/test-folder.ts')],
  setupFiles: [join(root, 'scripts/test-setup.ts')],
  // Those of a project that create-provost makes run in that project.
  exclude: ['**/node_modules/**', '**/templates/**'],
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
  // Programs that tests start compile what they import once for all of them.
  env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/node') },
  // Worker threads that a test starts inherit it.
  execArgv: [`--conditions=${source}`, '--min-semi-space-size=32', '--max-semi-space-size=64'],
}

export default defineConfig({
  test: {
    ...options,
    ...(process.cwd() === root
      ? {
          projects: projects.map((folder) => ({
            extends: true as const,
            root: folder,
            test: { name: basename(folder) },
          })),
        }
      : { name: basename(process.cwd()) }),
    reporters: ['default', closingLine()],
  },
})
