import * as fc from 'fast-check'

/** How many random inputs a property is tried with where it does not say so itself: all that are usual only in full runs. */
fc.configureGlobal({ numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 100 : 15 })
