import { createAgent } from '@provost/agent'
import { approvalFrom } from '@provost/guard'
import type { ApprovalRequest, ToolApproval } from '@provost/guard'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { onlyLog, verdictsIn } from './conformance/verdicts.ts'

/** Runs two refunds under an approval function. */
async function refunded(approval: ToolApproval, human: 'approve' | 'deny' = 'deny') {
  const ran: number[] = []
  const store = memoryStore()
  const refund = tool({
    name: 'refund',
    effect: 'write',
    input: z.object({ cents: z.number() }),
    execute: ({ cents }) => `refunded ${ran.push(cents)}`,
  })
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: [{ name: 'refund', input: { cents: 10 } }] },
      { toolCalls: [{ name: 'refund', input: { cents: 900 } }] },
      { text: 'Done.' },
    ]),
    tools: [refund],
    extensions: [approvalFrom(approval)],
    store,
  })
  await agent.run('Refund order 17.', { context: { role: 'clerk' }, onApproval: () => human })
  return { ran, verdicts: verdictsIn(await onlyLog(store)), log: await onlyLog(store) }
}

const over = (cents: number, answer: unknown) => (request: ApprovalRequest) =>
  z.object({ cents: z.number() }).parse(request.toolCall.input).cents > cents ? answer : undefined

test('answers of the AI SDK are decisions of an extension', async () => {
  expect(await refunded(over(100, 'denied'))).toMatchObject({ ran: [10], verdicts: ['refund allow', 'refund deny'] })
  expect(await refunded(over(100, 'user-approval'))).toMatchObject({
    ran: [10],
    verdicts: ['refund allow', 'refund ask'],
  })
  expect(await refunded(over(100, 'user-approval'), 'approve')).toMatchObject({ ran: [10, 900] })
  expect(await refunded(() => 'approved')).toMatchObject({ ran: [10, 900] })
})

test('the reason reaches the model', async () => {
  const { log } = await refunded(over(100, { type: 'denied', reason: 'Over the limit.' }))
  expect(log).toContainEqual(expect.objectContaining({ op: 'decided', outcome: 'deny', reason: 'Over the limit.' }))
})

test('a record of tools works as in the AI SDK', async () => {
  const perTool = { refund: ({ cents }: { cents: number }) => (cents > 100 ? 'denied' : undefined), other: 'denied' }
  expect(await refunded(perTool)).toMatchObject({ ran: [10] })
  expect(await refunded({ refund: 'denied' })).toMatchObject({ ran: [] })
})

test('the function receives what the AI SDK passes: the call, tools, the context, and the messages of the request', async () => {
  const requests: ApprovalRequest[] = []
  await refunded((request: ApprovalRequest) => void requests.push(request))
  expect(requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ['user'],
    ['user', 'assistant', 'tool'],
  ])
  expect(requests[0]).toMatchObject({
    toolCall: { type: 'tool-call', toolName: 'refund', input: { cents: 10 } },
    tools: { refund: { inputSchema: { jsonSchema: { type: 'object' } } } },
    runtimeContext: { role: 'clerk' },
  })
})

test.each([
  ['throws', () => Promise.reject(new Error('no server'))],
  ['answers with what the AI SDK does not know', () => 'yes'],
  ['answers with a number', () => 1],
])('a function that %s denies', async (_, approval) => {
  expect(await refunded(approval)).toMatchObject({ ran: [] })
})

test('what is neither a function nor a record is an error', () => {
  expect(() => approvalFrom('denied' as never)).toThrow('approvalFrom')
  expect(() => approvalFrom(() => 'denied', { nam: 'x' } as never)).toThrow('nam')
})
