import { createAgent, RunState } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { ApprovalDecision, Ask, CallAnswer, Extension, OnApproval } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

import { entriesOfType, extension, failure, missing, only, reported, transcript, watch } from './hook-scenario.ts'

const paid: number[] = []
beforeEach(() => {
  paid.length = 0
})
afterEach(() => {
  vi.useRealTimers()
})

function payTool(needsApproval?: Parameters<typeof tool>[0]['needsApproval']) {
  return tool({
    name: 'pay',
    title: 'Pay a bill',
    input: z.object({ amount: z.number() }),
    ...(needsApproval !== undefined && { needsApproval }),
    execute: ({ amount }) => {
      paid.push(amount)
      return `paid ${amount}`
    },
  })
}
const pay = payTool()

function asks(name: string, ask: Ask): Extension {
  return extension(name, { 'tool.call': () => ({ ask }) })
}

function payer(extensions: readonly Extension[], more: Partial<AgentOptions> = {}, ...amounts: readonly number[]) {
  const toolCalls = (amounts.length > 0 ? amounts : [80]).map((amount) => ({ name: 'pay', input: { amount } }))
  return createAgent({
    name: 'cashier',
    model: scriptedModel([{ toolCalls }, { text: 'done' }]),
    tools: [pay],
    ...more,
    extensions,
  })
}

/** An agent that asks before it pays, suspended, and what it waits for. */
async function suspended(extensions: readonly Extension[], ...amounts: readonly number[]) {
  const agent = payer(extensions, {}, ...amounts)
  const result = await agent.run('pay')
  expect(result.status).toBe('suspended')
  const [approval] = result.pending.approvals
  if (!approval) return missing('nothing is pending')
  const resume = (decision: Omit<ApprovalDecision, 'id'>) =>
    agent.run(result.state, { approvals: [{ ...decision, id: approval.id }] })
  return {
    agent,
    result,
    approval,
    resume,
    stream: (decision: Omit<ApprovalDecision, 'id'>) =>
      agent.stream(result.state, { approvals: [{ ...decision, id: approval.id }] }),
  }
}

describe('an ask', () => {
  it('suspends the run, with all a human needs to decide', async () => {
    const agent = payer([asks('limits', { reason: 'over 50', evidence: { limit: 50 } })])
    const { events, result } = await watch(agent.stream('pay'))
    const callId = `${result.runId}/1/call/0`
    expect(result.status).toBe('suspended')
    expect(paid).toEqual([])
    expect(result.pending).toEqual({
      approvals: [
        {
          id: expect.any(String),
          callId,
          toolName: 'pay',
          input: { amount: 80 },
          reason: 'over 50',
          evidence: { limit: 50 },
          effect: 'write',
          roles: {},
          label: { integrity: 'trusted', confidentiality: 'internal', sources: [] },
          definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
          agent: 'cashier',
          runPath: [result.runId],
        },
      ],
      remoteCalls: [],
      uncertain: [],
      inputs: [],
    })
    const [approval] = result.pending.approvals
    const [requested] = only(events, 'tool.approval.requested')
    expect(requested).toMatchObject({ ...approval, id: approval?.id, token: approval?.id })
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['agent.suspended', 'agent.end'])
    expect(only(events, 'agent.suspended')[0]?.pending).toEqual(result.pending)
  })

  it('joins all asks of a call: one approval with all reasons and the shortest deadline', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const agent = payer([
      asks('limits', { reason: 'over 50', evidence: 1, expiresInMs: 9_000 }),
      asks('night', { reason: 'at night', evidence: 2, expiresInMs: 5_000 }),
      asks('plain', { reason: 'always' }),
    ])
    const { pending } = await agent.run('pay')
    expect(pending.approvals).toMatchObject([
      { reason: 'over 50; at night; always', evidence: [1, 2], expiresAt: 1_005_000 },
    ])
  })

  it('waits without holding up the other calls of its step', async () => {
    const big = extension('limits', {
      'tool.call': ({ input }) => (JSON.stringify(input).includes('80') ? { ask: { reason: 'big' } } : undefined),
    })
    const { result, resume } = await suspended([big], 5, 80, 6)
    expect(paid).toEqual([5, 6])
    expect(result.pending.approvals).toHaveLength(1)
    const { messages, status } = await resume({ decision: 'approve' })
    expect(status).toBe('completed')
    expect(paid).toEqual([5, 6, 80])
    expect(transcript(messages).slice(2)).toEqual(['tool: [paid 5] [paid 80] [paid 6]', 'assistant: done'])
  })
})

