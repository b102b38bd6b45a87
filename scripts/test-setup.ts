import { flushCompileCache } from 'node:module'

import * as fc from 'fast-check'
import { beforeAll } from 'vitest'

/** Default number of random inputs for a property. Only full runs use fast-check's usual number. */
fc.configureGlobal({ numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 100 : 15 })

// Processes that tests start reuse the compile cache of this process.
beforeAll(() => flushCompileCache())
