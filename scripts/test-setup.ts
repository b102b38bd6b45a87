import { flushCompileCache } from 'node:module'

import * as fc from 'fast-check'
import { beforeAll } from 'vitest'

/** How many random inputs a property is tried with where it does not say so itself: all that are usual only in full runs. */
fc.configureGlobal({ numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 100 : 15 })

// What this process has compiled, the processes that its tests start need not compile again.
beforeAll(() => flushCompileCache())
