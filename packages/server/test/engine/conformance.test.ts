import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { engineConformance } from '@provost/testing'
import { builtProgram } from '@provost/testing/test/program'
import { describe, expect, test } from 'vitest'

import { newFolder } from './folder.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const source = new URL('engine-place.ts', import.meta.url)
const module = full ? pathToFileURL(await builtProgram(source)).href : source.href

describe.each(['none', 'local'])('engine %s on SQLite', (engine) => {
  const checks = engineConformance({
    module,
    place() {
      const { path, remove } = newFolder()
      return { argument: `${engine} ${join(path, 'sessions.db')}`, remove }
    },
  })

  test.for(checks)('$name', async ({ run, isSlow }, { skip }) => {
    skip(isSlow && !full, 'in full runs')
    await expect(run()).resolves.toBeUndefined()
  })
})
