import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'
import { heard, pay, payTool, world } from '../session/session-world.ts'

const hour = 3_600_000
const fetchIt = tool({ name: 'courier', input: z.object({ n: z.number() }), timeoutMs: hour })
const call = (n: number) => ({ name: 'courier', input: { n } })
const late = 'The result of courier did not arrive in time'

function courier(store: SessionStore, more: Omit<Partial<AgentOptions>, 'output'> = {}) {
  return createAgent({
    name: 'a',
    store,
    model: scriptedModel([
      { toolCalls: [call(1), call(2)] },
      ({ messages }) => ({ text: JSON.stringify(messages.at(-1)) }),
    ]),
    tools: [fetchIt],
    ...more,
  })
}

describe('a remote call with a deadline', () => {
  const begin = new Date('2030-01-01T00:00:00Z')
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: begin }))
  afterEach(() => void vi.useRealTimers())

  test('tells it in the log, in its event and in result.pending', async () => {
    const store = memoryStore()
    const { events, result } = await collect(courier(store).stream('Fetch.'))
    const deadline = begin.getTime() + hour
    expect(result.pending.remoteCalls.map(({ expiresAt }) => expiresAt)).toEqual([deadline, deadline])
    expect(only(events, 'tool.remote.requested').map((event) => event.deadline)).toEqual([deadline, deadline])
    const waits = (await readLog(store, result.sessionId)).filter(({ type }) => type === 'wait')
    expect(waits).toMatchObject([{ deadline }, { deadline }])
  })

  test('without timeoutMs waits for as long as it takes', async () => {
    const agent = courier(memoryStore(), { tools: [tool({ name: 'courier', input: z.object({ n: z.number() }) })] })
    const { pending, state } = await agent.run('Fetch.')
    expect(pending.remoteCalls[0]).not.toHaveProperty('expiresAt')
    vi.setSystemTime(begin.getTime() + 365 * 24 * hour)
    const toolResults = pending.remoteCalls.map(({ callId }) => ({ callId, output: 'here' }))
    expect((await agent.run(state, { toolResults })).text).toContain('"value":"here"')
  })

  test('ends with a timeout without an answer, and the run continues', async () => {
    const store = memoryStore()
    const agent = courier(store)
    const first = await agent.run('Fetch.')
    const [one] = first.pending.remoteCalls
    vi.setSystemTime(begin.getTime() + hour - 1)
    const second = await agent.run(first.state, { toolResults: [{ callId: one?.callId ?? '', output: 'in time' }] })
    expect(second.status).toBe('suspended')
    vi.setSystemTime(begin.getTime() + hour)
    const seen = await collect(agent.stream(second.state))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('completed')
    expect(seen.result.text).toContain('in time')
    expect(seen.result.text).toContain(late)
    expect(only(seen.events, 'tool.execute.error')).toMatchObject([{ error: { code: 'tool-timeout' } }])
    expect(only(seen.events, 'tool.remote.resolved')).toMatchObject([{ by: 'deadline' }])
  })

  test('takes no result behind it, and says so without failing', async () => {
    const agent = courier(memoryStore())
    const { pending, state } = await agent.run('Fetch.')
    vi.setSystemTime(begin.getTime() + hour + 1)
    const toolResults = pending.remoteCalls.map(({ callId }) => ({ callId, output: 'too late' }))
    const seen = await collect(agent.stream(state, { toolResults }))
    expectSound(seen)
    expect(seen.result.status).toBe('completed')
    expect(seen.result.text).not.toContain('too late')
    expect(only(seen.events, 'agent.error')).toMatchObject(
      pending.remoteCalls.map(() => ({ error: { code: 'wait-expired' }, source: { name: 'inbox' } })),
    )
  })

  test('takes one that was delivered in time, however late the run continues', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const agent = courier(store)
    const { sessionId, pending, state } = await agent.run('Fetch.')
    for (const { id } of pending.remoteCalls) await store.deliver(sessionId, id, 'left at the door', 'courier')
    vi.setSystemTime(begin.getTime() + 2 * hour)
    const { text } = await agent.run(state)
    expect(text.match(/left at the door/g)).toHaveLength(2)
  })

  test('rejects a delivery that claims to be the clock', async () => {
    const agent = courier(memoryStore())
    const { pending, state } = await agent.run('Fetch.')
    const toolResults = pending.remoteCalls.map(({ callId }) => ({ callId, output: 'here', by: 'deadline' }))
    expect((await agent.run(state, { toolResults })).text.match(/"value":"here"/g)).toHaveLength(2)
  })

  test('is refused in a session too, with wait-expired, and the session continues', async () => {
    const agent = courier(memoryStore())
    const session = await agent.createSession()
    session.send('Fetch.')
    await session.waitForIdle()
    vi.setSystemTime(begin.getTime() + hour + 1)
    const toolResults = session.pending.remoteCalls.map(({ callId }) => ({ callId, output: 'too late' }))
    await expect(session.resolve({ toolResults })).rejects.toMatchObject({ code: 'wait-expired' })
    expect((await session.waitForIdle())?.text).toContain(late)
    await session.close()
  })
})

