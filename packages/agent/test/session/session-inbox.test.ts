import type { Json, PendingWork, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { echo, extension, lines, say, transcript } from '../hooks/hook-scenario.ts'
import { readLog } from '../run/run-check.ts'
import { gate, heard, pay, payTool, world } from './session-world.ts'

const code = (expected: string) => expect.objectContaining({ code: expected })
const far = tool({ name: 'far', input: z.object({ n: z.number().optional() }) })

/** A store that appears to outlive the process. */
function lasting(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

const firstId = (pending: PendingWork | undefined): string => pending?.approvals[0]?.id ?? ''

describe('resolve', () => {
  test('lets a suspended run continue here; waitForIdle gives its end', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.send('go')
    const suspended = await session.waitForIdle()
    expect([suspended?.status, session.status, session.pending.approvals.length]).toEqual(['suspended', 'suspended', 1])
    await session.resolve({ approvals: [{ id: firstId(session.pending), decision: 'approve', by: 'ann' }] })
    expect((await session.waitForIdle())?.text).toBe('Paid.')
    expect([done, session.status, session.pending.approvals]).toEqual([[5], 'idle', []])
  })

  test('from a listener answers while the run is alive', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'No.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.on('tool.approval.requested', async (e) => session.resolve({ approvals: [{ id: e.id, decision: 'deny' }] }))
    session.send('go')
    expect((await session.waitForIdle())?.text).toBe('No.')
    expect(done).toEqual([])
  })

  test('from a listener that takes its time: waitForIdle waits for it', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.on('tool.approval.requested', async (e) => {
      expect((await session.waitForIdle())?.status, 'a listener does not wait for itself').toBe('suspended')
      await session.resolve({ approvals: [{ id: e.id, decision: 'approve' }] })
    })
    session.send('go')
    expect((await session.waitForIdle())?.text).toBe('Paid.')
    expect(done).toEqual([5])
  })

  test('by any one decision makes the run continue; ungated calls have run by then', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(1), say('x'), pay(2), { name: 'far' }] }, { text: 'Done.' }], {
      tools: [payment, echo, far],
    })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    const [one, two] = session.pending.approvals
    await session.resolve({ approvals: [{ id: two?.id ?? '', decision: 'approve' }] })
    expect((await session.waitForIdle())?.status).toBe('suspended')
    expect([done, session.pending.approvals.length, session.pending.remoteCalls.length]).toEqual([[2], 1, 1])
    await session.resolve({
      approvals: [{ id: one?.id ?? '', decision: 'deny', reason: 'no' }],
      toolResults: [{ callId: session.pending.remoteCalls[0]?.callId ?? '', output: 'from far' }],
    })
    expect((await session.waitForIdle())?.text).toBe('Done.')
    expect(done).toEqual([2])
    assertWellFormed(session.messages)
  })

  test('of what was decided already is reported, and changes nothing', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    const id = firstId(session.pending)
    const both = await Promise.allSettled([
      session.resolve({ approvals: [{ id, decision: 'approve' }] }),
      session.resolve({ approvals: [{ id, decision: 'deny' }] }),
    ])
    await session.waitForIdle()
    await expect(session.resolve({ approvals: [{ id, decision: 'deny' }] })).rejects.toThrow(code('already-decided'))
    expect(both[0]?.status).toBe('fulfilled')
    expect(done).toEqual([5])
  })

  test('of what was never asked is an error', async () => {
    const { agent } = world([{ text: 'x' }])
    const session = await agent.createSession()
    await expect(session.resolve({ approvals: [{ id: 'x', decision: 'approve' }] })).rejects.toThrow(
      code('unknown-wait'),
    )
  })
})

