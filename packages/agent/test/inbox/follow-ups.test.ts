import { agentic, createAgent } from '@provost/agent'
import type { AgentOptions, FollowUps, Orchestrator } from '@provost/agent'
import type { AgentEvent, SessionStore } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedPrompt } from '@provost/testing'
import { secretRef } from '@provost/tools'
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'

import { askedModel, extension, failure, lines, only, transcript, watch } from '../hooks/hook-scenario.ts'
import { gate, heard, pay, payTool } from '../session/session-world.ts'
import { answer, deliveriesIn, expectAnsweredElsewhere, expectOneATurn, plain } from './follow-up-world.ts'

function answering(more: Omit<Partial<AgentOptions>, 'output'> = {}) {
  const asked: ScriptedPrompt[] = []
  const { tool: work, entered, open } = gate()
  const model = askedModel(asked, [{ text: 'I work.', toolCalls: [{ name: 'work' }] }, answer], {
    after: 'repeat-last',
  })
  return { agent: createAgent({ name: 'a', model, tools: [work], ...more }), asked, entered, open }
}

const turnsOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'turn.start' ? [event.trigger] : event.type === 'turn.end' ? [event.text] : [],
  )

const queue = (said: readonly string[]) => ['input', 'Re go', ...said.flatMap((text) => ['queue', `Re ${text}`])]

describe('queued messages', () => {
  it('are answered one a turn, in the order in which they were sent', async () => {
    const { agent, asked, entered, open } = answering()
    const session = await agent.createSession()
    const events = heard(session)
    session.send('go')
    await entered
    for (const text of ['q1', 'q2', 'q3']) session.send(text, { mode: 'queue' })
    open()
    expect((await session.waitForIdle())?.text).toBe('Re q3')
    expect(turnsOf(events)).toEqual(queue(['q1', 'q2', 'q3']))
    expect(only(events, 'agent.followup.queued').map(({ text }) => text)).toEqual(['q1', 'q2', 'q3'])
    expect(asked).toHaveLength(5)
    expect(transcript(session.messages).slice(3)).toEqual([
      'assistant: Re go',
      'user: q1',
      'assistant: Re q1',
      'user: q2',
      'assistant: Re q2',
      'user: q3',
      'assistant: Re q3',
    ])
  })

  it.each(['send', 'deliver'] as const)('that a failed run left are answered before a later %s', async (method) => {
    const said: string[] = []
    const model = askedModel(
      [],
      [
        ({ messages }, index) => {
          said.push(lines({ messages }).at(-1) ?? '')
          return index === 1 ? { error: new Error('boom') } : { text: 'ok' }
        },
      ],
      { after: 'repeat-last' },
    )
    const session = await createAgent({ name: 'a', model }).createSession({ sendMode: 'queue' })
    for (const text of ['a', 'b', 'c']) session.send(text)
    await expect(session.waitForIdle()).rejects.toThrow('boom')
    await session[method]('d')
    await session[method]('e')
    await session.waitForIdle()
    expect(said.map((line) => line.slice(-1))).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('of a plain run that is suspended enter when it resumes, and so does steering', async () => {
    const { tool: paying, done } = payTool()
    const model = askedModel([], [{ toolCalls: [pay(7)] }, answer], { after: 'repeat-last' })
    const agent = createAgent({ name: 'a', model, tools: [paying], store: memoryStore() })
    const stream = agent.stream('go', {
      onApproval() {
        stream.steer('q2')
        stream.followUp('q3')
        return undefined
      },
    })
    stream.followUp('q1')
    const { status, pending, state } = await stream.result
    expect(status).toBe('suspended')
    const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    const result = await agent.run(state, { approvals })
    expect(done).toEqual([7])
    expect(transcript(result.messages).filter((line) => line.startsWith('user'))).toEqual([
      'user: go',
      'user: q2',
      'user: q1',
      'user: q3',
    ])
    expect(result.text).toBe('Re q3')
  })

  it('of a session or an agent with sendMode queue are, too', async () => {
    for (const [options, sessionOptions] of [
      [{ sendMode: 'queue' }, {}],
      [{}, { sendMode: 'queue' }],
    ] as const) {
      const { agent } = plain(options)
      const session = await agent.createSession(sessionOptions)
      const events = heard(session)
      for (const text of ['go', 'q1', 'q2', 'q3']) session.send(text)
      await session.waitForIdle()
      expect(turnsOf(events)).toEqual(queue(['q1', 'q2', 'q3']))
    }
  })

  const critic: Orchestrator = async (run) => {
    await agentic()(run)
    await run.say('Are you sure?')
    await run.model()
  }
  test.each<[string, Orchestrator, number]>([
    ['agentic', agentic(), 1],
    ['a custom orchestrator', critic, 2],
  ])('are answered one a turn by %s', (_, orchestrator, callsOfTurn) => expectOneATurn(orchestrator, callsOfTurn))

  it('of a plain run are answered one a turn, whether pushed or asked for', async () => {
    const { agent } = plain()
    const stream = agent.stream('go')
    stream.followUp('q1')
    stream.followUp([{ type: 'text', text: 'q2' }])
    stream.followUp('q3')
    expect(turnsOf((await watch(stream)).events)).toEqual(queue(['q1', 'q2', 'q3']))
    const batches = [['q1', 'q2'], ['q3']]
    const asked = agent.stream('go', { getFollowUp: () => batches.shift() ?? [] })
    expect(turnsOf((await watch(asked)).events)).toEqual(queue(['q1', 'q2', 'q3']))
  })

  it('that are withdrawn or invalid begin no turn', async () => {
    const store = memoryStore()
    const { agent, entered, open } = answering({ store })
    const session = await agent.createSession({ id: 's' })
    const events = heard(session)
    const withdrawn = new AbortController()
    session.send('go')
    await entered
    session.send('q1', { mode: 'queue', signal: withdrawn.signal })
    await store.deliver('s', 'send/odd', { mode: 'queue', input: '' }, 'eve')
    await session.deliver('q2', { mode: 'queue' })
    withdrawn.abort()
    open()
    await session.waitForIdle()
    expect(turnsOf(events)).toEqual(queue(['q2']))
  })

  it('give way to a steer', async () => {
    const { agent, asked } = plain()
    const stream = agent.stream('go')
    for (const text of ['q1', 'q2']) stream.followUp(text)
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'turn.start' && event.trigger === 'queue' && asked.length === 1) stream.steer('q9')
    }
    expect(transcript((await stream.result).messages).filter((line) => line.startsWith('user'))).toEqual([
      'user: go',
      'user: q1',
      'user: q9',
      'user: q2',
    ])
  })

  it('with several messages in one input share a turn', async () => {
    const { agent } = plain()
    const stream = agent.stream('go')
    stream.followUp([
      { role: 'user', content: 'q1' },
      { role: 'user', content: 'q2' },
    ])
    stream.followUp('q3')
    expect(turnsOf((await watch(stream)).events)).toEqual(['input', 'Re go', 'queue', 'Re q1+q2', 'queue', 'Re q3'])
  })

  it('leave the steers that arrive together in one model call', async () => {
    const { agent, entered, open } = answering()
    const session = await agent.createSession()
    session.send('go')
    await entered
    for (const text of ['q1', 'q2', 'q3']) session.send(text)
    open()
    expect((await session.waitForIdle())?.text).toBe('Re go+q1+q2+q3')
  })
})

