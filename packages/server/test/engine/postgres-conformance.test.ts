import { pathToFileURL } from 'node:url'

import { engineConformance, findPostgres } from '@provost/testing'
import { postgresPlace } from '@provost/testing/test/postgres-place'
import { builtProgram } from '@provost/testing/test/program'
import { describe, expect, test } from 'vitest'

const isRun = process.env['PROVOST_TEST_FULL'] === '1' && findPostgres() !== undefined
const source = new URL('engine-place.ts', import.meta.url)
const module = isRun ? pathToFileURL(await builtProgram(source)).href : source.href

describe.each(['none', 'local'])('engine %s on PostgreSQL', (engine) => {
  const checks = engineConformance({
    module,
    leaseMs: 1_500,
    outages: ['refused', 'silent'],
    async place() {
      const { storeAt, ...place } = await postgresPlace()
      return { ...place, argument: `${engine} ${storeAt}` }
    },
  })

  test.for(checks)('$name', async ({ run, isSlow }, { skip }) => {
    skip(!isRun, 'in full runs, with PostgreSQL')
    skip(engine !== 'none' && !isSlow, 'on SQLite')
    await expect(run()).resolves.toBeUndefined()
  })
})