describe('in another process', () => {
  test('a session is suspended, decided on elsewhere, and continues in a third', async () => {
    const store = lasting()
    const { tool: payment, done } = payTool()
    const script = [{ toolCalls: [pay(5)] }, { text: 'Paid.' }]
    const first = world(script, { tools: [payment], store })
    const session = await first.agent.createSession({ id: 's' })
    session.send('go')
    const suspended = await session.waitForIdle()
    const value = { decision: 'approve' }
    expect(await store.deliver('s', firstId(suspended?.pending), value, 'ann')).toBe('accepted')
    expect(await store.deliver('s', firstId(suspended?.pending), value, 'bob')).toBe('duplicate')
    const third = world(script.slice(1), { tools: [payment], store })
    const again = await third.agent.resumeSession('s')
    expect(again.status).toBe('suspended')
    expect((await again.resume().result).text).toBe('Paid.')
    expect(done).toEqual([5])
    const resolved = (await readLog(store, 's')).filter((entry) => entry.type === 'resolved')
    expect(resolved.map(({ token, by }) => [token.startsWith('send/'), by])).toEqual([
      [true, 'session'],
      [false, 'ann'],
    ])
  })

  test('an approval that comes while the run works, before it waits, is not lost', async () => {
    const store = lasting()
    const work = gate()
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5), { name: 'work' }] }, { text: 'Paid.' }], {
      tools: [payment, work.tool],
      store,
    })
    const stream = agent.stream('go', { sessionId: 's' })
    const tokens: string[] = []
    for await (const event of stream) {
      if (event.type === 'tool.approval.requested') tokens.push(event.id)
      if (event.type !== 'tool.execute.start' || event.toolName !== 'work') continue
      await store.deliver('s', tokens[0] ?? '', { decision: 'approve' }, 'ann')
      work.open()
    }
    expect([(await stream.result).text, done]).toEqual(['Paid.', [5]])
  })

  test('one that was delivered in memory counts for a run without a session, live and resumed', async () => {
    const { tool: payment, done } = payTool()
    const script = [{ toolCalls: [pay(5)] }, { toolCalls: [pay(6)] }, { text: 'Paid.' }]
    const { agent, store } = world(script, { tools: [payment] })
    const decided = { decision: 'approve' }
    const stream = agent.stream('go', { sessionId: 's' })
    await store.deliver('s', `${stream.runId}/1/call/0/approval/1`, decided, 'ann')
    const suspended = await stream.result
    expect([suspended.status, done]).toEqual(['suspended', [5]])
    await store.deliver('s', firstId(suspended.pending), decided, 'ann')
    expect([(await agent.run(suspended.state)).text, done]).toEqual(['Paid.', [5, 6]])
  })

  test('one that comes before its wait exists is kept for it', async () => {
    const store = lasting()
    const work = gate()
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [{ name: 'work' }] }, { toolCalls: [pay(5)] }, { text: 'Paid.' }], {
      tools: [payment, work.tool],
      store,
    })
    const stream = agent.stream('go', { sessionId: 's' })
    await work.entered
    await store.deliver('s', `${stream.runId}/2/call/0/approval/1`, { decision: 'approve' }, 'ann')
    work.open()
    expect([(await stream.result).text, done]).toEqual(['Paid.', [5]])
  })

  test('onApproval is called once and not awaited when another process decides', async () => {
    const store = memoryStore()
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(1), pay(2)] }, { text: 'Done.' }], { tools: [payment], store })
    const asks: string[] = []
    const later = Promise.withResolvers<'approve'>()
    const session = await agent.createSession({
      id: 's',
      onApproval: ({ id }) => {
        asks.push(id)
        // Another process answers the other question meanwhile.
        if (asks.length === 1)
          void store.deliver('s', session.pending.approvals[1]?.id ?? '', { decision: 'approve' }, 'ann')
        return later.promise
      },
    })
    session.on('tool.execute.end', () => later.resolve('approve'))
    session.send('go')
    expect((await session.waitForIdle())?.text).toBe('Done.')
    expect([done, asks.length]).toEqual([[2, 1], 1])
  })

  test('a steer is taken by the run that works, once, with who said it', async () => {
    const store = lasting()
    const work = gate()
    const { agent, asked } = world([{ toolCalls: [{ name: 'work' }, say('never')] }, { text: 'Done.' }], {
      tools: [work.tool, echo],
      maxParallelTools: 1,
      store,
    })
    const stream = agent.stream('go', { sessionId: 's' })
    await work.entered
    await store.deliver('s', 'send/1', { mode: 'steer', input: 'No, this.' }, 'ann')
    await new Promise(setImmediate)
    work.open()
    await stream.result
    expect(lines(asked[1] ?? { messages: [] }).slice(-2)).toEqual([
      'tool: [work → worked] [echo → Skipped: the user said something new first.]',
      'user: No, this.',
    ])
    expect((await readLog(store, 's')).filter(({ type }) => type === 'resolved')).toMatchObject([
      { token: 'send/1', by: 'ann' },
    ])
  })

  test('a steer that the run was told of is taken before its next call and its next step, however long the store takes', async () => {
    const store = lasting()
    const work = gate()
    const reading = Promise.withResolvers<void>()
    const read = Promise.withResolvers<void>()
    const slow: SessionStore = {
      ...store,
      async *inbox(sessionId, after) {
        for await (const delivery of store.inbox(sessionId, after)) {
          reading.resolve()
          await read.promise
          yield delivery
        }
      },
    }
    const { agent, asked } = world([{ toolCalls: [{ name: 'work' }, say('never')] }, { text: 'Done.' }], {
      tools: [work.tool, echo],
      maxParallelTools: 1,
      store: slow,
    })
    const stream = agent.stream('go', { sessionId: 's' })
    await work.entered
    await store.deliver('s', 'send/1', { mode: 'steer', input: 'No, this.' }, 'ann')
    await reading.promise
    work.open()
    // Time enough for all that the run does of its own accord.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    read.resolve()
    await stream.result
    expect(lines(asked[1] ?? { messages: [] }).slice(-2)).toEqual([
      'tool: [work → worked] [echo → Skipped: the user said something new first.]',
      'user: No, this.',
    ])
  })

  test('a malformed delivery is reported, removed and has no effect', async () => {
    const store = lasting()
    const work = gate()
    const errors: string[] = []
    const look = extension('look', { event: (event) => event.type === 'agent.error' && errors.push(event.error.code) })
    const { agent } = world([{ toolCalls: [{ name: 'work' }] }, { text: 'Done.' }], {
      tools: [work.tool],
      store,
      extensions: [look],
    })
    const stream = agent.stream('go', { sessionId: 's' })
    await work.entered
    const rubbish: Json[] = [null, 17, { input: 17 }, { input: [{ role: 'user' }] }, { input: '' }, { mode: 'steer' }]
    for (const [index, value] of rubbish.entries()) await store.deliver('s', `send/${index}`, value, 'mallory')
    await store.deliver('s', 'abort/1', { runId: 'another' }, 'mallory')
    await store.deliver('s', 'no such wait', { decision: 'approve' }, 'mallory')
    work.open()
    expect((await stream.result).status).toBe('completed')
    expect(errors).toEqual(rubbish.map(() => 'invalid-input'))
  })

  test('an abort reaches the run wherever it lives, and once: it can continue later', async () => {
    const store = lasting()
    const { tool: payment } = payTool()
    const work = gate()
    const script = [{ toolCalls: [{ name: 'work' }, pay(1)] }, { text: 'Done.' }]
    const one = world(script, { tools: [payment, work.tool], store })
    const two = world([], { tools: [payment, work.tool], store })
    const here = await one.agent.createSession({ id: 's' })
    here.send('go')
    await work.entered
    const there = await two.agent.resumeSession('s')
    await there.abort({ graceMs: 0 })
    expect((await here.waitForIdle())?.status).toBe('aborted')
    assertWellFormed(here.messages)
    expect((await here.resume().result).text).toBe('Done.')
  })
})

