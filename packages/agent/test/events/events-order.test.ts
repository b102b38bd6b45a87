import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, Entry, SessionStore, Tool } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { echo, extension, finish, only, partsModel, say, typesOf, watch } from '../hooks/hook-scenario.ts'

/** An event in short: what it is, and of what. */
function brief(event: AgentEvent): string {
  const { type } = event
  switch (type) {
    case 'message.start':
      return `${type} ${event.role} ${event.attempt}`
    case 'message.end':
      return `${type} ${event.message.role} ${event.attempt}${event.discarded ? ' discarded' : ''}`
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool.call.delta':
      return `${type} ${event.delta}`
    case 'text.end':
    case 'reasoning.end':
      return `${type} ${event.text}`
    case 'tool.call.start':
      return `${type} ${event.index}`
    case 'tool.call.end':
    case 'tool.execute.start':
      return `${type} ${JSON.stringify(event.input)}`
    case 'tool.execute.end':
      return `${type} ${JSON.stringify(event.output.type === 'text' ? event.output.value : null)}`
    case 'turn.start':
      return `${type} ${event.trigger}`
    case 'turn.mode':
      return `${type} ${event.mode} ${event.queueSize}`
    case 'turn.end':
      return `${type} ${event.text}`
    case 'step.start':
      return `${type} ${event.step}`
    case 'step.end':
      return `${type} ${event.step} ${event.finishReason}`
    case 'agent.end':
      return `${type} ${event.status}`
    default:
      return type
  }
}
async function story(
  steps: readonly ScriptedStep[],
  more: Partial<Parameters<typeof createAgent>[0]> = {},
): Promise<string[]> {
  const agent = createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more })
  const { events } = await watch(agent.stream('go'))
  return events.map(brief)
}
const opening = ['agent.start', 'turn.start input', 'message.start user 1', 'message.end user 1']

