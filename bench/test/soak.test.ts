import { expect, test } from 'vitest'

import { soak } from '../soak/soak.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

test('what a soak checks holds after 15 seconds', async (ctx) => {
  if (!full) ctx.skip('PROVOST_TEST_FULL=1 starts processes and kills them for 15 seconds')
  const { violations, ...outcome } = await soak({
    ...{ ms: 15_000, seed: 17, atOnce: 6, workers: 3, store: undefined, logs: undefined },
    ...{ say() {}, stopping: new AbortController().signal },
  })
  expect({ violations, outcome }).toMatchObject({ violations: [] })
  expect(outcome.sessions).toBeGreaterThan(6)
  expect(outcome.killedWorkers + outcome.drains + outcome.outages).toBeGreaterThan(0)
})
