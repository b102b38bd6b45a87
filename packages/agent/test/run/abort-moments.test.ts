import { setImmediate as tick } from 'node:timers/promises'

import { createAgent, foldLog, handoff, RunState } from '@provost/agent'
import type { AbortOptions, AgentStream } from '@provost/agent'
import type { AgentEvent, Hooks, Message, Tool } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from './run-check.ts'
import type { Seen } from './run-check.ts'

const input = z.object({})
const never = (): Promise<never> => new Promise(() => {})
const quick = tool({ name: 'quick', input, effect: 'read', execute: () => 'done' })
/** Says that it runs, and then nothing any more. */
const deaf = tool({
  name: 'deaf',
  input,
  execute(_, ctx) {
    ctx.progress('running')
    return never()
  },
})
const running = ({ type }: AgentEvent): boolean => type === 'tool.execute.progress'

/** An agent that says what the steps say. */
function actor(steps: readonly ScriptedStep[], tools: readonly Tool[] = [], hooks: Hooks = {}) {
  const store = memoryStore()
  const agent = createAgent({
    name: 'actor',
    model: scriptedModel(steps),
    tools,
    extensions: [defineExtension({ name: 'hooks', hooks })],
    store,
  })
  return { agent, store }
}

/** Reads a stream and aborts it when an event comes that fits. */
async function abortAt(
  stream: AgentStream,
  fits: (event: AgentEvent) => boolean,
  options: AbortOptions = {},
): Promise<Seen> {
  const events: AgentEvent[] = []
  let aborted = false
  for await (const event of stream) {
    events.push(event)
    if (aborted || !fits(event)) continue
    aborted = true
    void stream.abort({ graceMs: 1, ...options })
  }
  expect(aborted).toBe(true)
  return { events, result: await stream.result, runId: stream.runId }
}

function roles(messages: readonly Message[]): readonly string[] {
  return messages.map(({ role }) => role)
}