describe('the events of a run come in the documented order', () => {
  it('for a plain answer', async () => {
    expect(await story([{ text: ['Hel', 'lo'] }])).toEqual([
      ...opening,
      'step.start 1',
      'message.start assistant 1',
      'text.start',
      'text.delta Hel',
      'text.delta lo',
      'text.end Hello',
      'message.end assistant 1',
      'turn.mode respond 0',
      'step.end 1 stop',
      'turn.end Hello',
      'agent.end completed',
    ])
  })

  it('for an answer that was thought about', async () => {
    expect(await story([{ reasoning: 'hm', text: 'Yes' }])).toEqual([
      ...opening,
      'step.start 1',
      'message.start assistant 1',
      'reasoning.start',
      'reasoning.delta hm',
      'reasoning.end hm',
      'text.start',
      'text.delta Yes',
      'text.end Yes',
      'message.end assistant 1',
      'turn.mode respond 0',
      'step.end 1 stop',
      'turn.end Yes',
      'agent.end completed',
    ])
  })

  it('for a step with two parallel tools: its end follows theirs', async () => {
    expect(await story([{ text: 'Two.', toolCalls: [say('a'), say('b')] }, { text: 'Done' }])).toEqual([
      ...opening,
      'step.start 1',
      'message.start assistant 1',
      'text.start',
      'text.delta Two.',
      'text.end Two.',
      'tool.call.start 0',
      'tool.call.delta {"value":"a"}',
      'tool.call.end {"value":"a"}',
      'tool.call.start 1',
      'tool.call.delta {"value":"b"}',
      'tool.call.end {"value":"b"}',
      'message.end assistant 1',
      'turn.mode steer 2',
      'tool.execute.start {"value":"a"}',
      'tool.execute.start {"value":"b"}',
      'tool.execute.end "echo a"',
      'tool.execute.end "echo b"',
      'message.start tool 1',
      'message.end tool 1',
      'step.end 1 tool-calls',
      'step.start 2',
      'message.start assistant 1',
      'text.start',
      'text.delta Done',
      'text.end Done',
      'message.end assistant 1',
      'turn.mode respond 0',
      'step.end 2 stop',
      'turn.end Done',
      'agent.end completed',
    ])
  })

  it('for a retried attempt: the first is discarded, nothing of it is glued to the second', async () => {
    const again = extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })
    expect(
      await story([{ text: ['Half an', ' ans'], failAfterChunks: 2 }, { text: 'Full answer' }], {
        extensions: [again],
      }),
    ).toEqual([
      ...opening,
      'step.start 1',
      'message.start assistant 1',
      'text.start',
      'text.delta Half an',
      'text.delta  ans',
      'text.end Half an ans',
      'message.end assistant 1 discarded',
      'model.retry',
      'message.start assistant 2',
      'text.start',
      'text.delta Full answer',
      'text.end Full answer',
      'message.end assistant 2',
      'turn.mode respond 0',
      'step.end 1 stop',
      'turn.end Full answer',
      'agent.end completed',
    ])
  })

  it('for a model that refused to begin: there is no message to discard', async () => {
    const again = extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })
    expect(await story([{ error: new Error('busy') }, { text: 'Yes' }], { extensions: [again] })).toEqual([
      ...opening,
      'step.start 1',
      'model.retry',
      'message.start assistant 2',
      'text.start',
      'text.delta Yes',
      'text.end Yes',
      'message.end assistant 2',
      'turn.mode respond 0',
      'step.end 1 stop',
      'turn.end Yes',
      'agent.end completed',
    ])
  })

  it('for a model that fails for good', async () => {
    const error = Object.assign(new Error('bad'), { status: 400 })
    expect(await story([{ text: 'Half', failAfterChunks: 1, error }])).toEqual([
      ...opening,
      'step.start 1',
      'message.start assistant 1',
      'text.start',
      'text.delta Half',
      'text.end Half',
      'message.end error 1',
      'step.end 1 error',
      'turn.end Half',
      'agent.error',
      'agent.end failed',
    ])
  })

  it('for a call that waits for a human, and continues', async () => {
    const ask = extension('ask', {
      'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: '?' } }),
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('a')] }, { text: 'Done' }]),
      tools: [echo],
      extensions: [ask],
    })
    const first = await watch(agent.stream('go'))
    expect(first.events.slice(-5).map(brief)).toEqual([
      'turn.mode steer 1',
      'tool.approval.requested',
      'turn.end ',
      'agent.suspended',
      'agent.end suspended',
    ])
    const second = await watch(
      agent.stream(first.result.state, {
        approvals: first.result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
      }),
    )
    expect(second.events.map(brief)).toEqual([
      'agent.resumed',
      'turn.start resume',
      'tool.approval.resolved',
      'tool.execute.start {"value":"a"}',
      'tool.execute.end "echo a"',
      'message.start tool 1',
      'message.end tool 1',
      'step.end 1 tool-calls',
      'step.start 2',
      'message.start assistant 1',
      'text.start',
      'text.delta Done',
      'text.end Done',
      'message.end assistant 1',
      'turn.mode respond 0',
      'step.end 2 stop',
      'turn.end Done',
      'agent.end completed',
    ])
    expect(second.result.runId).toBe(first.result.runId)
  })

  it('for an abort in the middle of an answer', async () => {
    const stream = createAgent({ name: 'a', model: scriptedModel([{ text: 'Half', stall: true }]) }).stream('go')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'text.delta') void stream.abort({ graceMs: 0 })
    }
    expect(events.map(brief).slice(opening.length)).toEqual([
      'step.start 1',
      'message.start assistant 1',
      'text.start',
      'text.delta Half',
      'text.end Half',
      'message.end aborted 1',
      'step.end 1 interrupted',
      'turn.end Half',
      'agent.end aborted',
    ])
  })
})

