import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { describe, expect, it } from 'vitest'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const folder = fileURLToPath(new URL('../..', import.meta.url))

describe('all tests of code mode', () => {
  it('pass where values are followed (in full runs)', async (ctx) => {
    if (!full) return ctx.skip('runs the tests of the package once more')
    const args = ['vitest', 'run', '--config', '../../vitest.config.ts', 'test/engine', 'test/sandbox', 'test/tool']
    const env = { ...process.env, PROVOST_TEST_FLOW: 'values', PROVOST_TEST_FULL: '0' }
    const { stdout } = await promisify(execFile)('npx', args, { cwd: folder, env, maxBuffer: 1 << 26 })
    expect(stdout).toMatch(/\d+ passed, 0 failed/)
  })
})
