import { createAgent } from '@provost/agent'
import { deepFreeze, isCallTo } from '@provost/core'
import type { AgentEvent } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { echo, extension, say, transcript } from './hook-scenario.ts'
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

  test('work while a run goes on', async () => {
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

  test('whatever it hears does not go round for ever', async () => {
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

  test('that answers first wins; the others are not asked', async () => {
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
    // @ts-expect-error for those whom no compiler tells
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

  test('hears of the session it was added to, and of no other', async () => {
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

test('an extension of anybody can report what a callback of its own threw', async () => {
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
