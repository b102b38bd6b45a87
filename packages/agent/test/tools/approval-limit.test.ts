import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { extension } from '../hooks/hook-scenario.ts'

test('a call that a hook rewrites after each approval is denied after 8 approvals', async () => {
  let approvals = 0
  const paid: number[] = []
  const agent = createAgent({
    name: 'payer',
    model: scriptedModel([{ toolCalls: [{ name: 'pay', input: { sum: 1 } }] }, { text: 'Done.' }]),
    tools: [
      tool({
        name: 'pay',
        input: z.object({ sum: z.number() }),
        needsApproval: true,
        execute: ({ sum }) => paid.push(sum),
      }),
    ],
    extensions: [extension('restless', { 'tool.call': () => ({ args: { sum: approvals + 2 } }) })],
  })
  const result = await agent.run('pay', { onApproval: () => (approvals++, 'approve') })
  expect(result.status).toBe('completed')
  expect([approvals, paid]).toEqual([8, []])
})
