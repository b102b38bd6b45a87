import { createAgent } from '@provost/agent'
import type { Agent, Session } from '@provost/agent'
import { world } from '@provost/agent/test/session/session-world'
import { defineExtension, isCallTo } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { evaluatorOptimizer, fanOut, runFanOut } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const refunded: string[] = []
const undone: string[] = []
const refund = tool({
  name: 'refund',
  input: z.object({ order: z.string() }),
  execute: ({ order }) => `refunded ${refunded.push(order)}`,
  compensate: (_, { input }) => void undone.push(input.order),
})

/** Refunds once, then says what came of it. */
const teller = (order = '17', store = memoryStore()): Agent =>
  createAgent({
    name: `teller-${order}`,
    tools: [refund],
    store,
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: `told ${JSON.stringify(messages.at(-1))}` }
            : { toolCalls: [{ name: 'refund', input: { order } }] },
      ],
      { after: 'repeat-last' },
    ),
  })

const improving = (generator: Agent, session: Session) =>
  evaluatorOptimizer({
    generator,
    input: 'refund',
    evaluator: { kind: 'free-form', evaluate: () => ({ accepted: true, feedback: '' }) },
    session,
  })

describe.each<[string, (agent: Agent, session: Session) => Promise<unknown>]>([
  [
    'fanOut',
    (agent, session) =>
      fanOut(agent, { children: [{ agent: teller(), input: 'refund' }], mergeStrategy: 'concat', session }),
  ],
  [
    'runFanOut',
    (_, session) => runFanOut({ children: [{ agent: teller(), input: 'refund' }], mergeStrategy: 'concat', session }),
  ],
  ['evaluatorOptimizer', (_, session) => improving(teller(), session)],
])('%s for a session', (_name, work) => {
  test('is judged by the tool.call listeners of the session', async () => {
    refunded.length = 0
    const { agent } = world([])
    const session = await agent.createSession()
    const judged: string[] = []
    session.on('tool.call', (call) => {
      judged.push(call.tool.name)
      return { deny: 'no refunds' }
    })
    expect(JSON.stringify(await work(agent, session))).toContain('no refunds')
    expect([refunded, judged]).toEqual([[], ['refund']])
  })

  test('is governed by the extensions of the session', async () => {
    refunded.length = 0
    const { agent } = world([])
    const strict = defineExtension({
      name: 'strict',
      scope: 'tree',
      hooks: { 'tool.call': (call) => (isCallTo(call, refund) ? { deny: 'no refunds' } : undefined) },
    })
    const session = await agent.createSession({ extensions: [strict] })
    expect(JSON.stringify(await work(agent, session))).toContain('no refunds')
    expect(refunded).toEqual([])
  })

  test('is rejected for a copy of the session', async () => {
    const { agent } = world([])
    const session = await agent.createSession()
    await expect(work(agent, { ...session })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

test('session.compensate undoes effects of fan-outs and evaluator-optimizers for the session, once', async () => {
  undone.length = 0
  const store = memoryStore()
  const desk = createAgent({ name: 'desk', model: scriptedModel([{ text: 'done' }]), store })
  const session = await desk.createSession()
  const [first, second] = [teller('1', store), teller('2', store)]
  await fanOut(desk, { session, children: [{ key: 'a', agent: first, input: 'refund' }], mergeStrategy: 'concat' })
  await improving(second, session)
  const approve = { onApproval: () => 'approve' as const }
  const without = await session.compensate(approve)
  expect(without).toMatchObject({ undone: [], impossible: [{ toolName: 'refund' }, { toolName: 'refund' }] })
  const result = await session.compensate({ agents: [first, second], ...approve })
  expect(result).toMatchObject({ undone: [{}, {}], impossible: [] })
  expect(undone).toEqual(['2', '1'])
  expect(await session.compensate({ agents: [first, second] })).toMatchObject({ undone: [], impossible: [] })
})
