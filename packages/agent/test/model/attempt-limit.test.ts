import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { extension } from '../hooks/hook-scenario.ts'

test('a hook that always retries gets 20 attempts in one step', async () => {
  let attempts = 0
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([() => (attempts++, { error: new Error('down') })], { after: 'repeat-last' }),
    extensions: [extension('retry', { 'model.error': () => ({ retryAfterMs: 0 }) })],
  })
  const result = await agent.run('go')
  expect([result.status, attempts]).toEqual(['failed', 20])
})
