import { flushCompileCache } from 'node:module'

import * as fc from 'fast-check'
import { beforeAll } from 'vitest'

/** Default number of random inputs for a property. Only full runs use fast-check's usual number. */
const numRuns = process.env['PROVOST_TEST_FULL'] === '1' ? 100 : 15
/** The seed of random inputs: the same in every run, unless `PROVOST_TEST_SEED` is a number or `random`. */
const seed = process.env['PROVOST_TEST_SEED'] ?? '1'
fc.configureGlobal({ numRuns, ...(seed !== 'random' && { seed: Number(seed) }) })

// Processes that tests start reuse the compile cache of this process.
beforeAll(() => flushCompileCache())
