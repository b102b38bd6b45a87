import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

test('an approval for the session does not answer a later question that allows only single approvals', async () => {
  const paid: number[] = []
  let isSticky = true
  const call = { toolCalls: [{ name: 'pay', input: { sum: 5 } }] }
  const agent = createAgent({
    name: 'payer',
    store: memoryStore(),
    model: scriptedModel([call, { text: 'Paid.' }, call, { text: 'Paid again.' }, call]),
    tools: [
      tool({
        name: 'pay',
        input: z.object({ sum: z.number() }),
        needsApproval: () => ({ reason: 'money', ...(isSticky && { sticky: 'session' as const }) }),
        execute: ({ sum }) => paid.push(sum),
      }),
    ],
  })
  const session = await agent.createSession({ id: 's' })
  session.send('Pay.')
  const asked = await session.waitForIdle()
  const id = asked?.pending.approvals[0]?.id ?? ''
  await session.resolve({ approvals: [{ id, decision: 'approve', sticky: 'session' }] })
  await session.waitForIdle()
  session.send('Pay again.')
  expect([(await session.waitForIdle())?.status, paid]).toEqual(['completed', [5, 5]])
  isSticky = false
  session.send('Pay again.')
  expect([(await session.waitForIdle())?.status, paid]).toEqual(['suspended', [5, 5]])
})
