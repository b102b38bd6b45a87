import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { AgentEvent, Tool } from '@provost/core'
import { ProvostError } from '@provost/core'
import { forkSession, listEffects, memoryStore, sqliteStore } from '@provost/sessions'
import { effectServer, scriptedModel } from '@provost/testing'
import type { EffectServer, ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { fromAiTool, tool } from '@provost/tools'
import { dynamicTool } from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { fannedOut } from '../children/fan-out-world.ts'

let bank: EffectServer

beforeEach(async () => {
  bank = await effectServer({ knowsKeys: false })
})

afterEach(() => bank.close())

interface Payment {
  readonly invoice: string
  readonly amount: number
}

const input = z.object({ invoice: z.string(), amount: z.number() })

async function pay(payment: Payment, key: string, signal: AbortSignal): Promise<string> {
  const headers = { 'idempotency-key': key }
  const response = await fetch(`${bank.url}/effects`, {
    method: 'POST',
    headers,
    body: JSON.stringify(payment),
    signal,
  })
  if (!response.ok) throw new ProvostError('bank-refused', `The bank answered ${response.status}.`)
  const { id }: { id: number } = JSON.parse(await response.text())
  return `receipt ${id}`
}

async function find(key: string): Promise<{ readonly output: string } | undefined> {
  const response = await fetch(`${bank.url}/effects/${key}`)
  if (response.status === 404) return undefined
  const { id }: { id: number } = JSON.parse(await response.text())
  return { output: `receipt ${id}` }
}

interface Making {
  readonly keyed?: boolean
  readonly lookup?: boolean
  readonly scope?: 'session' | 'principal' | 'agent'
  /** Of the call and of its lookup: enough for a lookup on a busy machine. */
  readonly timeoutMs?: number
}

function payTool({ keyed = false, lookup = true, scope, timeoutMs = 30_000 }: Making = {}): Tool<Payment, string> {
  return tool({
    name: 'pay',
    input,
    timeoutMs,
    execute: (payment: Payment, { idempotencyKey, signal }) => pay(payment, idempotencyKey, signal),
    ...(lookup && { lookup: find }),
    ...(keyed && { effectKey: ({ invoice }: Payment) => invoice }),
    ...(scope && { effectScope: scope }),
  })
}

const call = (amount = 80, invoice = '17'): ScriptedStep => ({
  toolCalls: [{ name: 'pay', input: { invoice, amount } }],
})
const twice: readonly ScriptedStep[] = [call(), call(), { text: 'done' }]

function agentWith(steps: readonly ScriptedStep[], making: Making = {}, store = memoryStore()): Agent {
  const tools = [payTool(making)]
  return createAgent({ name: 'desk', model: scriptedModel(steps, { after: 'repeat-last' }), tools, store })
}

/** The results of the calls of `pay` in order: what the model received. */
async function resultsOf(events: AsyncIterable<AgentEvent>): Promise<readonly string[]> {
  const seen: string[] = []
  for await (const event of events) {
    if (event.type === 'tool.execute.end') seen.push(`${event.via} ${JSON.stringify(event.output)}`)
    if (event.type === 'tool.execute.error') seen.push(`error ${event.error.code}`)
    if (event.type === 'tool.uncertain') seen.push('uncertain')
  }
  return seen
}

describe.each([{ keyed: true }, { keyed: false }])('a call whose reply is lost ($keyed)', ({ keyed }) => {
  it.each(['lose-reply', 'hang', 'error-after'] as const)(
    'is not repeated when the same call follows and the lookup finds its effect (%s)',
    async (fault) => {
      bank.fail(fault)
      const timeoutMs = fault === 'hang' ? 1_500 : 30_000
      const stream = agentWith(twice, { keyed, timeoutMs }).stream('pay invoice 17')
      const results = await resultsOf(stream)
      expect(results[0]).toMatch(/^error/)
      expect(results[1]).toMatch(/^ledger .*receipt 1/)
      expect((await stream.result).status).toBe('completed')
      expect(bank.effects).toHaveLength(1)
    },
  )

  it('runs again with the same key when the lookup proves that there was no effect', async () => {
    bank.fail('drop')
    const stream = agentWith(twice, { keyed }).stream('pay invoice 17')
    expect((await resultsOf(stream))[1]).toMatch(/^executed .*receipt 1/)
    expect(bank.effects).toHaveLength(1)
    expect(bank.lookups).toBe(1)
  })

  it.each([
    ['retry', 2],
    ['done', 1],
    ['fail', 1],
  ] as const)('is put to a human where nothing can look it up, who decides %s', async (decision, effects) => {
    bank.fail('lose-reply')
    const agent = agentWith(twice, { keyed, lookup: false })
    const first = await agent.run('pay invoice 17')
    expect(first.status).toBe('suspended')
    expect(first.pending.uncertain).toMatchObject([{ toolName: 'pay', input: { invoice: '17', amount: 80 } }])
    expect(first.pending.uncertain[0]?.startedAt).toBeGreaterThan(0)
    expect(bank.effects).toHaveLength(1)
    const callId = first.pending.uncertain[0]?.callId ?? ''
    const output = decision === 'done' ? { output: 'receipt 1' } : {}
    const second = await agent.run(first.state, { uncertain: [{ callId, decision, ...output }] })
    expect(second.status).toBe('completed')
    expect(bank.effects).toHaveLength(effects)
  })
})

it('asks about a lost reply of a call without a time limit, like of any other', async () => {
  bank.fail('lose-reply')
  const paying = fromAiTool(
    'pay',
    dynamicTool({
      inputSchema: input,
      execute: (payment, { abortSignal = AbortSignal.timeout(30_000) }) => pay(input.parse(payment), '1', abortSignal),
    }),
    { timeoutMs: Number.POSITIVE_INFINITY },
  )
  const model = scriptedModel(twice, { after: 'repeat-last' })
  // It keeps claims as JSON, which has no infinite time.
  const store = sqliteStore(':memory:')
  const result = await createAgent({ name: 'desk', model, tools: [paying], store }).run('pay invoice 17')
  await store.close()
  expect(result.pending.uncertain).toMatchObject([{ toolName: 'pay' }])
  expect(bank.effects).toHaveLength(1)
})

describe('a tool with an effectKey', () => {
  it('returns the stored result to the same call, in the same run and in later ones', async () => {
    const agent = agentWith([...twice, ...twice], { keyed: true })
    const session = await agent.createSession()
    const results: string[] = []
    for (const text of ['pay', 'and again']) results.push(...(await resultsOf(session.stream(text))))
    expect(results.map((result) => result.split(' ')[0])).toEqual(['executed', 'ledger', 'ledger', 'ledger'])
    expect(new Set(results.map((result) => result.slice(result.indexOf(' '))))).toHaveLength(1)
    expect(bank.effects).toHaveLength(1)
  })

  it('takes place once when two calls of a step ask for it at the same time', async () => {
    const both = { toolCalls: [call(), call()].flatMap(({ toolCalls = [] }) => toolCalls) }
    const stream = agentWith([both, { text: 'done' }], { keyed: true }).stream('pay')
    const results = await resultsOf(stream)
    expect(results.map((result) => result.split(' ')[0] ?? '').toSorted()).toEqual(['executed', 'ledger'])
    expect(bank.effects).toHaveLength(1)
  })

  it('takes place once when agents of a fan-out ask for it at the same time', async () => {
    bank.fail({ delayMs: 30 })
    const answer = ({ messages }: ScriptedPrompt): ScriptedStep =>
      messages.some(({ role }) => role === 'tool') ? { text: 'done' } : call()
    const model = scriptedModel([answer], { after: 'repeat-last' })
    const tools = [payTool({ keyed: true })]
    const agent = createAgent({ name: 'payer', model, tools })
    const result = await fannedOut({
      children: ['a', 'b', 'c'].map((key) => ({ key, agent, input: 'pay' })),
      mergeStrategy: 'concat',
    })
    expect(result.children.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    expect(bank.effects).toHaveLength(1)
  })

  it('asks a human about other arguments, and takes place again with another idempotency key if approved', async () => {
    const asked: unknown[] = []
    const agent = agentWith([call(80), call(90), { text: 'done' }], { keyed: true })
    const result = await agent.run('pay', {
      onApproval(approval) {
        asked.push(approval.reason)
        return 'approve'
      },
    })
    expect(result.status).toBe('completed')
    expect(asked).toEqual(['17 was requested before with other arguments. Is this another effect?'])
    expect(bank.effects.map(({ body }) => body)).toEqual([
      { invoice: '17', amount: 80 },
      { invoice: '17', amount: 90 },
    ])
    expect(new Set(bank.effects.map(({ key }) => key)).size).toBe(2)
  })

  it('does not take place with other arguments if a human denies', async () => {
    const agent = agentWith([call(80), call(90), { text: 'done' }], { keyed: true })
    await agent.run('pay', { onApproval: () => 'deny' })
    expect(bank.effects).toHaveLength(1)
  })

  it('may take place again after it failed', async () => {
    bank.fail('reject')
    const agent = agentWith(twice, { keyed: true, lookup: false })
    expect((await resultsOf(agent.stream('pay'))).map((result) => result.split(' ')[0])).toEqual(['error', 'executed'])
    expect(bank.effects).toHaveLength(1)
  })

  it('is the same effect in a session and its forks', async () => {
    const store = memoryStore()
    const agent = agentWith([call(), { text: 'done' }, call(), { text: 'done' }], { keyed: true }, store)
    const session = await agent.createSession({ id: 'original' })
    await resultsOf(session.stream('hello'))
    const { sessionId } = await forkSession(store, 'original')
    const fork = await agent.resumeSession(sessionId)
    expect((await resultsOf(fork.stream('pay')))[0]).toMatch(/^ledger/)
    expect(bank.effects).toHaveLength(1)
  })

  it('is unique for a principal over sessions, and tells others only that it took place', async () => {
    const store = memoryStore()
    const steps = [call(), { text: 'done' }]
    const payer = (scope: 'principal' | 'agent'): Agent => agentWith(steps, { keyed: true, scope }, store)
    const by = async (id: string, scope: 'principal' | 'agent'): Promise<string> =>
      (await resultsOf(payer(scope).stream('pay', { principal: { id } })))[0] ?? ''
    expect(await by('ann', 'principal')).toMatch(/^executed/)
    expect(await by('ann', 'principal')).toMatch(/^ledger .*receipt 1/)
    expect(await by('bob', 'principal')).toMatch(/^executed/)
    expect(await by('ann', 'agent')).toMatch(/^executed/)
    const told = await by('bob', 'agent')
    expect(told).toMatch(/^ledger/)
    expect(told).not.toContain('receipt')
    expect(bank.effects).toHaveLength(3)
  })

  it('lists its effects with their states', async () => {
    const store = memoryStore()
    bank.fail('reject', undefined, 'lose-reply')
    const steps = [call(1, 'a'), call(1, 'b'), call(1, 'c'), { text: 'done' }]
    const agent = agentWith(steps, { keyed: true, lookup: false }, store)
    const { sessionId } = await agent.run('pay')
    const found: string[] = []
    for await (const { key, state } of listEffects(store, { scope: 'session', scopeId: sessionId })) {
      found.push(`${key} ${state}`)
    }
    expect(found).toEqual(['a failed', 'b confirmed', 'c unknown'])
  })

  it('denies a call whose key cannot be computed', async () => {
    const broken = tool({
      name: 'pay',
      input,
      execute: (payment: Payment, { idempotencyKey, signal }) => pay(payment, idempotencyKey, signal),
      effectKey: () => '',
    })
    const agent = createAgent({ name: 'desk', model: scriptedModel([call(), { text: 'done' }]), tools: [broken] })
    const stream = agent.stream('pay')
    const errors: string[] = []
    for await (const event of stream) if (event.type === 'agent.error') errors.push(event.error.code)
    expect(errors).toEqual(['invalid-effect-key'])
    expect(bank.effects).toHaveLength(0)
  })
})
