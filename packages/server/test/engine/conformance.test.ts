import { join } from 'node:path'

import { engineConformance } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { newFolder } from './folder.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const module = new URL('engine-place.ts', import.meta.url).href

describe.each(['none', 'local'])('engine %s', (engine) => {
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
