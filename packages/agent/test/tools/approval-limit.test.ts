import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { extension } from '../hooks/hook-scenario.ts'

test('a call whose arguments a hook rewrites after each edit of the approver is denied after 8 approvals', async () => {
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
    extensions: [extension('double', { 'tool.call': ({ input: { sum } }) => ({ args: { sum: 2 * Number(sum) } }) })],
  })
  const edits = await agent.run('pay', {
    onApproval: () => ({ decision: 'approve', args: { sum: 10 + approvals++ } }),
  })
  expect(edits.status).toBe('completed')
  expect([approvals, paid]).toEqual([8, []])
})

test('a hook that always rewrites does so once: the arguments that were approved run', async () => {
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
  expect([approvals, paid]).toEqual([1, [2]])
})

test('a call whose tool has another definition after each approval is denied after 8 approvals', async () => {
  const store = memoryStore()
  const paid: number[] = []
  /** The agent of a new process, with a new version of the tool. */
  const payer = (on: SessionStore, version: number) =>
    createAgent({
      name: 'payer',
      store: on,
      model: scriptedModel([version === 0 ? { toolCalls: [{ name: 'pay', input: { sum: 1 } }] } : { text: 'Done.' }]),
      tools: [
        tool({
          name: 'pay',
          version: `${version}`,
          input: z.object({ sum: z.number() }),
          needsApproval: true,
          execute: ({ sum }) => paid.push(sum),
        }),
      ],
    })
  let { status, pending } = await payer(store, 0).run('pay', { sessionId: 's' })
  let approvals = 0
  while (status === 'suspended' && approvals < 20) {
    const session = await payer(store, ++approvals).resumeSession('s')
    await session.resolve({ approvals: [{ id: pending.approvals[0]?.id ?? '', decision: 'approve' }] })
    const result = await session.waitForIdle()
    if (!result) break
    ;({ status, pending } = result)
  }
  expect([status, approvals, paid]).toEqual(['completed', 8, []])
})