describe('a send to a suspended session', () => {
  test('queues in the store: the process that resumes the run takes it, once', async () => {
    const store = lasting()
    const { tool: payment } = payTool()
    const script = [{ toolCalls: [pay(5)] }, { text: 'Paid.' }, { text: 'And yes.' }]
    const one = world([{ toolCalls: [pay(5)] }, { text: 'And more.' }], { tools: [payment], store })
    const session = await one.agent.createSession({ id: 's' })
    session.send('go')
    const id = firstId((await session.waitForIdle())?.pending)
    session.send('And this?', { mode: 'steer' })
    expect(session.status).toBe('suspended')
    await session.waitForIdle()
    const two = world(script.slice(1), { tools: [payment], store })
    const again = await two.agent.resumeSession('s')
    await again.resolve({ approvals: [{ id, decision: 'approve' }] })
    expect((await again.waitForIdle())?.text).toBe('And yes.')
    expect(transcript(again.messages).filter((line) => line === 'user: And this?')).toHaveLength(1)
    // The one that said it does not say it again.
    expect(transcript((await one.agent.resumeSession('s')).messages)).toEqual(transcript(again.messages))
    session.send('New.')
    expect((await session.waitForIdle())?.text).toBe('And more.')
    expect(transcript(session.messages).filter((line) => line === 'user: And this?')).toHaveLength(1)
  })

  test('continues here with the first decision', async () => {
    const { tool: payment } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }, { text: 'And yes.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    session.send('And this?')
    await session.resolve({ approvals: [{ id: firstId(session.pending), decision: 'approve' }] })
    expect((await session.waitForIdle())?.text).toBe('And yes.')
  })
})