describe('a run that is aborted', () => {
  test('before it begins keeps what the user said and asks no model', async () => {
    const { agent, store } = actor([])
    const seen = await collect(agent.stream('Hello?', { signal: AbortSignal.abort() }))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
    expect(roles(seen.result.messages)).toEqual(['user', 'aborted'])
    expect(only(seen.events, 'step.start')).toEqual([])
  })

  test('right after it was started ends the same way', async () => {
    const { agent } = actor([{ text: 'Hi.' }])
    const stream = agent.stream('Hello?')
    const over = stream.abort()
    const seen = await collect(stream)
    await over
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
    expect(roles(seen.result.messages)).toEqual(['user', 'aborted'])
  })

  test('before the first token, by a provider that never answers and ignores its signal, ends all the same', async () => {
    const { agent } = actor([{ stall: 'connect' }])
    const seen = await abortAt(agent.stream('Hello?'), ({ type }) => type === 'step.start')
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
    expect(roles(seen.result.messages)).toEqual(['user', 'aborted'])
    expect(only(seen.events, 'step.end')).toMatchObject([{ finishReason: 'interrupted' }])
  })

  test('in mid-text, by a provider that ignores its signal, keeps what was said', async () => {
    const { agent, store } = actor([{ text: ['Half ', 'an answer'], stall: true, failAfterChunks: 1 }])
    const seen = await abortAt(agent.stream('Hello?'), ({ type }) => type === 'text.delta')
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
    const last = seen.result.messages.at(-1)
    expect(last).toMatchObject({ role: 'aborted', partial: true, content: [{ type: 'text', text: 'Half ' }] })
    expect(last?.label).toBeDefined()
    expect(only(seen.events, 'message.end').at(-1)?.messageId).toBe(only(seen.events, 'text.delta')[0]?.messageId)
    expect(only(seen.events, 'text.end')).toMatchObject([{ text: 'Half ' }])
  })

  test('in mid-reasoning keeps what was thought', async () => {
    const { agent } = actor([{ reasoning: 'Let me think', text: 'Answer', stall: true, failAfterChunks: 1 }])
    const seen = await abortAt(agent.stream('Hello?'), ({ type }) => type === 'reasoning.delta')
    expectSound(seen)
    expect(seen.result.messages.at(-1)).toMatchObject({
      role: 'aborted',
      partial: true,
      content: [{ type: 'reasoning', text: 'Let me think' }],
    })
  })

  test('in mid-tool-input leaves no call behind', async () => {
    const { agent } = actor(
      [{ text: 'One moment. ', toolCalls: [{ name: 'quick' }, { name: 'quick' }], stall: true, failAfterChunks: 2 }],
      [quick],
    )
    const seen = await abortAt(agent.stream('Go.'), ({ type }) => type === 'tool.call.start')
    expectSound(seen)
    expect(only(seen.events, 'tool.execute.start')).toEqual([])
    const last = seen.result.messages.at(-1)
    expect(last).toMatchObject({ role: 'aborted', partial: true })
    expect(last?.content).toEqual([{ type: 'text', text: 'One moment. ' }])
  })

  test('in a tool that ignores its signal gives the call a result, and the next turn is taken', async () => {
    const prompts: unknown[] = []
    const store = memoryStore()
    const agent = createAgent({
      name: 'actor',
      model: scriptedModel([
        { text: 'Calling.', toolCalls: [{ name: 'quick' }, { name: 'deaf' }] },
        ({ messages }) => {
          prompts.push(...messages)
          return { text: 'Here.' }
        },
      ]),
      tools: [quick, deaf],
      store,
    })
    const seen = await abortAt(agent.stream('Go.'), running)
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
    expect(roles(seen.result.messages)).toEqual(['user', 'assistant', 'tool', 'aborted'])
    expect(only(seen.events, 'tool.execute.error')).toMatchObject([
      { toolName: 'deaf', error: { code: 'tool-aborted', hint: expect.stringContaining('may have taken effect') } },
    ])

    const next = await agent.run('Still there?', { sessionId: seen.result.sessionId })
    expect(next.text).toBe('Here.')
    assertWellFormed(foldLog(await readLog(store, next.sessionId)).messages)
    expect(prompts).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text' }, { type: 'tool-call' }, { type: 'tool-call' }] },
      { role: 'tool', content: [{ type: 'tool-result' }, { type: 'tool-result' }] },
      { role: 'user', content: [{ text: 'Still there?' }] },
    ])
  })

  test('lets a tool that heeds its signal say what it got to within the grace', async () => {
    const heedful = tool({
      name: 'heedful',
      input,
      execute(_, { signal, progress }) {
        progress('running')
        return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('got to 7')))
      },
    })
    const { agent } = actor([{ toolCalls: [{ name: 'heedful' }] }], [heedful])
    const seen = await abortAt(agent.stream('Go.'), running, { graceMs: 5_000 })
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
    expect(only(seen.events, 'tool.execute.end')).toMatchObject([{ output: { value: 'got to 7' } }])
  })

  test('drops what a tool says after it was left behind', async () => {
    const late = Promise.withResolvers<string>()
    const slow = tool({
      name: 'slow',
      input,
      async *execute() {
        yield 'first'
        yield await late.promise
      },
    })
    const { agent, store } = actor([{ toolCalls: [{ name: 'slow' }] }], [slow])
    const seen = await abortAt(agent.stream('Go.'), ({ type }) => type === 'tool.execute.partial')
    const before = await readLog(store, seen.result.sessionId)
    late.resolve('too late')
    await tick()
    expectSound(seen)
    expect(only(seen.events, 'tool.execute.partial')).toHaveLength(1)
    expect(await readLog(store, seen.result.sessionId)).toEqual(before)
  })

  test('starts none of the calls that had not started', async () => {
    const ran: string[] = []
    const alone = tool({ name: 'alone', input, executionMode: 'sequential', execute: () => void ran.push('alone') })
    const { agent } = actor([{ toolCalls: [{ name: 'deaf' }, { name: 'alone' }] }], [deaf, alone])
    const seen = await abortAt(agent.stream('Go.'), running)
    expectSound(seen)
    expect(ran).toEqual([])
    expect(only(seen.events, 'tool.execute.error').map(({ toolName }) => toolName)).toEqual(['deaf', 'alone'])
  })

  test('between two steps calls no model any more', async () => {
    const { agent } = actor([{ toolCalls: [{ name: 'quick' }] }, { text: 'unheard' }], [quick], {
      // In the moment in which the first step ends.
      event: (event) => void (event.type === 'step.end' && stream.abort()),
    })
    const stream: AgentStream = agent.stream('Go.')
    const seen = await collect(stream)
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
    expect(roles(seen.result.messages)).toEqual(['user', 'assistant', 'tool', 'aborted'])
    expect(only(seen.events, 'step.start')).toHaveLength(1)
  })

  test('between two attempts does not wait for the next one', async () => {
    const { agent } = actor([{ error: new TypeError('terminated') }], [], {
      'model.error': () => ({ retryAfterMs: 2 ** 30 }),
    })
    const seen = await abortAt(agent.stream('Go.'), ({ type }) => type === 'model.retry')
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
  })

  test('by the signal it was given ends like any other', async () => {
    const controller = new AbortController()
    const { agent } = actor([{ text: ['Half ', 'more'], stall: true, failAfterChunks: 1 }])
    const stream = agent.stream('Go.', { signal: controller.signal })
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'text.delta') controller.abort()
    }
    expectSound({ events, result: await stream.result, runId: stream.runId })
    expect((await stream.result).status).toBe('aborted')
  })

  test('many times, and after its end, ends once', async () => {
    const { agent } = actor([{ text: ['Half ', 'more'], stall: true, failAfterChunks: 1 }])
    const stream = agent.stream('Go.')
    const seen = await abortAt(stream, ({ type }) => type === 'text.delta')
    await Promise.all([stream.abort(), stream.abort({ drain: true }), agent.abort()])
    expectSound(seen)
    expect(await stream.result).toBe(seen.result)
  })

  test('tells the run.end hooks, with what was said', async () => {
    const ended = vi.fn()
    const { agent } = actor([{ text: ['Half ', 'more'], stall: true, failAfterChunks: 1 }], [], {
      'run.end': (result) => ended(result.status, result.messages.map(textOf)),
    })
    await abortAt(agent.stream('Go.'), ({ type }) => type === 'text.delta')
    expect(ended.mock.calls).toEqual([['aborted', ['Go.', 'Half ']]])
  })

  test('rejects `output`, naming what happened', async () => {
    const { agent } = actor([{ stall: 'connect' }])
    const stream = agent.stream('Go.')
    void stream.abort()
    await expect(stream.output).rejects.toMatchObject({ code: 'run-aborted' })
  })

  test.for<keyof Hooks>([
    'session.start',
    'input',
    'context',
    'model.request',
    'model.response',
    'tool.call',
    'tool.result',
    'around',
    'run.end',
  ])('ends although a %s hook never comes back', async (name) => {
    const hanging = Promise.withResolvers<void>()
    const hook = (): Promise<never> => {
      hanging.resolve()
      return never()
    }
    const { agent, store } = actor([{ text: 'Now. ', toolCalls: [{ name: 'quick' }] }, { text: 'Done.' }], [quick], {
      [name]: hook,
    })
    const stream = agent.stream('Go.')
    void hanging.promise.then(() => stream.abort({ graceMs: 1 }))
    const seen = await collect(stream)
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
    // What no hook has let in has not been said.
    expect(seen.result.messages[0]).toMatchObject({ role: name === 'input' || name === 'around' ? 'aborted' : 'user' })
  })
})