describe('tools that run side by side', () => {
  it('start and end in the order of their calls, however long each takes', async () => {
    const first = Promise.withResolvers<string>()
    const late = tool({ name: 'late', input: z.object({}), execute: () => first.promise })
    const soon = tool({
      name: 'soon',
      input: z.object({}),
      execute: () => void setTimeout(() => first.resolve('late'), 5),
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'late' }, { name: 'soon' }] }, { text: 'Done' }]),
      tools: [late, soon],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.start').map(({ toolName }) => toolName)).toEqual(['late', 'soon'])
    expect(only(events, 'tool.execute.end').map(({ toolName }) => toolName)).toEqual(['late', 'soon'])
    expect(result.messages[2]?.content.map((part) => part.type === 'tool-result' && part.toolName)).toEqual([
      'late',
      'soon',
    ])
  })

  /** The events of a step with these calls, as one letter for each start and end and the index of its call. */
  async function orderOf(names: readonly string[], ms: (index: number) => number, more: Partial<AgentOptions> = {}) {
    let running = 0
    const most = { all: 0, alone: 0 }
    const work = (name: string, executionMode: 'parallel' | 'sequential'): Tool =>
      tool({
        name,
        effect: 'read',
        executionMode,
        input: z.object({ index: z.number() }),
        execute: async ({ index }) => {
          running++
          most.all = Math.max(most.all, running)
          if (executionMode === 'sequential') most.alone = Math.max(most.alone, running)
          await sleep(ms(index))
          running--
          if (name === 'fails') throw new Error('broken')
          return index
        },
      })
    const toolCalls = names.map((name, index) => ({ name, input: { index } }))
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls }, { text: 'Done' }]),
      tools: [work('many', 'parallel'), work('fails', 'parallel'), work('alone', 'sequential')],
      ...more,
    })
    const { events } = await watch(agent.stream('go'))
    const letters = { 'tool.execute.start': 's', 'tool.execute.end': 'e', 'tool.execute.error': 'x' } as const
    const order = events.flatMap((event) =>
      event.type === 'tool.execute.start' || event.type === 'tool.execute.end' || event.type === 'tool.execute.error'
        ? [`${letters[event.type]}${event.callId.split('/').at(-1)}`]
        : [],
    )
    return { order: order.join(' '), types: events.map(({ type }) => type), most }
  }
  const row = (letter: string, from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `${letter}${from + index}`).join(' ')

  it('all start before any ends, also more of them than run at a time: the order does not depend on their durations', async () => {
    const names = Array.from({ length: 12 }, () => 'many')
    const rising = await orderOf(names, (index) => index * 3)
    const falling = await orderOf(names, (index) => 36 - index * 3)
    expect(rising.order).toBe(`${row('s', 0, 12)} ${row('e', 0, 12)}`)
    expect(falling.types).toEqual(rising.types)
    expect(falling.order).toBe(rising.order)
    expect([rising.most.all, falling.most.all]).toEqual([8, 8])
    const three = await orderOf(names, (index) => (index % 2) * 5, { maxParallelTools: 3 })
    expect([three.order, three.most.all]).toEqual([rising.order, 3])
  })

  it('start and end in groups around a call that runs alone', async () => {
    const names = ['many', 'fails', 'alone', ...Array.from({ length: 10 }, () => 'many'), 'alone', 'alone']
    for (const ms of [(index: number) => index % 3, (index: number) => 12 - (index % 12)]) {
      const { order, most } = await orderOf(names, ms)
      expect(order).toBe(`s0 s1 e0 x1 s2 e2 ${row('s', 3, 13)} ${row('e', 3, 13)} s13 e13 s14 e14`)
      expect(most).toEqual({ all: 8, alone: 1 })
    }
  })

  it('that a steer skips have a start if they were to run beside others, and say that they were skipped', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('a'), say('b'), say('c')] }, { text: 'Done' }]),
      tools: [echo],
      maxParallelTools: 1,
    })
    const stream = agent.stream('go')
    const seen: string[] = []
    for await (const event of stream) {
      if (event.type === 'tool.execute.start' && seen.length === 0) stream.steer('stop')
      if (event.type.startsWith('tool.execute.') || event.type === 'tool.skipped') seen.push(event.type)
    }
    expect(seen.slice(0, 3)).toEqual(['tool.execute.start', 'tool.execute.start', 'tool.execute.start'])
    expect(seen.slice(-2)).toEqual(['tool.skipped', 'tool.skipped'])
  })

  it('above the cap have not begun: after a crash they run, and only the others are asked about', async () => {
    const store = memoryStore()
    const ran: number[] = []
    const stuck = Promise.withResolvers<never>()
    const begun = Promise.withResolvers<void>()
    const write = (dies: boolean): Tool =>
      tool({
        name: 'write',
        input: z.object({ index: z.number() }),
        execute: ({ index }) => {
          ran.push(index)
          if (ran.length === 2) begun.resolve()
          return dies ? stuck.promise : 'written'
        },
      })
    const toolCalls = [0, 1, 2, 3].map((index) => ({ name: 'write', input: { index } }))
    const agentOf = (dies: boolean, on: SessionStore) =>
      createAgent({
        name: 'a',
        store: on,
        maxParallelTools: 2,
        model: scriptedModel(dies ? [{ toolCalls }] : [{ text: 'Done' }]),
        tools: [write(dies)],
      })
    const stream = agentOf(true, store).stream('go', { sessionId: 's' })
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (only(events, 'tool.execute.start').length === 4) break
    }
    await begun.promise
    const log: Entry[] = []
    for await (const entry of store.read('s')) log.push(entry)
    const { ephemeral: _, ...left } = memoryStore()
    const lease = await left.lease('s', 'the dead', 1000)
    if (lease === 'busy') throw new Error('busy')
    await left.append('s', log, { after: 0, fence: lease.fence })
    await left.release('s', lease.fence)
    ran.length = 0
    const session = await agentOf(false, left).resumeSession('s')
    const { events: later, result } = await watch(session.resume())
    expect(result.pending.uncertain.map(({ input }) => input)).toEqual([{ index: 0 }, { index: 1 }])
    expect(ran).toEqual([2, 3])
    expect(only(later, 'tool.execute.start').map(({ input }) => input)).toEqual([{ index: 2 }, { index: 3 }])
    await stream.abort({ graceMs: 0 })
  })

  it('show their progress and partial results between their start and their end', async () => {
    const count = tool({
      name: 'count',
      input: z.object({}),
      async *execute(_input, ctx) {
        ctx.progress({ percent: 50 })
        yield 'one '
        yield 'two'
      },
    })
    const rows = tool({
      name: 'rows',
      input: z.object({}),
      async *execute() {
        yield { n: 1 }
        yield { n: 2 }
      },
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'count' }] }, { toolCalls: [{ name: 'rows' }] }, { text: 'Done' }]),
      tools: [count, rows],
    })
    const { events } = await watch(agent.stream('go'))
    expect(typesOf(events.filter(({ type }) => type.startsWith('tool.execute')))).toEqual([
      'tool.execute.start',
      'tool.execute.progress',
      'tool.execute.partial',
      'tool.execute.partial',
      'tool.execute.end',
      'tool.execute.start',
      'tool.execute.partial',
      'tool.execute.partial',
      'tool.execute.end',
    ])
    expect(only(events, 'tool.execute.progress')).toMatchObject([{ toolName: 'count', data: { percent: 50 } }])
    expect(only(events, 'tool.execute.partial').map(({ delta, value }) => delta ?? value)).toEqual([
      'one ',
      'two',
      { n: 1 },
      { n: 2 },
    ])
    expect(only(events, 'tool.execute.end').map(({ output }) => output)).toEqual([
      { type: 'text', value: 'one two' },
      { type: 'json', value: { n: 2 } },
    ])
  })

  it('say how long they took and what they cost in trust', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('a')] }, { text: 'Done' }]),
      tools: [echo],
    })
    const [end] = only((await watch(agent.stream('go'))).events, 'tool.execute.end')
    expect(end).toMatchObject({ via: 'executed', label: { integrity: 'untrusted', sources: ['echo'] } })
    expect(end?.durationMs).toBeGreaterThanOrEqual(0)
  })
})

