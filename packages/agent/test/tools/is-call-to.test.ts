import { createAgent } from '@provost/agent'
import { defineExtension, isCallTo } from '@provost/core'
import type { AgentEvent, EventOf, PendingApproval } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool, toolSet } from '@provost/tools'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const refundOf = (of: string) =>
  tool({
    name: 'refund',
    needsApproval: true,
    input: z.object({ order: z.string() }),
    execute: ({ order }) => ({ order, of }),
  })
const own = refundOf('desk')
const other = refundOf('billing')
const grouped = refundOf('shop')
const added = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })

const billing = createAgent({
  name: 'billing',
  model: scriptedModel([{ toolCalls: [{ name: 'refund', input: { order: '2' } }] }, { text: 'done' }]),
  tools: [other],
})
const desk = createAgent({
  name: 'desk',
  model: scriptedModel([
    {
      toolCalls: [
        { name: 'refund', input: { order: '1' } },
        { name: 'shop_refund', input: { order: '3' } },
        { name: 'look', input: {} },
        { name: 'ask_billing', input: { task: 'refund order 2' } },
      ],
    },
    { text: 'done' },
  ]),
  tools: [own, ...toolSet('shop', [grouped]), billing.toTool({ name: 'ask_billing', description: 'Asks.' })],
  extensions: [defineExtension({ name: 'eyes', tools: [added] })],
})

test('isCallTo finds the calls of one agent to one tool among approvals and events, whatever name the tool has', async () => {
  const asked: PendingApproval[] = []
  const events: AgentEvent[] = []
  const stream = desk.stream('go', {
    onApproval: (approval) => {
      asked.push(approval)
      return 'approve'
    },
  })
  for await (const event of stream) events.push(event)

  const orders = (tried: typeof own, agent: typeof desk): readonly string[] =>
    asked.flatMap((approval) => (isCallTo(approval, tried, agent) ? [approval.input.order] : []))
  expect(orders(own, desk)).toEqual(['1'])
  expect(orders(grouped, desk)).toEqual(['3'])
  expect(orders(other, billing)).toEqual(['2'])
  expect(orders(other, desk)).toEqual([])
  expect(orders(own, billing)).toEqual([])

  const ended = events.filter((event): event is EventOf<'tool.execute.end'> => event.type === 'tool.execute.end')
  const outputs = ended.flatMap((event) => {
    if (!isCallTo(event, grouped, desk) || event.output.type !== 'json') return []
    expectTypeOf(event.output.value.of).toBeString()
    return [event.output.value.of]
  })
  expect(outputs).toEqual(['shop'])
})

test('isCallTo knows the tools of the extensions of an agent, and no name that the agent lacks', () => {
  const report = { agent: 'desk', toolName: 'look' }
  expect(isCallTo(report, added, desk)).toBe(true)
  expect(isCallTo({ agent: 'desk', toolName: 'absent' }, added, desk)).toBe(false)
})