const full = process.env['PROVOST_TEST_FULL'] === '1'

test.for<[string, AbortOptions, first: number]>([
  ['hard', { graceMs: 1 }, 0],
  ['with drain', { drain: true }, 1],
  ['with drain and then hard', { drain: true, graceMs: 1 }, 2],
])('a run that is aborted %s at any of its events ends well', async ([how, options, first]) => {
  const steps: readonly ScriptedStep[] = [
    {
      reasoning: 'Hm.',
      text: ['Let ', 'me see.'],
      toolCalls: [{ name: 'quick' }, { name: 'drips' }, { name: 'quick' }],
    },
    { text: 'Once more. ', toolCalls: [{ name: 'alone' }, { name: 'risky' }] },
    { text: ['All ', 'done.'] },
  ]
  const tools = [
    quick,
    tool({
      name: 'drips',
      input,
      async *execute() {
        for (const drop of ['a', 'b']) {
          await tick()
          yield drop
        }
      },
    }),
    tool({ name: 'alone', input, executionMode: 'sequential', execute: () => tick('alone') }),
    tool({ name: 'risky', input, needsApproval: true, execute: () => 'risked' }),
  ]
  const abortedAt = async (at: number): Promise<Seen> => {
    let events = 0
    const { agent, store } = actor(steps, tools, {
      event() {
        if (events++ !== at) return
        void stream.abort(options)
        if (how === 'with drain and then hard') void stream.abort({ graceMs: 1 })
      },
    })
    const stream: AgentStream = agent.stream('Go.', { onApproval: () => 'approve' })
    const seen = await collect(stream)
    expectSound(seen)
    await expectLogged(store, seen.result)
    return seen
  }
  const { length } = (await abortedAt(Infinity)).events
  expect(length).toBeGreaterThan(50)
  // After its last event there is nothing left to abort.
  const statuses = new Set<string>()
  // Each event is met in one of these ways, and in all of them where everything is tried.
  for (let at = full ? 0 : first; at < length; at += full ? 1 : 3) statuses.add((await abortedAt(at)).result.status)
  statuses.add((await abortedAt(length - 1)).result.status)
  expect([...statuses].toSorted()).toEqual(['aborted', 'completed'])
})

test('agent.abort ends all runs of the agent and leaves those of others', async () => {
  const { agent } = actor([{ stall: 'connect' }, { stall: 'connect' }])
  const { agent: other } = actor([{ text: 'Undisturbed.' }])
  const runs = [agent.run('a'), agent.run('b')]
  const undisturbed = other.run('c')
  await agent.abort()
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(['aborted', 'aborted'])
  expect((await undisturbed).text).toBe('Undisturbed.')
})