describe('what else a model sends', () => {
  it('calls that the provider ran itself are told as written, and not as executed', async () => {
    const model = partsModel([
      { type: 'tool-input-start', id: 'p', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'p', delta: '{"q":"x"}' },
      { type: 'tool-input-end', id: 'p' },
      { type: 'tool-call', toolCallId: 'p', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'p', toolName: 'web_search', result: { hits: 1 } },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Found.' },
      { type: 'text-end', id: 't' },
      finish,
    ])
    const { events, result } = await watch(createAgent({ name: 'a', model }).stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'Found.' })
    expect(only(events, 'tool.call.end')).toMatchObject([
      { toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
    ])
    expect(typesOf(events).filter((type) => type.startsWith('tool.execute'))).toEqual([])
    expect(only(events, 'turn.mode')).toMatchObject([{ mode: 'respond', queueSize: 0 }])
    expect(result.messages[1]?.content).toMatchObject([
      { type: 'tool-call', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-result', output: { type: 'json', value: { hits: 1 } } },
      { type: 'text', text: 'Found.' },
    ])
  })

  it('files and sources have events of their own; files stay in the message', async () => {
    const model = partsModel([
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com/a', title: 'A' },
      { type: 'source', sourceType: 'document', id: 'd', mediaType: 'application/pdf', title: 'B' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'See.' },
      { type: 'text-end', id: 't' },
      finish,
    ])
    const { events, result } = await watch(createAgent({ name: 'a', model }).stream('go'))
    const messageId = result.messages[1]?.id
    expect(only(events, 'source.cited')).toMatchObject([
      { messageId, url: 'https://example.com/a', title: 'A' },
      { messageId, title: 'B', mediaType: 'application/pdf' },
    ])
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } }
    expect(only(events, 'file.generated')).toMatchObject([{ messageId, file }])
    expect(result.messages[1]?.content).toMatchObject([file, { type: 'text' }])
  })

  it('an answer without a word still ends its message and its run', async () => {
    const { events, result } = await watch(createAgent({ name: 'a', model: scriptedModel([{}]) }).stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: '', output: '' })
    expect(typesOf(events).slice(opening.length)).toEqual([
      'step.start',
      'message.start',
      'message.end',
      'turn.mode',
      'step.end',
      'turn.end',
      'agent.end',
    ])
  })
})