describe('abort', () => {
  test('of a suspended session ends its run, every call with a result', async () => {
    const { tool: payment, done } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }, { text: 'On.' }], { tools: [payment] })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    await session.abort()
    expect([session.status, session.pending.approvals, done]).toEqual(['idle', [], []])
    assertWellFormed(session.messages)
    session.send('on')
    expect((await session.waitForIdle())?.text).toBe('On.')
  })

  test('can keep the question open, or fail', async () => {
    const { tool: payment } = payTool()
    const { agent } = world([{ toolCalls: [pay(5)] }], { tools: [payment] })
    const session = await agent.createSession()
    session.send('go')
    await session.waitForIdle()
    await session.abort({ onPendingApprovals: 'hold' })
    expect([session.status, session.pending.approvals.length]).toEqual(['suspended', 1])
    await session.abort({ onPendingApprovals: 'fail' })
    expect(session.status).toBe('failed')
    await expect(session.waitForIdle()).rejects.toThrow(code('aborted-while-pending'))
  })

  test('of one that does nothing does nothing', async () => {
    const session = await world([]).agent.createSession()
    await session.abort()
    expect(session.status).toBe('idle')
  })
})

describe('an input that was sent while a process that died held the session', () => {
  async function held(store: SessionStore): Promise<() => Promise<void>> {
    const lease = await store.lease('s', 'another process', 60_000)
    if (lease === 'busy') throw new Error('busy')
    return () => store.release('s', lease.fence)
  }

  test('to a run that had ended there is said with the next', async () => {
    const store = lasting()
    const work = gate()
    const one = world([{ toolCalls: [{ name: 'work' }] }, { text: 'Done.' }], { tools: [work.tool], store })
    const there = await one.agent.createSession({ id: 's' })
    there.send('go')
    await work.entered
    const two = world([{ text: 'Both.' }], { tools: [work.tool], store })
    const here = await two.agent.resumeSession('s')
    expect(here.status).toBe('suspended')
    work.open()
    await there.waitForIdle()
    const release = await held(store)
    here.send('first')
    await here.waitForIdle()
    await release()
    here.send('second')
    await here.waitForIdle()
    expect(transcript(here.messages).filter((line) => line.startsWith('user'))).toEqual([
      'user: go',
      'user: first',
      'user: second',
    ])
  })

  test('starts a run that ends with the signal it was sent with', async () => {
    const lent = lasting()
    const work = gate()
    let release = async (): Promise<void> => {}
    const store: SessionStore = {
      ...lent,
      async deliver(...delivery) {
        const said = await lent.deliver(...delivery)
        await release()
        return said
      },
    }
    const { agent } = world([{ toolCalls: [{ name: 'work' }] }, { text: 'Done.' }], { tools: [work.tool], store })
    const session = await agent.createSession({ id: 's' })
    release = await held(store)
    const stop = new AbortController()
    session.send('go', { signal: stop.signal })
    await work.entered
    stop.abort()
    expect((await session.waitForIdle())?.status).toBe('aborted')
  })
})