describe('a session that waits', () => {
  const quick = tool({ name: 'courier', input: z.object({}), timeoutMs: 5 })
  /** Not over before its session is closed, even on a slow machine. */
  const soon = tool({ name: 'courier', input: z.object({}), timeoutMs: 300 })

  test('continues by itself when a remote call expires', async () => {
    const { agent } = world([{ toolCalls: [{ name: 'courier' }] }, { text: 'Without it.' }], { tools: [quick] })
    const session = await agent.createSession()
    const ended = Promise.withResolvers<string>()
    session.on('agent.end', ({ status, text }) => status === 'completed' && ended.resolve(text))
    session.send('go')
    expect(await ended.promise).toBe('Without it.')
    expect((await session.waitForIdle())?.status).toBe('completed')
  })

  test('continues by itself when an approval expires, and in whatever process opens it', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const done: number[] = []
    const asks = tool({
      name: 'pay',
      input: z.object({ sum: z.number() }),
      needsApproval: () => ({ reason: 'money', expiresInMs: 40 }),
      execute: ({ sum }) => done.push(sum),
    })
    const script = [{ toolCalls: [pay(5)] }, { text: 'Not paid.' }]
    const first = world(script, { tools: [asks], store })
    // A session would continue by itself on a machine that is slow to close it.
    expect((await first.agent.run('go', { sessionId: 's' })).status).toBe('suspended')

    const again = world(script.slice(1), { tools: [asks], store })
    const opened = await again.agent.resumeSession('s')
    const events = heard(opened)
    const ended = Promise.withResolvers<void>()
    opened.on('agent.end', () => ended.resolve())
    await ended.promise
    expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'expired', by: 'deadline' }])
    expect((await opened.waitForIdle())?.text).toBe('Not paid.')
    expect(done).toEqual([])
  })

  test('resumes by itself even after a resume with an answer to no wait', async () => {
    const { agent } = world([{ toolCalls: [{ name: 'courier' }] }, { text: 'Without it.' }], { tools: [soon] })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    const mistaken = await session.resume({ approvals: [{ id: 'missing', decision: 'approve' }] }).result
    expect(mistaken).toMatchObject({ status: 'failed', error: { code: 'unknown-wait' } })
    expect(session.status).toBe('suspended')
    const ended = Promise.withResolvers<string>()
    session.on('agent.end', ({ text }) => ended.resolve(text))
    expect(await ended.promise).toBe('Without it.')
  })

  test('in several processes continues in one of them', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const open = () => world([{ text: 'Without it.' }], { tools: [soon], store }).agent
    const first = world([{ toolCalls: [{ name: 'courier' }] }], { tools: [soon], store })
    const session = await first.agent.createSession({ id: 's' })
    session.send('go')
    await session.waitForIdle()
    await session.close()
    const ended = Promise.withResolvers<void>()
    const others = await Promise.all([1, 2, 3].map(() => open().resumeSession('s')))
    for (const other of others) other.on('agent.end', ({ status }) => status === 'completed' && ended.resolve())
    await ended.promise
    await Promise.all(others.map((other) => other.waitForIdle()))
    const ends = (await readLog(store, 's')).filter((entry) => entry.type === 'run' && entry.op === 'ended')
    expect(ends).toHaveLength(1)
    await Promise.all(others.map((other) => other.close()))
  })

  test('does not continue once it is closed', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const { agent } = world([{ toolCalls: [{ name: 'courier' }] }, { text: 'Without it.' }], { tools: [soon], store })
    const session = await agent.createSession({ id: 's' })
    session.send('go')
    await session.waitForIdle()
    await session.close()
    const { length } = await readLog(store, 's')
    await new Promise((resolve) => setTimeout(resolve, 350))
    expect(await readLog(store, 's')).toHaveLength(length)
  })

  test('in process, a remote call expires while another call waits for an approver', async () => {
    const { tool: payment, done } = payTool()
    const asked = Promise.withResolvers<'approve'>()
    const { agent } = world([{ toolCalls: [pay(5), { name: 'courier' }] }, { text: 'Paid.' }], {
      tools: [payment, quick],
    })
    const stream = agent.stream('go', { onApproval: () => asked.promise })
    for await (const event of stream) if (event.type === 'tool.remote.resolved') asked.resolve('approve')
    expect(await stream.result).toMatchObject({ status: 'completed', text: 'Paid.' })
    expect(done).toEqual([5])
  })
})
