import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'

import { defineConfig } from 'vitest/config'

import { closingLine } from './scripts/closing-line.ts'

/** Under this condition the packages of the workspace are their src, not their dist: no test needs a build. */
const source = '@provost/source'
const conditions = [source, 'module', 'node', 'development|production']
const projects = globSync(['packages/*', 'apps/*', 'bench', 'examples', 'scripts']).filter(
  (root) => root === 'scripts' || existsSync(join(root, 'package.json')),
)

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: [source] } },
  test: {
    // A file costs its tests, not a process. So files leave nothing behind: what was replaced comes back by itself.
    isolate: false,
    // All cores: vitest would leave one to others.
    maxWorkers: '100%',
    // A busy machine is no failure; what hangs still ends.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // Random inputs are few here and many in CI.
    setupFiles: [join(import.meta.dirname, 'scripts/random-runs.ts')],
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // Programs that tests start compile what they import once for all of them.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
    // Worker threads that a test starts inherit it.
    execArgv: [`--conditions=${source}`],
    projects: projects.map((root) => ({ extends: true as const, root, test: { name: basename(root) } })),
    reporters: ['default', closingLine()],
  },
})