describe('needsApproval of a tool', () => {
  it.for([
    ['true', true, 'Pay a bill needs approval'],
    ['a function of the parsed input', ({ amount }: { amount: number }) => amount > 50, 'Pay a bill needs approval'],
    ['a function that gives the ask itself', () => ({ reason: 'because' }), 'because'],
    ['a promise', () => Promise.resolve(true), 'Pay a bill needs approval'],
  ] as const)('asks: %s', async ([, needsApproval, reason]) => {
    const tools = [
      tool({
        name: 'pay',
        title: 'Pay a bill',
        input: z.object({ amount: z.number() }),
        needsApproval,
        execute: () => 'ok',
      }),
    ]
    const { pending } = await payer([], { tools }).run('pay')
    expect(pending.approvals).toMatchObject([{ reason, input: { amount: 80 } }])
  })

  it('does not ask where it says false', async () => {
    const tools = [
      tool({
        name: 'pay',
        input: z.object({ amount: z.number() }),
        needsApproval: ({ amount }) => amount > 80,
        execute: () => 'ok',
      }),
    ]
    expect((await payer([], { tools }).run('pay')).status).toBe('completed')
  })

  it('joins the asks of the extensions', async () => {
    const tools = [
      tool({ name: 'pay', input: z.object({ amount: z.number() }), needsApproval: true, execute: () => 'ok' }),
    ]
    const { pending } = await payer([asks('limits', { reason: 'over 50' })], { tools }).run('pay')
    expect(pending.approvals).toMatchObject([{ reason: 'over 50; pay needs approval' }])
  })

  it('does not ask about what an extension denies or the schema refuses', async () => {
    const tools = [
      tool({ name: 'pay', input: z.object({ amount: z.string() }), needsApproval: true, execute: () => 'ok' }),
    ]
    expect((await payer([], { tools }).run('pay')).pending.approvals).toEqual([])
    const deny = extension('no', { 'tool.call': () => ({ deny: 'no' }) })
    expect((await payer([deny], { tools: [payTool(true)] }).run('pay')).status).toBe('completed')
  })

  it('that throws denies the call, and the tool is named with what it threw', async () => {
    const tools = [
      payTool(() => {
        throw new Error('no limits known')
      }),
    ]
    const { events, result } = await watch(payer([], { tools }).stream('pay'))
    expect(paid).toEqual([])
    expect(transcript(result.messages)[2]).toMatch(/^tool: \[denied: needsApproval of pay failed/)
    expect(reported(events)).toEqual(['tool pay: no limits known'])
  })
})

describe('onApproval', () => {
  const limits = asks('limits', { reason: 'over 50' })

  it.for<readonly [string, OnApproval, string]>([
    ['approve', () => 'approve', 'tool: [paid 80]'],
    ['deny', () => 'deny', 'tool: [denied: The call was not approved.]'],
    ['a promise', () => Promise.resolve('approve'), 'tool: [paid 80]'],
    [
      'a denial with its reason',
      () => ({ decision: 'deny', reason: 'too dear', by: 'ann' }),
      'tool: [denied: too dear]',
    ],
  ])('decides in process: %s', async ([, onApproval, said]) => {
    const { messages, status } = await payer([limits]).run('pay', { onApproval })
    expect(status).toBe('completed')
    expect(transcript(messages)[2]).toBe(said)
  })

  it('leaves the call pending where it has no answer', async () => {
    const { status, pending } = await payer([limits]).run('pay', { onApproval: () => undefined })
    expect([status, pending.approvals.length]).toEqual(['suspended', 1])
  })

  it('that throws leaves the call pending, and is named', async () => {
    const onApproval = (): never => {
      throw new Error('dialog closed')
    }
    const { events, result } = await watch(payer([limits]).stream('pay', { onApproval }))
    expect(result.status).toBe('suspended')
    expect(paid).toEqual([])
    expect(reported(events)).toEqual(['listener onApproval: dialog closed'])
  })

  it('is asked for each approval', async () => {
    const asked: unknown[] = []
    const { messages } = await payer([limits], {}, 1, 2).run('pay', {
      onApproval: ({ input, reason }) => {
        asked.push([input, reason])
        return asked.length === 1 ? 'approve' : 'deny'
      },
    })
    expect(asked).toEqual([
      [{ amount: 1 }, 'over 50'],
      [{ amount: 2 }, 'over 50'],
    ])
    expect(transcript(messages)[2]).toBe('tool: [paid 1] [denied: The call was not approved.]')
  })
})

describe('after a decision', () => {
  it('an approved call runs with the arguments that were shown', async () => {
    const { resume, approval } = await suspended([asks('limits', { reason: 'over 50' })])
    const { status, messages } = await resume({ decision: 'approve', by: 'ann' })
    expect(status).toBe('completed')
    expect(paid).toEqual([80])
    expect(approval.input).toEqual({ amount: 80 })
    assertWellFormed(messages)
  })

  it('a denied call does not, and the model reads the reason', async () => {
    const { stream } = await suspended([asks('limits', { reason: 'over 50' })])
    const { events, result } = await watch(stream({ decision: 'deny', by: 'ann', reason: 'too dear' }))
    expect(paid).toEqual([])
    expect(transcript(result.messages)[2]).toBe('tool: [denied: too dear]')
    expect(only(events, 'tool.approval.resolved')).toMatchObject([
      { decision: 'deny', by: 'ann', reason: 'too dear', toolName: 'pay' },
    ])
  })

  it('hooks judge once more, with the approval: their ask is satisfied', async () => {
    const seen: unknown[] = []
    const limits = extension('limits', {
      'tool.call': (_call, { approval }) => {
        seen.push(approval && { decision: approval.decision, by: approval.by })
        return { ask: { reason: 'over 50' } }
      },
    })
    const { resume } = await suspended([limits])
    expect((await resume({ decision: 'approve', by: 'ann' })).status).toBe('completed')
    expect(seen).toEqual([undefined, { decision: 'approve', by: 'ann' }])
    expect(paid).toEqual([80])
  })

  it('a deny of a hook still stands', async () => {
    const limits = extension('limits', {
      'tool.call': (_call, { approval }) => (approval ? { deny: 'the day is over' } : { ask: { reason: 'over 50' } }),
    })
    const { resume } = await suspended([limits])
    expect(transcript((await resume({ decision: 'approve' })).messages)[2]).toBe('tool: [denied: the day is over]')
    expect(paid).toEqual([])
  })

  it('no further hook judges a denied call', async () => {
    const hook = vi.fn((): CallAnswer => ({ ask: { reason: 'over 50' } }))
    const { resume } = await suspended([extension('limits', { 'tool.call': hook })])
    await resume({ decision: 'deny' })
    expect(hook).toHaveBeenCalledTimes(1)
  })

  it('the arguments are final: hooks are told so, and a rewrite is not applied', async () => {
    const finals: unknown[] = []
    const greedy = extension('greedy', {
      'tool.call'(_call, { approval, final }) {
        finals.push(final)
        return approval ? { args: { amount: 8_000 } } : { ask: { reason: 'over 50' } }
      },
    })
    const { resume } = await suspended([greedy])
    expect((await resume({ decision: 'approve' })).status).toBe('completed')
    expect(paid).toEqual([80])
    expect(finals).toEqual([undefined, true])
  })

  it('a hook that rewrites each time does so once, before the human is asked', async () => {
    let n = 0
    const restless = extension('restless', { 'tool.call': () => ({ args: { amount: ++n } }) })
    const agent = payer([restless, asks('limits', { reason: 'over 50' })])
    const onApproval = vi.fn<OnApproval>(() => 'approve')
    expect((await agent.run('pay', { onApproval })).status).toBe('completed')
    expect(onApproval.mock.calls).toMatchObject([[{ input: { amount: 1 } }]])
    expect(paid).toEqual([1])
  })

  it('an approval of one call is none of another', async () => {
    const { result, agent } = await suspended([asks('limits', { reason: 'over 50' })], 10, 20)
    const [first, second] = result.pending.approvals
    const next = await agent.run(result.state, { approvals: [{ id: second?.id ?? '', decision: 'approve' }] })
    expect(next.status).toBe('suspended')
    expect(paid).toEqual([20])
    expect(next.pending.approvals).toMatchObject([{ id: first?.id, input: { amount: 10 } }])
  })

  it('a decision on something that was never asked fails the run that brings it', async () => {
    const { agent, result } = await suspended([asks('limits', { reason: 'over 50' })])
    const wrong = await agent.run(result.state, { approvals: [{ id: 'forged', decision: 'approve' }] })
    expect(failure(wrong).code).toBe('unknown-wait')
    expect(paid).toEqual([])
  })

  it('the first decision stands', async () => {
    const { agent, result, approval } = await suspended([asks('limits', { reason: 'over 50' })])
    const { messages } = await agent.run(result.state, {
      approvals: [
        { id: approval.id, decision: 'deny', reason: 'first' },
        { id: approval.id, decision: 'approve' },
      ],
    })
    expect(transcript(messages)[2]).toBe('tool: [denied: first]')
    expect(paid).toEqual([])
  })

  it('also in another process, from the state as JSON', async () => {
    const limits = asks('limits', { reason: 'over 50' })
    const first = payer([limits])
    const { state, pending } = await first.run('pay')
    const second = createAgent({
      name: 'cashier',
      model: scriptedModel([{ text: 'done' }]),
      tools: [pay],
      extensions: [limits],
    })
    const result = await second.run(RunState.fromJSON(JSON.stringify(state), second), {
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    })
    expect(result.status).toBe('completed')
    expect(paid).toEqual([80])
  })
})

describe('arguments edited by the approver', () => {
  const limits = asks('limits', { reason: 'over 50' })

  it('are what runs', async () => {
    const { resume } = await suspended([limits])
    const { status, messages } = await resume({ decision: 'approve', args: { amount: 20 } })
    expect(status).toBe('completed')
    expect(paid).toEqual([20])
    expect(messages[1]?.content).toMatchObject([{ input: { amount: 80 } }])
  })

  it('are rewritten and asked about again, without the approval: it covers what the approver wrote', async () => {
    const seen: unknown[] = []
    const add = extension('add', { 'tool.call': ({ input }) => ({ args: { amount: Number(input['amount']) + 1 } }) })
    const late = extension('late', {
      'tool.call'({ input }, { approval }) {
        seen.push([input['amount'], approval?.decision])
        return approval ? undefined : { ask: { reason: 'over 50' } }
      },
    })
    const { resume, result } = await suspended([add, late])
    expect(result.pending.approvals).toMatchObject([{ input: { amount: 81 } }])
    const edited = await resume({ decision: 'approve', args: { amount: 20 } })
    expect(edited.pending.approvals).toMatchObject([{ input: { amount: 21 } }])
    expect(seen).toEqual([
      [81, undefined],
      [21, 'approve'],
      [21, undefined],
    ])
    expect(paid).toEqual([])
  })

  it.each(['twenty', [20], null])('that are no object (%j) are an error to the model', async (args) => {
    const { resume } = await suspended([limits])
    const { messages } = await resume({ decision: 'approve', args })
    expect(paid).toEqual([])
    expect(transcript(messages)[2]).toMatch(/^tool: \[The input of pay /)
  })

  it('are validated', async () => {
    const { resume } = await suspended([limits])
    const { messages } = await resume({ decision: 'approve', args: { amount: 'twenty' } })
    expect(paid).toEqual([])
    expect(transcript(messages)[2]).toMatch(/^tool: \[The input of pay does not fit its schema: amount/)
  })

  it('are a new proposal, labelled by the approver, that all judge', async () => {
    const seen: unknown[] = []
    const guard = extension('guard', {
      'tool.call': ({ input, label }, { approval }) => {
        seen.push([input, label.integrity])
        return approval && JSON.stringify(input).includes('13') ? { deny: 'not 13' } : { ask: { reason: 'over 50' } }
      },
    })
    const agent = createAgent({
      name: 'cashier',
      model: scriptedModel([
        { toolCalls: [{ name: 'bill' }] },
        { toolCalls: [{ name: 'pay', input: { amount: 80 } }] },
        { text: 'done' },
      ]),
      tools: [pay, tool({ name: 'bill', effect: 'read', input: z.object({}), execute: () => 'pay 80' })],
      extensions: [
        extension('only-pay', {
          'tool.call': (call, ctx) => (call.tool.name === 'pay' ? guard.hooks['tool.call']?.(call, ctx) : undefined),
        }),
      ],
    })
    const { state, pending } = await agent.run('pay')
    const { messages } = await agent.run(state, {
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve', args: { amount: 13 } })),
    })
    expect(seen).toEqual([
      [{ amount: 80 }, 'untrusted'],
      [{ amount: 13 }, 'trusted'],
    ])
    expect(transcript(messages)).toContain('tool: [denied: not 13]')
    expect(paid).toEqual([])
  })

  it('stand in the log as the effective ones', async () => {
    const store = memoryStore()
    const agent = payer([limits], { store })
    const { state, pending } = await agent.run('pay')
    const result = await agent.run(state, {
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann', args: { amount: 20 } })),
    })
    expect(await entriesOfType(store, result, 'call')).toMatchObject([
      { op: 'decided', outcome: 'ask', args: { amount: 80 } },
      { op: 'decided', outcome: 'proceed', by: 'ann', args: { amount: 20 } },
      { op: 'started' },
      { op: 'settled' },
    ])
  })
})

describe('an approval that expires', () => {
  const limits = asks('limits', { reason: 'over 50', expiresInMs: 5_000 })

  it('says when', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const { approval } = await suspended([limits])
    expect(approval.expiresAt).toBe(1_005_000)
  })

  it('counts as denied once its time is over', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const { agent, result } = await suspended([limits])
    vi.setSystemTime(1_005_000)
    const { events, result: end } = await watch(agent.stream(result.state))
    expect(end.status).toBe('completed')
    expect(paid).toEqual([])
    expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'expired' }])
  })

  it('can no longer be given: who comes too late has not approved', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const { stream } = await suspended([limits])
    vi.setSystemTime(1_005_001)
    const { events, result } = await watch(stream({ decision: 'approve' }))
    expect(paid).toEqual([])
    expect(result.status).toBe('completed')
    expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'expired' }])
  })

  it('is not kept alive by an onApproval that thinks for too long', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const agent = payer([limits])
    const result = await agent.run('pay', {
      onApproval: () => {
        vi.setSystemTime(1_005_001)
        return 'approve'
      },
    })
    expect(paid).toEqual([])
    expect(transcript(result.messages)[2]).toMatch(/^tool: \[denied/)
  })

  it('ends the wait for an onApproval that never answers', async () => {
    const brief = asks('limits', { reason: 'over 50', expiresInMs: 5 })
    const result = await payer([brief]).run('pay', {
      onApproval: () => new Promise(() => {}),
      signal: AbortSignal.timeout(2_000),
    })
    expect(result.status).toBe('completed')
    expect(transcript(result.messages)[2]).toMatch(/^tool: \[denied/)
  })
})
