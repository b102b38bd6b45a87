import { defineConfig } from 'vitest/config'

import { options } from '../vitest.config.ts'

/** Tests that take a second or more, or start processes. Only `pnpm mutate --every-test` runs them. */
const slow = [
  'test/crash/crash-process.test.ts',
  'test/hooks/hook-timeout.test.ts',
  'test/log/stores.test.ts',
  'test/model/{fallback-matrix,http-provider,http-provider-tool}.test.ts',
  'test/run/{run-history,scale-steps,scale-subscriber,young-garbage}.test.ts',
  'test/session/{session-postgres,session-stores}.test.ts',
]

/** Test folders of the agent package, and packages above it, set by scripts/mutate.ts; empty for all tests. */
const folders = process.env['PROVOST_MUTATE_TESTS'] ?? ''
const quick = { include: folders.split(',').map((folder) => `test/${folder}/*.test.ts`), exclude: slow }
const above = ['teams', 'replay'].filter((name) => !folders || folders.split(',').includes(name))

export default defineConfig({
  test: {
    ...options,
    projects: [
      {
        extends: true,
        root: 'packages/agent',
        test: { name: 'agent', ...(folders && quick) },
      },
      ...above.map((name) => ({ extends: true as const, root: `packages/${name}`, test: { name } })),
    ],
  },
})
