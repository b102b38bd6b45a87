import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

test.each([
  ['approved', [1, 2]],
  ['not asked about', [1]],
] as const)('steering during the first of two calls, %s: those that run are %j', async (asked, ran) => {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    input: z.object({ n: z.number() }),
    executionMode: 'sequential',
    needsApproval: asked === 'approved',
    execute({ n }) {
      paid.push(n)
      if (n === 1) session.send('And the weather?', { mode: 'steer' })
      return 'paid'
    },
  })
  const calls = [1, 2].map((n) => ({ name: 'pay', input: { n } }))
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([{ toolCalls: calls }, { text: 'done' }], { after: 'repeat-last' }),
    tools: [pay],
  })
  const session = await agent.createSession()
  let result = await session.stream('Pay both.').result
  if (result.status === 'suspended') {
    const approvals = result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    result = await session.resume({ approvals }).result
  }
  expect(result.status).toBe('completed')
  expect(paid).toEqual(ran)
})
