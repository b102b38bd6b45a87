import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

test('a run ends with the skipped tests of each file and the counts alone on the last line, broken files counted as failures', ({
  skip,
}) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const cwd = fileURLToPath(new URL('fixture', import.meta.url))
  const { stdout, status } = spawnSync(process.execPath, [vitest, 'run'], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  expect(stdout.split('\n').slice(-5)).toEqual([
    'Skipped:',
    '  sample.ts: 2 tests, the first: waits for a service (no service here)',
    '',
    '2 passed, 3 failed, 2 skipped',
    '',
  ])
  expect(status).toBe(1)
})
