import { createAgent } from '@provost/agent'
import { add, caller, script } from '@provost/agent/test/composite/composite-world'
import { afterDeath, payer } from '@provost/agent/test/crash/lookup-world'
import { readLog } from '@provost/agent/test/run/run-check'
import { payTool } from '@provost/agent/test/session/session-world'
import { replaySession } from '@provost/replay'
import { memoryStore } from '@provost/sessions'
import { effectServer, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

test('a recorded composite replays, what it made happen included', async () => {
  const pay = payTool()
  const { agent, store } = caller([
    add,
    pay.tool,
    script(async (ctx) => {
      const one = ctx.call('pay', { sum: 1 }, { key: 'pay' })
      const sum = await ctx.call('add', { a: 1, b: 2 }, { key: 'sum' })
      await ctx.memo('then', () => 'then')
      return [sum.value, (await one).value, await ctx.wait('end')]
    }),
  ])
  let result = await agent().run('Go.')
  const { sessionId } = result
  result = await agent().run(result.state, {
    approvals: result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
  })
  result = await agent().run(result.state, { inputs: result.pending.inputs.map(({ id }) => ({ id, value: 'done' })) })
  expect(result.text).toContain('[3,"paid 1","done"]')
  const log = await readLog(store, sessionId)
  await expect(replaySession(agent(), log)).resolves.toBeUndefined()
  const other = log.map((entry) =>
    entry.type === 'call' && entry.op === 'settled' && entry.callId.endsWith('/0') ? { ...entry, callId: 'x' } : entry,
  )
  await expect(replaySession(agent(), other)).resolves.toBeDefined()
})

test('a recorded error of a remote call replays', async () => {
  const far = tool({ name: 'far', input: z.object({}) })
  const model = scriptedModel([{ toolCalls: [{ name: 'far' }] }, { text: 'ok' }])
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model, tools: [far], store })
  const first = await agent.run('Print.')
  const toolResults = first.pending.remoteCalls.map(({ callId }) => ({
    callId,
    error: { message: 'the printer is offline', code: 'printer-offline' },
  }))
  const { status, sessionId } = await agent.run(first.state, { toolResults })
  expect(status).toBe('completed')
  expect(await replaySession(agent, await readLog(store, sessionId))).toBeUndefined()
})

test('a recorded batch replays, with a row that was struck and one whose arguments were edited', async () => {
  const paid: unknown[] = []
  const pay = tool({
    name: 'pay',
    stage: true,
    input: z.object({ to: z.string(), amount: z.number() }),
    execute: (payment) => {
      paid.push(payment)
      if (payment.amount > 1_000) throw new Error('refused')
      return 'paid'
    },
  })
  const toolCalls = [
    { name: 'pay', input: { to: 'ann', amount: 10 } },
    { name: 'pay', input: { to: 'bob', amount: 20 } },
    { name: 'pay', input: { to: 'cy', amount: 2_000 } },
  ]
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls }, { text: 'done' }])
  const agent = createAgent({ name: 'desk', model, tools: [pay], store })
  const first = await agent.run('pay them')
  const [ann, bob] = first.pending.approvals
  const edits = { [bob?.id ?? '']: { to: 'bob', amount: 21 } }
  const { status, sessionId } = await agent.run(first.state, {
    batches: [{ id: ann?.batch ?? '', decision: 'approve', except: [ann?.id ?? ''], edits }],
  })
  expect([status, paid]).toEqual([
    'completed',
    [
      { to: 'bob', amount: 21 },
      { to: 'cy', amount: 2_000 },
    ],
  ])
  expect(await replaySession(agent, await readLog(store, sessionId))).toBeUndefined()
})

test.each(['before', 'behind'] as const)(
  'a call that was looked up after a crash %s its effect replays',
  async (dies) => {
    const { bank, store, session, kill } = await afterDeath(dies)
    expect((await session.resume().result).text).toContain('"paid":7,"times":1')
    expect(await replaySession(payer(store, bank), await readLog(store, 's'))).toBeUndefined()
    kill()
  },
)

test.each([
  ['answered', [], false],
  ['looked up', ['lose-reply'], true],
  ['asked', ['lose-reply'], false],
] as const)('an effect with a key that was requested twice replays where it was %s', async (_, faults, lookup) => {
  const bank = await effectServer({ knowsKeys: false })
  onTestFinished(() => bank.close())
  bank.fail(...faults)
  const pay = tool({
    name: 'pay',
    input: z.object({ invoice: z.string() }),
    effectKey: ({ invoice }) => invoice,
    effectScope: 'session',
    async execute({ invoice }, { idempotencyKey }) {
      const headers = { 'idempotency-key': idempotencyKey }
      const response = await fetch(`${bank.url}/effects`, { method: 'POST', headers, body: JSON.stringify(invoice) })
      return `receipt ${await response.text()}`
    },
    ...(lookup && {
      async lookup(key: string) {
        const response = await fetch(`${bank.url}/effects/${key}`)
        return response.ok ? { output: `receipt ${await response.text()}` } : undefined
      },
    }),
  })
  const toolCalls = [{ name: 'pay', input: { invoice: '17' } }]
  const store = memoryStore()
  const model = scriptedModel([{ toolCalls }, { toolCalls }, { text: 'done' }], { after: 'repeat-last' })
  const desk = createAgent({ name: 'desk', model, tools: [pay], store })
  const result = await desk.run('pay')
  if (result.status === 'suspended') {
    const uncertain = result.pending.uncertain.map(({ callId }) => ({
      callId,
      decision: 'done' as const,
      output: 'paid',
    }))
    await desk.run(result.state, { uncertain })
  }
  expect(await replaySession(desk, await readLog(store, result.sessionId))).toBeUndefined()
  expect(bank.effects).toHaveLength(1)
})

test('a call of an orchestrator replays, with its approval', async () => {
  const pay = tool({
    name: 'pay',
    input: z.object({ n: z.number() }),
    needsApproval: true,
    execute: ({ n }) => `paid ${n}`,
  })
  const store = memoryStore()
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([{ text: 'Done.' }]),
    tools: [pay],
    store,
    async orchestrator(run) {
      await run.callTool(pay, { n: 5 })
      await run.model()
    },
  })
  const asked = await agent.run('Go.')
  const approvals = asked.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
  expect(await agent.run(asked.state, { approvals })).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(await replaySession(agent, await readLog(store, asked.sessionId))).toBeUndefined()
})
