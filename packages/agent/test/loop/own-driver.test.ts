import { createAgent, foldLog, runLoop, startLoop } from '@provost/agent'
import type { LoopDriver } from '@provost/agent'
import type { Decisions, Entry, Message, ToolCall } from '@provost/core'
import { trustedLabel } from '@provost/core'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

type Approval = Omit<NonNullable<Decisions['approvals']>[number], 'id'>

const pay = tool({ name: 'pay', input: z.object({ amount: z.number() }), execute: () => 'not called here' })
const agent = createAgent({ name: 'by-hand', model: 'test/absent', tools: [pay] })

/** Drives one call of `pay` by hand: the driver asks once, and lets the call go whatever the human said. */
async function drive(decision: Approval) {
  const log: Entry[] = []
  const seen: ToolCall[] = []
  const paid: unknown[] = []
  const driver: LoopDriver = {
    callModel({ request }): { message: Message; usage: object; finishReason: 'stop' | 'tool-calls' } {
      const runId = log[0]?.runId ?? ''
      const isFirst = request.messages.every(({ role }) => role !== 'assistant')
      const call = {
        type: 'tool-call' as const,
        callId: `${runId}/1/call/0`,
        toolCallId: 'call_0',
        toolName: 'pay',
        input: { amount: 100 },
      }
      const content = isFirst ? [call] : [{ type: 'text' as const, text: 'done' }]
      const id = `${runId}/${isFirst ? 1 : 2}/message/1`
      const message: Message = { id, role: 'assistant', content, label: trustedLabel, createdAt: 0 }
      return { message, usage: {}, finishReason: isFirst ? 'tool-calls' : 'stop' }
    },
    authorize(calls) {
      seen.push(...calls)
      const wasAsked = log.some(({ type }) => type === 'wait')
      return calls.map((call) => (wasAsked ? { proceed: call.input } : { ask: { reason: 'sure?' } }))
    },
    execute: (calls) =>
      calls.map((call) => {
        paid.push(call.input)
        return { ...call, outcome: 'ok', via: 'executed', output: { type: 'text', value: 'paid' }, label: trustedLabel }
      }),
    awaitDecisions: ({ approvals }) => ({ approvals: approvals.map(({ id }) => ({ ...decision, id })) }),
    append: (entries) => void log.push(...entries),
  }
  expect(await runLoop(await startLoop(agent, driver, 'Pay.'))).toBe('completed')
  return { seen, paid, results: JSON.stringify(foldLog(log).messages) }
}

test('a call that a human approved runs', async () => {
  expect((await drive({ decision: 'approve' })).paid).toEqual([{ amount: 100 }])
})

test('a call that a human denied does not run, whatever the driver says of it', async () => {
  const { paid, results, seen } = await drive({ decision: 'deny', reason: 'too much' })
  expect(paid).toEqual([])
  expect(results).toContain('too much')
  expect(seen).toHaveLength(1)
})

test('the driver receives the arguments that the approver edited, under the label of the approver', async () => {
  const { paid, seen } = await drive({ decision: 'approve', args: { amount: 50 } })
  expect(paid).toEqual([{ amount: 50 }])
  expect(seen.at(-1)).toMatchObject({ input: { amount: 50 }, label: trustedLabel })
})
