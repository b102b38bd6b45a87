import { createAgent, handoff } from '@provost/agent'
import type { Agent, AgentOptions, Session } from '@provost/agent'
import { deepFreeze, defineExtension, isCallTo } from '@provost/core'
import type { AgentEvent, CompositeContext } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'

import { fannedOut } from '../children/fan-out-world.ts'
import { echo, extension, say, transcript } from '../hooks/hook-scenario.ts'
import { heard, world } from './session-world.ts'

const sums: number[] = []
const refund = tool({
  name: 'refund',
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${sums.push(amount)}`,
})
const callRefund = (amount: number) => ({ name: 'refund', input: { amount } })

describe('on and off', () => {
  test('chain, take any number of listeners of a type, and call them in their order', async () => {
    const { agent } = world([{ text: 'Hello.' }])
    const session = await agent.createSession()
    const calls: string[] = []
    const gone = () => calls.push('gone')
    const twice = () => calls.push('twice')
    const back = session
      .on('agent.end', () => calls.push('first'))
      .on('agent.end', gone)
      .on('agent.end', twice)
      .on('agent.end', twice)
      .on('*', (event) => event.type === 'agent.end' && calls.push('any'))
      .off('agent.end', gone)
    expect(back).toBe(session)
    session.send('go')
    await session.waitForIdle()
    expect(calls).toEqual(['first', 'twice', 'twice', 'any'])
  })

  test('work while a run is in progress', async () => {
    const { agent } = world([{ text: ['a', 'b', 'c'] }])
    const session = await agent.createSession()
    const deltas: string[] = []
    session.on('text.start', () => {
      session.on('text.delta', function once({ delta }) {
        deltas.push(delta)
        session.off('text.delta', once)
      })
    })
    session.send('go')
    await session.waitForIdle()
    expect(deltas).toEqual(['a'])
  })

  test('hear children, and what these ask of a human', async () => {
    const pay = tool({ name: 'pay', input: z.object({}), needsApproval: true, execute: () => 'paid' })
    const child = createAgent({
      name: 'child',
      tools: [pay],
      model: scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'Paid.' }]),
    })
    const { agent } = world([{ toolCalls: [{ name: 'go', input: { task: 'pay' } }] }, { text: 'Done.' }], {
      tools: [child.toTool({ name: 'go', description: 'go' })],
    })
    const session = await agent.createSession()
    const events = heard(session)
    session.on('tool.approval.requested', ({ id }) => session.resolve({ approvals: [{ id, decision: 'approve' }] }))
    session.send('go')
    expect((await session.waitForIdle())?.text).toBe('Done.')
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    const parents = new Map(events.map((event) => [event.agent, event.parents]))
    expect([parents.get('a'), parents.get('child')]).toEqual([[], [events[0]?.runId]])
  })

  test('refuse a name that is no event, and a listener that is no function', async () => {
    const { agent } = world([])
    const session = await agent.createSession()
    // @ts-expect-error there is no such event
    expect(() => session.on('text.detla', () => {})).toThrow(expect.objectContaining({ code: 'unknown-event' }))
    // @ts-expect-error a listener is a function
    expect(() => session.on('*', 'x')).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  })

  test('give each listener its own count without a gap, over all runs of the session', async () => {
    const { agent } = world([{ toolCalls: [say('x')] }, { text: ['a', 'b'] }, { text: 'c' }], { tools: [echo] })
    const session = await agent.createSession()
    const all = heard(session)
    const deltas: AgentEvent[] = []
    session.on('text.delta', (event) => deltas.push(event))
    for (const text of ['go', 'on']) {
      session.send(text)
      await session.waitForIdle()
    }
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
    expect(deltas.map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(all.every((event) => Object.isFrozen(event))).toBe(true)
  })

  test('give the same events as a stream does', async () => {
    const { agent } = world([{ toolCalls: [say('x')] }, { text: ['a', 'b'] }], { tools: [echo] })
    const session = await agent.createSession()
    const all = heard(session)
    const streamed: AgentEvent[] = []
    for await (const event of session.stream('go')) streamed.push(event)
    expect(all).toEqual(streamed)
  })
})

describe('a listener that throws', () => {
  test.each([
    [
      'at once',
      () => {
        throw new Error('broken')
      },
    ],
    ['later', () => Promise.reject(new Error('broken'))],
  ])('%s disturbs nothing and is reported, to the other listeners too', async (_, broken) => {
    const { agent } = world([{ text: ['a', 'b'] }])
    const session = await agent.createSession()
    const errors: unknown[] = []
    const deltas: string[] = []
    session
      .on('text.delta', broken)
      .on('text.delta', ({ delta }) => deltas.push(delta))
      .on('agent.error', ({ error, source }) => errors.push([error.message, source]))
    session.send('go')
    expect((await session.waitForIdle())?.text).toBe('ab')
    expect(deltas).toEqual(['a', 'b'])
    const report = ['broken', { kind: 'listener', name: 'text.delta' }]
    expect(errors).toEqual([report, report])
  })

  test('whatever it receives does not go round for ever', async () => {
    const echoing = extension('echoing', { event: (event, ctx) => event.type === 'agent.error' && ctx.emit('heard') })
    const { agent } = world([{ text: 'a' }], { extensions: [echoing] })
    const session = await agent.createSession()
    let calls = 0
    session.on('*', () => {
      calls++
      throw new Error('always')
    })
    session.send('go')
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect(calls).toBeLessThan(100)
  })
})

describe('a tool.call listener', () => {
  test('denies or rewrites, typed by the tool; the tool gets what it wrote', async () => {
    sums.length = 0
    const { agent, asked } = world([{ toolCalls: [callRefund(17.4), callRefund(200), say('x')] }, { text: 'Done.' }], {
      tools: [refund, echo],
    })
    const session = await agent.createSession()
    session.on('tool.call', async (call) => {
      if (!isCallTo(call, refund)) return
      return call.input.amount > 100 ? { deny: 'too much' } : { args: { amount: Math.round(call.input.amount) } }
    })
    session.send('go')
    await session.waitForIdle()
    expect(sums).toEqual([17])
    expect(asked[1]?.messages.at(-1)).toMatchObject({
      content: [
        { output: { value: 'refunded 1' } },
        { output: { type: 'execution-denied', reason: 'too much' } },
        { output: { value: 'echo x' } },
      ],
    })
  })

  const shell = tool({ name: 'shell', input: z.object({ cmd: z.string() }), execute: ({ cmd }) => `ran ${cmd}` })
  const ls = { toolCalls: [{ name: 'shell', input: { cmd: 'ls' } }] }

  test.each([false, true])('wraps what the one before it left, each once (asked about: %s)', async (needsApproval) => {
    const guarded = tool({
      name: 'shell',
      input: z.object({ cmd: z.string() }),
      needsApproval,
      execute: ({ cmd }) => `ran ${cmd}`,
    })
    const { agent } = world([ls, { text: 'Done.' }], { tools: [guarded] })
    const session = await agent.createSession({ onApproval: () => 'approve' })
    const seen: unknown[] = []
    session
      .on('tool.call', (call) => {
        seen.push(['timeout', call.input['cmd']])
        return isCallTo(call, guarded) ? { args: { ...call.input, cmd: `timeout 5 ${call.input.cmd}` } } : undefined
      })
      .on('tool.call', (call) => {
        seen.push(['nice', call.input['cmd']])
        return isCallTo(call, guarded) ? { args: { ...call.input, cmd: `nice ${call.input.cmd}` } } : undefined
      })
    session.send('go')
    await session.waitForIdle()
    const final = 'nice timeout 5 ls'
    expect(transcript(session.messages)[2]).toBe(`tool: [ran ${final}]`)
    expect(seen).toEqual([
      ['timeout', 'ls'],
      ['nice', 'timeout 5 ls'],
      ['timeout', final],
      // After the approval all judge the final arguments.
      ...(needsApproval
        ? [
            ['timeout', final],
            ['nice', final],
          ]
        : []),
    ])
  })

  test('that left other arguments than the final ones may deny them', async () => {
    const { agent } = world([ls, { text: 'Done.' }], { tools: [shell] })
    const session = await agent.createSession()
    session
      .on('tool.call', ({ input }) => (input['cmd'] === 'rm -r /' ? { deny: 'not that' } : undefined))
      .on('tool.call', () => ({ args: { cmd: 'rm -r /' } }))
    session.send('go')
    await session.waitForIdle()
    expect(transcript(session.messages)[2]).toBe('tool: [denied: not that]')
  })

  test('rewrites behind the extensions, which judge the final arguments', async () => {
    const seen: unknown[] = []
    const policy = extension('policy', { 'tool.call': ({ input }, { final }) => void seen.push([input['cmd'], final]) })
    const { agent } = world([ls, { text: 'Done.' }], { tools: [shell], extensions: [policy] })
    const session = await agent.createSession()
    session.on('tool.call', () => ({ args: { cmd: 'ls -l' } }))
    session.send('go')
    await session.waitForIdle()
    expect(transcript(session.messages)[2]).toBe('tool: [ran ls -l]')
    expect(seen).toEqual([
      ['ls', undefined],
      ['ls -l', true],
    ])
  })

  test('receives what a listener before it wrote without the values of secrets', async () => {
    vi.stubEnv('PROVOST_TEST_KEY', 'hunter2-hunter2')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { agent } = world([ls, { text: 'Done.' }], {
      tools: [shell],
      secrets: { KEY: secretRef('env:PROVOST_TEST_KEY') },
    })
    const session = await agent.createSession()
    const seen: unknown[] = []
    session
      .on('tool.call', () => ({ args: { cmd: 'login hunter2-hunter2' } }))
      .on('tool.call', ({ input }) => void seen.push(input['cmd']))
    session.send('go')
    await session.waitForIdle()
    expect(seen).toEqual(['login ⟦secret:KEY⟧'])
  })

  test('that denies first decides; the others are not asked', async () => {
    sums.length = 0
    const asked: string[] = []
    const { agent } = world([{ toolCalls: [callRefund(5)] }, { text: 'Done.' }], { tools: [refund] })
    const session = await agent.createSession()
    session
      .on('tool.call', () => void asked.push('first'))
      .on('tool.call', () => ({ deny: `no, says the ${asked.push('second')}nd` }))
      .on('tool.call', () => {
        asked.push('third')
        return { args: { amount: 1 } }
      })
    session.send('go')
    await session.waitForIdle()
    expect([asked, sums]).toEqual([['first', 'second'], []])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['answers with what means nothing', () => ({ allow: true })],
    ['answers yes', () => true],
  ])('that %s denies the call, and that is reported', async (_, broken) => {
    sums.length = 0
    const { agent } = world([{ toolCalls: [callRefund(5)] }, { text: 'Done.' }], { tools: [refund] })
    const session = await agent.createSession()
    const sources: unknown[] = []
    // @ts-expect-error for callers without a compiler
    session.on('tool.call', broken).on('agent.error', ({ source }) => sources.push(source))
    session.send('go')
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect([sums, sources]).toEqual([[], [{ kind: 'listener', name: 'tool.call' }]])
  })

  test('comes behind the extensions of the agent, and cannot allow what they deny', async () => {
    sums.length = 0
    const { agent } = world([{ toolCalls: [callRefund(5)] }, { text: 'Done.' }], {
      tools: [refund],
      extensions: [extension('strict', { 'tool.call': () => ({ deny: 'never' }) })],
    })
    const session = await agent.createSession()
    let asked = 0
    session.on('tool.call', () => void asked++)
    session.send('go')
    await session.waitForIdle()
    expect([sums, asked]).toEqual([[], 0])
  })

  test('receives events of the session it was added to, and of no other', async () => {
    const { agent } = world([{ toolCalls: [callRefund(5)] }, { text: 'Done.' }], { tools: [refund] })
    const one = await agent.createSession()
    const other = await agent.createSession()
    const calls: string[] = []
    other.on('tool.call', () => void calls.push('other')).on('*', () => calls.push('event'))
    one.send('go')
    await one.waitForIdle()
    expect(calls).toEqual([])
    expect(transcript(other.messages)).toEqual([])
  })
})

describe('a tool.call listener judges every agent that works for the session', () => {
  const input = z.object({})
  /** Refunds once, then says what came of it. */
  const teller = () =>
    createAgent({
      name: 'teller',
      tools: [refund],
      model: scriptedModel(
        [
          ({ messages }) =>
            messages.at(-1)?.role === 'tool' && JSON.stringify(messages.at(-1)).includes('refund')
              ? { text: `told ${JSON.stringify(messages.at(-1))}` }
              : { toolCalls: [callRefund(5)] },
        ],
        { after: 'repeat-last' },
      ),
    })
  const between = () =>
    createAgent({
      name: 'between',
      tools: [teller().toTool({ name: 'ask', description: 'ask' })],
      model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'refund' } }] }, { text: 'asked' }]),
    })
  const composite = (execute: (input: object, ctx: CompositeContext) => Promise<unknown>) =>
    tool({
      name: 'go',
      input,
      composite: true,
      execute: async (given, ctx) => JSON.stringify(await execute(given, ctx)),
    })
  const fanned = () => ({ children: [{ agent: teller(), input: 'refund' }], mergeStrategy: 'concat' }) as const
  const asTool = (agent: Agent) => ({ tools: [agent.toTool({ name: 'go', description: 'go' })] })
  const through = (mode: 'transfer' | 'return') => ({ handoffs: [handoff(teller(), { mode })] })

  const inside: readonly {
    readonly who: string
    readonly name?: string
    readonly options: () => Omit<Partial<AgentOptions>, 'output'>
  }[] = [
    { who: 'a child', options: () => asTool(teller()) },
    { who: 'a child of a child', options: () => asTool(between()) },
    { who: 'a target that takes over', name: 'transfer_to_teller', options: () => through('transfer') },
    { who: 'a target that comes back', name: 'transfer_to_teller', options: () => through('return') },
    {
      who: 'what a composite spawns',
      options: () => ({ tools: [composite((_, ctx) => ctx.spawn(teller(), 'refund', { key: 'a' }))] }),
    },
    { who: 'children side by side', options: () => ({ tools: [composite((_, ctx) => ctx.fanOut(fanned()))] }) },
    {
      who: 'what a composite calls',
      options: () => ({
        tools: [refund, composite((_, ctx) => ctx.call('refund', { amount: 5 }, { key: 'a' }))],
      }),
    },
  ]
  test.each(inside)('$who', async ({ options, name = 'go' }) => {
    sums.length = 0
    const { agent } = world([{ toolCalls: [{ name, input: { task: 'refund' } }] }, { text: 'Done.' }], options())
    const session = await agent.createSession()
    const judged: string[] = []
    session.on('tool.call', (call) => {
      judged.push(call.tool.name)
      return isCallTo(call, refund) ? { deny: 'no refunds' } : undefined
    })
    session.send('go')
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect([sums, judged.filter((one) => one === 'refund')]).toEqual([[], ['refund']])
  })

  const beside: readonly (readonly [string, (agent: Agent, session: Session) => Promise<unknown>])[] = [
    ['a fan-out of the agent', (agent, session) => fannedOut(fanned(), { agent, session })],
    ['a fan-out without an agent', (_, session) => fannedOut(fanned(), { session })],
    [
      'an agent that work of a fan-out runs',
      (agent, session) =>
        fannedOut(
          {
            children: [{ agentId: 'own', invoke: async () => (await teller().run('refund')).text }],
            mergeStrategy: 'concat',
          },
          { agent, session },
        ),
    ],
  ]
  test.each(beside)('%s beside it', async (_, work) => {
    sums.length = 0
    const { agent } = world([])
    const session = await agent.createSession()
    const judged: string[] = []
    session.on('tool.call', (call) => {
      judged.push(call.tool.name)
      return { deny: 'no refunds' }
    })
    expect(JSON.stringify(await work(agent, session))).toContain('no refunds')
    expect([sums, judged]).toEqual([[], ['refund']])
  })

  test.each(beside)('%s beside it is governed by the extensions of the session, too', async (_, work) => {
    sums.length = 0
    const { agent } = world([])
    const strict = defineExtension({
      name: 'strict',
      scope: 'tree',
      hooks: { 'tool.call': (call) => (isCallTo(call, refund) ? { deny: 'no refunds' } : undefined) },
    })
    const session = await agent.createSession({ extensions: [strict] })
    expect(JSON.stringify(await work(agent, session))).toContain('no refunds')
    expect(sums).toEqual([])
  })

  test('and one that throws denies there too, one that rewrites rewrites', async () => {
    sums.length = 0
    const { agent } = world(
      [{ toolCalls: [{ name: 'go', input: { task: 'x' } }] }, { text: 'Done.' }],
      asTool(teller()),
    )
    const session = await agent.createSession()
    const sources: unknown[] = []
    session.on('agent.error', ({ source, agent: name }) => sources.push([name, source]))
    session.on('tool.call', ({ tool: { name } }) => {
      if (name === 'refund') throw new Error('broken')
    })
    session.send('go')
    await session.waitForIdle()
    expect([sums, sources]).toEqual([[], [['teller', { kind: 'listener', name: 'tool.call' }]]])
    const other = await world(
      [{ toolCalls: [{ name: 'go', input: { task: 'x' } }] }, { text: 'Done.' }],
      asTool(teller()),
    ).agent.createSession()
    other.on('tool.call', (call) => (isCallTo(call, refund) ? { args: { amount: 7 } } : undefined)).send('go')
    await other.waitForIdle()
    expect(sums).toEqual([7])
  })

  test('and a copy of the session does not escape it', async () => {
    const { agent } = world([])
    const session = await agent.createSession()
    await expect(fannedOut(fanned(), { agent, session: { ...session } })).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

test('any extension can report an error of its own callback', async () => {
  const reporting = extension('reporting', {
    'run.end': (_, ctx) => ctx.report(new Error('callback'), 'mine'),
  })
  const errors: unknown[] = []
  const { agent } = world([{ text: 'a' }], {
    extensions: [
      reporting,
      extension('look', { event: (event) => event.type === 'agent.error' && errors.push(deepFreeze(event.source)) }),
    ],
  })
  await agent.run('go')
  expect(errors).toEqual([{ kind: 'listener', name: 'mine' }])
})