describe('followUps: merge', () => {
  const merge: { readonly followUps: FollowUps } = { followUps: 'merge' }
  test.each([
    ['the agent', merge, {}, {}],
    ['the session', {}, merge, {}],
    ['the run', {}, {}, merge],
    ['the run, over the agent', { followUps: 'each' as const }, {}, merge],
  ])('of %s answers all that is queued in one turn', async (_, options, sessionOptions, runOptions) => {
    const { agent } = plain(options)
    const session = await agent.createSession(sessionOptions)
    const stream = session.stream('go', runOptions)
    for (const text of ['q1', 'q2', 'q3']) stream.followUp(text)
    const { events, result } = await watch(stream)
    expect(turnsOf(events)).toEqual(['input', 'Re go', 'queue', 'Re q1+q2+q3'])
    expect(transcript(result.messages).slice(2)).toEqual(['user: q1', 'user: q2', 'user: q3', 'assistant: Re q1+q2+q3'])
  })

  it('is one of two words', async () => {
    const bad = { followUps: 'all' } as const
    const invalid = expect.objectContaining({ code: 'invalid-option' })
    // @ts-expect-error there are two
    expect(() => plain(bad)).toThrow(invalid)
    const { agent } = plain()
    // @ts-expect-error there are two
    await expect(agent.createSession(bad)).rejects.toThrow(invalid)
    // @ts-expect-error there are two
    expect(() => agent.stream('go', bad)).toThrow(invalid)
  })
})

