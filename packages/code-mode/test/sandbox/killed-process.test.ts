import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'provost-scripts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = fileURLToPath(new URL('../fixture/scripting.ts', import.meta.url))

function run(into: string, at?: number): { killed: boolean; value?: unknown } {
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@provost/source', '--no-warnings', program, into, ...(at === undefined ? [] : [String(at)])],
    { encoding: 'utf8' },
  )
  if (signal === 'SIGKILL') return { killed: true }
  expect(stderr).toBe('')
  return { killed: false, value: JSON.parse(stdout).value }
}

/** Four calls, three moments each. killed-run.test.ts tests scripts of an agent in each run. */
const moments = Array.from({ length: 12 }, (_, i) => i + 1)

describe.runIf(process.env['PROVOST_TEST_FULL'] === '1')(
  'a process that is killed in a script without an agent',
  () => {
    it.each(moments)(
      'at moment %i is resumed by another process to the same value, without a repeated effect',
      (at) => {
        const into = mkdtempSync(join(folder, 'run-'))
        expect(run(into, at).killed).toBe(true)
        const { killed, value } = run(into)
        expect(killed).toBe(false)
        expect(value).toMatchObject({ total: 20, ids: ['id-1', 'id-2'] })
        const effects = readFileSync(join(into, 'effects.txt'), 'utf8').trim().split('\n')
        expect(effects.toSorted()).toEqual(['make 1', 'make 2', 'pay id-1', 'pay id-2'])
        // A replay of both journals gives the same value with the same random number.
        expect(run(into).value).toEqual(value)
      },
    )
  },
)
