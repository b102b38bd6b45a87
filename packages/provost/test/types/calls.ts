/** Approvals and events about the call of a known tool have its types. */
import { createAgent, isCallTo, tool, z } from 'provost'
import { expectTypeOf } from 'vitest'

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ orderId: z.string(), amount: z.number().optional() }),
  execute: ({ orderId }) => ({ orderId, at: new Date(0), items: [1] }),
})
const greet = tool({ name: 'greet', input: z.object({}), execute: () => 'hello' })
const desk = createAgent({ name: 'desk', model: 'openai/gpt-5', tools: [refund, greet] })

const stream = desk.stream('Refund order 17', {
  onApproval: (approval) => {
    // @ts-expect-error -- before the tool is known, an input is any JSON
    expectTypeOf(approval.input.orderId).toBeString()
    if (!isCallTo(approval, refund, desk)) return undefined
    expectTypeOf(approval.input.orderId).toBeString()
    expectTypeOf(approval.input.amount).toEqualTypeOf<number | undefined>()
    // @ts-expect-error -- the tool has no such argument
    approval.input.order satisfies unknown
    return 'approve'
  },
})

for await (const event of stream) {
  // @ts-expect-error -- the event has no tool: its type comes first
  isCallTo(event, refund, desk)
  // @ts-expect-error -- the agent is missing, and the stream has the calls of its children too
  if (event.type === 'tool.execute.start') isCallTo(event, refund)
  if (event.type === 'tool.execute.start' && isCallTo(event, refund, desk)) {
    expectTypeOf(event.input.orderId).toBeString()
    expectTypeOf(event.parentCallId).toEqualTypeOf<string | undefined>()
  }
  if (event.type === 'tool.execute.end' && isCallTo(event, refund, desk) && event.output.type === 'json') {
    // A date is a text in JSON.
    expectTypeOf(event.output.value.at).toBeString()
    expectTypeOf(event.output.value.items[0]).toEqualTypeOf<number | undefined>()
    // @ts-expect-error -- the tool returns no such field
    event.output.value.order satisfies unknown
  }
  if (event.type === 'tool.execute.end' && isCallTo(event, greet, desk) && event.output.type === 'text')
    expectTypeOf(event.output.value).toBeString()
}
for (const approval of (await stream.result).pending.approvals)
  if (isCallTo(approval, refund, desk)) expectTypeOf(approval.input.orderId).toBeString()

const session = await desk.createSession()
session.on('tool.execute.start', (event) => {
  if (isCallTo(event, refund, desk)) expectTypeOf(event.input.orderId).toBeString()
})