describe('resume', () => {
  test('continues with a run whose process died in it', async () => {
    const store = lasting()
    const work = gate()
    const one = world([{ toolCalls: [{ name: 'work' }] }], { tools: [work.tool], store })
    const session = await one.agent.createSession({ id: 's' })
    session.send('go')
    await work.entered
    // The process is gone: its lease is not renewed, and it writes nothing more.
    const copy = lasting()
    const lease = await copy.lease('s', 'copy', 1000)
    if (lease === 'busy') throw new Error('busy')
    await copy.append('s', await readLog(store, 's'), { after: 0, fence: lease.fence })
    await copy.release('s', lease.fence)
    const two = world([{ text: 'Done.' }], { tools: [work.tool], store: copy })
    const again = await two.agent.resumeSession('s')
    expect(again.status).toBe('suspended')
    const events = heard(again)
    expect((await again.resume().result).status).toBe('suspended')
    const [uncertain] = again.pending.uncertain
    expect(uncertain?.toolName).toBe('work')
    await again.resolve({ uncertain: [{ callId: uncertain?.callId ?? '', decision: 'done', output: 'was done' }] })
    expect((await again.waitForIdle())?.text).toBe('Done.')
    expect(events.map(({ type }) => type)).toContain('tool.uncertain')
    work.open()
    await session.waitForIdle().catch(() => {})
  })

  test('of a session that has nothing to continue with is an error', async () => {
    const session = await world([]).agent.createSession()
    expect(() => session.resume()).toThrow(code('nothing-to-resume'))
  })
})

describe('an approval for the whole session', () => {
  const script = [{ toolCalls: [pay(5)] }, { text: 'Paid.' }, { toolCalls: [pay(5)] }, { text: 'Paid.' }]
  const approve = { decision: 'approve', by: 'ann', sticky: 'session' } as const

  test('is not asked for again, also after the session was opened anew; the log says who gave it', async () => {
    const { tool: payment, done } = payTool({ sticky: 'session' })
    const { agent, store } = world(script, { tools: [payment] })
    const session = await agent.createSession({ id: 's', onApproval: () => approve })
    session.send('go')
    await session.waitForIdle()
    const again = await agent.resumeSession('s')
    again.send('once more')
    expect((await again.waitForIdle())?.status).toBe('completed')
    expect(done).toEqual([5, 5])
    const decided = (await readLog(store, 's')).filter((entry) => entry.type === 'call' && entry.op === 'decided')
    expect(decided.at(-1)).toMatchObject({ outcome: 'proceed', by: 'ann' })
  })

  test.each([
    ['the question did not offer it', payTool(), approve, pay(5), {}],
    ['the human did not choose it', payTool({ sticky: 'session' }), { decision: 'approve' } as const, pay(5), {}],
    ['the arguments are others', payTool({ sticky: 'session' }), approve, pay(6), {}],
    ['it is for another principal', payTool({ sticky: 'session' }), approve, pay(5), { principal: { id: 'bob' } }],
  ])('is asked for again where %s', async (_, { tool: payment }, answer, second, opened) => {
    const { agent } = world([...script.slice(0, 2), { toolCalls: [second] }, { text: 'x' }], { tools: [payment] })
    const session = await agent.createSession({ id: 's', onApproval: () => answer })
    session.send('go')
    await session.waitForIdle()
    const again = await agent.resumeSession('s', opened)
    again.send('once more')
    expect((await again.waitForIdle())?.status).toBe('suspended')
  })

  test('is asked for again where another policy asks too, and in a session that branches off', async () => {
    const { tool: payment } = payTool({ sticky: 'session' })
    let strict = false
    const policy = extension('policy', {
      'tool.call': () => (strict ? { ask: { reason: 'strict', sticky: 'session' } } : undefined),
    })
    const { agent } = world([...script.slice(0, 3), ...script.slice(2)], {
      tools: [payment],
      extensions: [policy],
    })
    const session = await agent.createSession({ id: 's', onApproval: () => (strict ? undefined : approve) })
    session.send('go')
    await session.waitForIdle()
    const branch = await session.fork()
    branch.send('once more')
    expect((await branch.waitForIdle())?.status).toBe('suspended')
    strict = true
    session.send('once more')
    expect((await session.waitForIdle())?.status).toBe('suspended')
  })
})