test.each(['here', 'reopened'])('a queue that a failed run left comes before a new message (%s)', async (where) => {
  const { ephemeral: _, ...store } = memoryStore()
  const { agent, entered, open } = answering({ store })
  const session = await agent.createSession({ id: 's' })
  session.send('go')
  await entered
  for (const text of ['q1', 'q2']) session.send(text, { mode: 'queue' })
  await session.abort({ graceMs: 0 })
  open()
  const next = where === 'here' ? session : await plain({ store }).agent.resumeSession('s')
  next.send('q3')
  await next.waitForIdle()
  const said = transcript(next.messages).filter((line) => /^user: q|^assistant: Re/.test(line))
  expect(said).toEqual([
    ...['user: q1', 'assistant: Re go+q1'],
    ...['user: q2', 'assistant: Re q2'],
    ...['user: q3', 'assistant: Re q3'],
  ])
})

test('a message whose process dies before its run begins is answered first by the next process', async () => {
  const { ephemeral: _, ...store } = memoryStore()
  await plain({ store }).agent.createSession({ id: 's' })
  const dying: SessionStore = { ...store, lease: () => new Promise(() => {}) }
  const dead = await plain({ store: dying }).agent.resumeSession('s')
  dead.send('q1', { mode: 'queue' })
  await vi.waitFor(async () => expect(await deliveriesIn(store, 's')).toHaveLength(1))
  const next = await plain({ store }).agent.resumeSession('s')
  next.send('q2')
  await next.waitForIdle()
  expect(transcript(next.messages)).toEqual(['user: q1', 'assistant: Re q1', 'user: q2', 'assistant: Re q2'])
})

describe('a queue whose process dies', () => {
  const { ephemeral: _, ...durable } = memoryStore()

  test.each<[string, Orchestrator]>([['agentic', agentic()]])(
    'after any append is answered elsewhere (%s): no message lost, none twice, one a turn',
    (_name, orchestrator) => expectAnsweredElsewhere(orchestrator),
  )

  test.each([
    ['a store of this process', memoryStore()],
    ['any other store', durable],
  ])('is kept by %s while a question suspends its run', async (_name, store) => {
    const { tool: payment, done } = payTool()
    const model = askedModel([], [{ text: 'Re go' }, { text: 'I pay.', toolCalls: [pay(5)] }, answer], {
      after: 'repeat-last',
    })
    const agent = createAgent({ name: 'a', model, tools: [payment], store })
    const stream = agent.stream('go')
    for (const text of ['q1', 'q2']) stream.followUp(text)
    const { status, pending, state } = await stream.result
    expect([status, pending.approvals.length]).toEqual(['suspended', 1])
    const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    const { events, result } = await watch(agent.stream(state, { approvals }))
    expect(done).toEqual([5])
    expect(only(events, 'turn.end').map(({ text }) => text)).toEqual(['Re q1', 'Re q2'])
    expect(textOf(result.messages.at(-1) ?? { content: '' })).toBe('Re q2')
  })

  it('keeps secrets as tokens in the inbox', async () => {
    vi.stubEnv('PROVOST_TEST_KEY', 'hunter2-hunter2')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { agent } = plain({ store: durable, secrets: { KEY: secretRef('env:PROVOST_TEST_KEY') } })
    const stream = agent.stream('go')
    for (const text of ['q1 hunter2-hunter2', 'q2 hunter2-hunter2']) stream.followUp(text)
    const { sessionId } = await stream.result
    const inbox = await deliveriesIn(durable, sessionId)
    expect(inbox).toHaveLength(2)
    expect(JSON.stringify(inbox)).not.toContain('hunter2')
  })
})

it('an invalid input among several ends the run before any of them enters', async () => {
  const { agent } = plain()
  const result = await agent.run('go', { getFollowUp: () => ['q1', ''] })
  expect(failure(result).code).toBe('invalid-input')
  expect(transcript(result.messages).filter((line) => line.startsWith('user'))).toEqual(['user: go'])
})

it('an extension sees each queued message in the turn that it begins', async () => {
  const seen: string[] = []
  const look = extension('look', {
    input: (message, ctx) => void seen.push(`${textOf(message)} after ${ctx.view.messages.length}`),
  })
  const { agent } = plain({ extensions: [look] })
  const stream = agent.stream('go')
  for (const text of ['q1', 'q2']) stream.followUp(text)
  await stream.result
  expect(seen).toEqual(['go after 0', 'q1 after 2', 'q2 after 4'])
})
