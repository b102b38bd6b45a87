import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { builtProgram } from '@provost/testing/test/program'
import { afterAll, describe, expect, it } from 'vitest'

import { runRecorded } from '../fixture/script-journal.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-scripts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the script in a process that ends itself at a moment. Returns the signal that ended it. */
async function killedAt(moment: number, into: string): Promise<unknown> {
  const program = await builtProgram(new URL('../fixture/scripting.ts', import.meta.url))
  const args = ['--conditions=@provost/source', '--no-warnings', program, into, String(moment)]
  const [, signal] = await once(spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }), 'close')
  return signal
}

/** Four calls, three moments each. killed-run.test.ts tests scripts of an agent in each run. */
const moments = Array.from({ length: 12 }, (_, i) => i + 1)

describe.runIf(process.env['PROVOST_TEST_FULL'] === '1')(
  'a process that is killed in a script without an agent',
  () => {
    it.each(moments)(
      'at moment %i is resumed by another process to the same value, without a repeated effect',
      async (at) => {
        const into = mkdtempSync(join(folder, 'run-'))
        expect(await killedAt(at, into)).toBe('SIGKILL')
        const { value, error } = await runRecorded(into)
        expect(error).toBeUndefined()
        expect(value).toMatchObject({ total: 20, ids: ['id-1', 'id-2'] })
        const effects = readFileSync(join(into, 'effects.txt'), 'utf8').trim().split('\n')
        expect(effects.toSorted()).toEqual(['make 1', 'make 2', 'pay id-1', 'pay id-2'])
        // A replay of both journals gives the same value with the same random number.
        expect((await runRecorded(into)).value).toEqual(value)
      },
    )
  },
)
