import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { storeConformance } from '@provost/testing'
import { afterAll, expect, test } from 'vitest'

import { open } from './fixture/map-in-file.ts'

// custom-store.ts itself runs the checks for a store in memory. Here the map is a file, so that the suite can also reopen it
// and kill a process that writes it.
const suite = storeConformance({
  sharing: 'one',
  place() {
    const folder = mkdtempSync(join(tmpdir(), 'provost-map-'))
    const argument = join(folder, 'map.db')
    const module = new URL('./fixture/map-in-file.ts', import.meta.url).href
    return {
      open: () => open(argument),
      remove: () => rmSync(folder, { recursive: true, force: true }),
      remote: { module, argument },
    }
  },
})
afterAll(suite.close)

const large = ['a log of 100,000 entries', 'a message of 10 MB']

test.for(suite.checks)('$name', async ({ name, run }, { skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1' && large.some((start) => name.startsWith(start)), 'in full runs')
  await expect(run()).resolves.toBeUndefined()
})