describe('drain', () => {
  test('lets the step that is under way end, tools and all, and then ends', async () => {
    const { agent, store } = actor(
      [{ text: 'Calling.', toolCalls: [{ name: 'quick' }, { name: 'quick' }] }, { text: 'unheard' }],
      [quick],
    )
    const seen = await abortAt(agent.stream('Go.'), ({ type }) => type === 'step.start', { drain: true })
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
    expect(only(seen.events, 'tool.execute.end')).toHaveLength(2)
    expect(only(seen.events, 'step.start')).toHaveLength(1)
    expect(roles(seen.result.messages)).toEqual(['user', 'assistant', 'tool', 'aborted'])
  })

  test('lets a last answer be the end of a completed run', async () => {
    const { agent } = actor([{ text: ['All ', 'said.'] }])
    const seen = await abortAt(agent.stream('Go.'), ({ type }) => type === 'step.start', { drain: true })
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'All said.' })
  })

  test('gives way to a hard abort', async () => {
    const { agent } = actor([{ toolCalls: [{ name: 'deaf' }] }], [deaf])
    const stream = agent.stream('Go.')
    const seen = await abortAt(stream, (event) => {
      if (event.type === 'step.start') void stream.abort({ drain: true })
      return running(event)
    })
    expectSound(seen)
    expect(seen.result.status).toBe('aborted')
  })
})

describe('a run that waits for a human', () => {
  const risky = tool({ name: 'risky', input, needsApproval: true, execute: () => 'risked' })
  const waits = [{ text: 'May I?', toolCalls: [{ name: 'risky' }, { name: 'quick' }] }, { text: 'Thank you.' }]
  const abortWhileAsked = (options: AbortOptions) => {
    const { agent, store } = actor(waits, [risky, quick])
    const asked = Promise.withResolvers<void>()
    const stream = agent.stream('Go.', {
      onApproval: () => {
        asked.resolve()
        return never()
      },
    })
    void asked.promise.then(() => stream.abort({ graceMs: 1, ...options }))
    return { agent, store, seen: collect(stream) }
  }

  test('is denied by an abort, although onApproval never answers', async () => {
    const { store, seen } = abortWhileAsked({})
    const { events, result } = await seen
    expectSound(await seen)
    await expectLogged(store, result)
    expect(result.status).toBe('aborted')
    expect(result.pending.approvals).toEqual([])
    expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'deny', by: 'abort' }])
    expect(only(events, 'tool.execute.start').map(({ toolName }) => toolName)).toEqual(['quick'])
    expect(result.messages.at(-2)).toMatchObject({
      role: 'tool',
      content: [{ output: { value: 'Not approved: the run was ended.' } }, { output: { value: 'done' } }],
    })
  })

  test('is held by an abort with hold: suspended, and resumable with its decision', async () => {
    const { agent, store, seen } = abortWhileAsked({ onPendingApprovals: 'hold' })
    const { result } = await seen
    expectSound(await seen)
    expect(result.status).toBe('suspended')
    expect(result.pending.approvals).toMatchObject([{ toolName: 'risky' }])
    const state = RunState.fromJSON(JSON.stringify(result.state), agent)
    const resumed = await collect(
      agent.stream(state, { approvals: result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) }),
    )
    expectSound(resumed)
    await expectLogged(store, resumed.result)
    expect(resumed.result).toMatchObject({ status: 'completed', text: 'Thank you.' })
    expect(only(resumed.events, 'tool.execute.end')).toMatchObject([{ toolName: 'risky', output: { value: 'risked' } }])
  })

  test('is not held by an abort with hold where only a handoff waits, for the other calls of its step', async () => {
    const store = memoryStore()
    const agent = createAgent({
      name: 'desk',
      model: scriptedModel([{ toolCalls: [{ name: 'deaf' }, { name: 'quick' }, { name: 'transfer_to_clerk' }] }]),
      tools: [deaf, quick],
      maxParallelTools: 1,
      handoffs: [handoff(createAgent({ name: 'clerk', model: scriptedModel([{ text: 'Here.' }]) }))],
      store,
    })
    const seen = await abortAt(agent.stream('Go.'), running, { onPendingApprovals: 'hold' })
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('aborted')
  })

  test('fails by an abort with fail', async () => {
    const { store, seen } = abortWhileAsked({ onPendingApprovals: 'fail' })
    const { result } = await seen
    expectSound(await seen)
    await expectLogged(store, result)
    expect(result).toMatchObject({ status: 'failed', error: { code: 'aborted-while-pending' } })
  })
})