describe('the ends tell what there was', () => {
  it('of a step: its usage, its cost, why the model stopped', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([
        { text: 'x', finishReason: 'length', usage: { inputTokens: 1_000_000, outputTokens: 100_000 } },
      ]),
      prices: { 'scripted/scripted-model': { input: 2, output: 10 } },
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(only(events, 'step.end')).toMatchObject([
      { usage: { inputTokens: 1_000_000, outputTokens: 100_000 }, cost: 3, finishReason: 'length' },
    ])
    expect(only(events, 'agent.end')).toMatchObject([{ cost: 3, usage: { inputTokens: 1_000_000 } }])
    expect(result.cost).toBe(3)
  })

  it('of a turn: its messages and the last words', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('a')] }, { text: 'Done' }]),
      tools: [echo],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(only(events, 'turn.end')).toMatchObject([{ text: 'Done', messages: result.messages }])
  })

  it('of a run: what its result says', async () => {
    const { events, result } = await watch(
      createAgent({ name: 'a', model: scriptedModel([{ text: 'Done', usage: { inputTokens: 1 } }]) }).stream('go'),
    )
    const { status, output, text, messages, usage } = result
    expect(only(events, 'agent.end')).toMatchObject([{ status, output, text, messages, usage }])
    expect(events.at(-1)?.type).toBe('agent.end')
  })

  it('of a run: what was said to it', async () => {
    const { events, result } = await watch(
      createAgent({ name: 'a', model: scriptedModel([{ text: 'Done' }]) }).stream('go'),
    )
    const [start] = only(events, 'agent.start')
    expect(start).toMatchObject({ sessionId: result.sessionId, runId: result.runId, agent: 'a', step: 0, parents: [] })
    expect(start?.input.map(textOf)).toEqual(['go'])
  })
})
