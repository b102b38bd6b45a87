import { setImmediate, setTimeout } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, EventType, Extension, Fold, Hooks, RunResult, RunStatus, Steps } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import {
  echo,
  entriesOf,
  entriesOfType,
  extension,
  missing,
  only,
  reported,
  say,
  typesOf,
  watch,
} from './hook-scenario.ts'

function agentOf(
  extensions: readonly Extension[],
  steps: readonly ScriptedStep[] = [{ text: 'done' }],
  more: Partial<AgentOptions> = {},
) {
  return createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more, extensions })
}
const ask = extension('ask', {
  'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: 'sure?' } }),
})

describe('run.end', () => {
  /** Ends a run in each of the ways there are, and gives its result. */
  const endings: Readonly<
    Record<RunStatus, (end: readonly Extension[], more?: Partial<AgentOptions>) => Promise<RunResult<unknown>>>
  > = {
    completed: (end, more) =>
      agentOf(end, [{ text: 'done', usage: { inputTokens: 3, outputTokens: 1 } }], more).run('go'),
    failed: (end, more) =>
      agentOf(end, [{ error: new Error('no') }], { ...more, settings: { maxRetries: 0 } }).run('go'),
    suspended: (end, more) => agentOf([ask, ...end], [{ toolCalls: [say('x')] }], more).run('go'),
    async aborted(end, more) {
      const stream = agentOf(end, [{ text: 'x', stall: true }], more).stream('go')
      for await (const event of stream) if (event.type === 'text.delta') void stream.abort({ graceMs: 5_000 })
      return stream.result
    },
  }
  const statuses = ['completed', 'failed', 'suspended', 'aborted'] as const

  it.for(statuses)('is called when a run is %s, with its result', async (status) => {
    const seen: RunResult<unknown>[] = []
    const result = await endings[status]([extension('end', { 'run.end': (ended) => void seen.push(ended) })])
    expect(result.status).toBe(status)
    expect(seen).toHaveLength(1)
    const { status: saw, text, messages, usage, pending, runId, sessionId, output } = seen[0] ?? missing('not called')
    expect({ status: saw, text, messages, usage, pending, runId, sessionId, output }).toEqual({
      status: result.status,
      text: result.text,
      messages: result.messages,
      usage: result.usage,
      pending: result.pending,
      runId: result.runId,
      sessionId: result.sessionId,
      output: result.output,
    })
    expect(seen[0]?.error?.code).toBe(status === 'failed' ? 'unknown' : undefined)
  })

  it.for(statuses)('is waited for when a run is %s, and may still write', async (status) => {
    const store = memoryStore()
    const end = extension('end', {
      async 'run.end'(result, ctx) {
        await setImmediate()
        await ctx.append('ended', { status: result.status })
        await ctx.audit('flagged', { rule: 'end', sources: [], evidence: null })
        await ctx.memo('told', () => true)
      },
    })
    const result = await endings[status]([end], { store })
    expect(await entriesOfType(store, result, 'ext')).toMatchObject([{ name: 'end', key: 'ended', data: { status } }])
    expect(await entriesOfType(store, result, 'audit')).toHaveLength(1)
    expect(await entriesOfType(store, result, 'memo')).toHaveLength(1)
  })

  it.for(statuses)('that throws changes nothing of a run that is %s, and is named', async (status) => {
    const events: AgentEvent[] = []
    const broken = extension('broken', {
      'run.end': () => {
        throw new Error('no disk')
      },
    })
    const result = await endings[status]([broken, extension('look', { event: (event) => void events.push(event) })])
    expect(result.status).toBe(status)
    expect(reported(events)).toContain('hook broken: no disk')
    expect(events.at(-1)?.type).toBe('agent.end')
  })

  it.for([
    ['completed', 2],
    ['aborted', 100],
  ] as const)('that is %s by an abort without a grace still writes before the end', async ([status, delay]) => {
    const store = memoryStore()
    let abort = (): void => {}
    const end = extension('end', {
      async 'run.end'(result, ctx) {
        abort()
        await setTimeout(delay)
        await ctx.append('ended', { status: result.status })
      },
    })
    const stream = agentOf([end], [{ text: 'done' }], { store }).stream('go')
    abort = () => void stream.abort({ graceMs: 0 })
    const result = await stream.result
    expect(result.status).toBe(status)
    const entries = await entriesOf(store, result.sessionId)
    expect(entries.slice(-2)).toMatchObject([
      { type: 'ext', name: 'end', data: { status } },
      { type: 'run', op: 'ended', status },
    ])
  })

  it('of an aborted run does work in turns to its end', async () => {
    const done: unknown[] = []
    const busy = function* <T>(result: T): Steps<T> {
      const until = performance.now() + 40
      while (performance.now() < until) yield
      return result
    }
    const count: Fold<number> = { key: 'end/count', initial: 0, apply: (entries) => entries + 1, steps: () => busy(2) }
    const end = extension('end', {
      async 'run.end'(_, ctx) {
        done.push(await ctx.inTurns(busy('worked')), await ctx.foldInTurns(count))
      },
    })
    await endings.aborted([end])
    expect(done).toEqual(['worked', 2])
  })

  it('comes to all extensions, whatever those before them did', async () => {
    const seen: string[] = []
    const end = (name: string): Extension =>
      extension(name, {
        'run.end': () => {
          seen.push(name)
          throw new Error(name)
        },
      })
    await agentOf([end('one'), end('two')]).run('go')
    expect(seen).toEqual(['one', 'two'])
  })

  it('comes once for each time the run ends or pauses', async () => {
    const seen: string[] = []
    const agent = agentOf(
      [ask, extension('end', { 'run.end': ({ status }) => void seen.push(status) })],
      [{ toolCalls: [say('x')] }, { text: 'done' }],
    )
    const { state, pending } = await agent.run('go')
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
    expect(seen).toEqual(['suspended', 'completed'])
  })

  it('comes before the run is told to have ended', async () => {
    const seen: string[] = []
    await agentOf([
      extension('end', {
        'run.end': () => void seen.push('run.end'),
        event: ({ type }) => void (type === 'agent.end' && seen.push(type)),
      }),
    ]).run('go')
    expect(seen).toEqual(['run.end', 'agent.end'])
  })

  it('comes when a hook failed the run', async () => {
    const seen: string[] = []
    await agentOf([
      extension('broken', { input: () => Promise.reject(new Error('x')) }),
      extension('end', { 'run.end': ({ status }) => void seen.push(status) }),
    ]).run('go')
    expect(seen).toEqual(['failed'])
  })
})

describe('event', () => {
  const others = (events: readonly AgentEvent[], type: EventType): number =>
    events.filter((event) => event.type !== type).length

  it('sees every event, even without an iterator', async () => {
    const seen: AgentEvent[] = []
    await agentOf(
      [extension('look', { event: (event) => void seen.push(event) })],
      [{ toolCalls: [say('x')] }, { text: 'done' }],
    ).run('go')
    expect(typesOf(seen)).toEqual(
      typesOf((await watch(agentOf([], [{ toolCalls: [say('x')] }, { text: 'done' }]).stream('go'))).events),
    )
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1))
  })

  it('receives the same frozen payload as all other subscribers', async () => {
    const seen: AgentEvent[] = []
    const { events } = await watch(
      agentOf(
        [extension('look', { event: (event) => void seen.push(event) })],
        [{ toolCalls: [say('x')] }, { text: 'done' }],
      ).stream('go'),
    )
    expect(seen).toEqual(events)
    const mine = only(seen, 'message.end')
    for (const [index, { message }] of only(events, 'message.end').entries()) {
      expect(message).toBe(mine[index]?.message)
      expect(Object.isFrozen(message.content)).toBe(true)
    }
  })

  it('does not hold up the run', async () => {
    const result = await agentOf([extension('slow', { event: () => new Promise(() => {}) })]).run('go')
    expect(result.status).toBe('completed')
  })

  it.for<readonly [string, NonNullable<Hooks['event']>]>([
    [
      'throws',
      () => {
        throw new Error('no pipe')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no pipe'))],
  ])('that %s changes nothing, and is named for each event but its own', async ([, hook]) => {
    const { events, result } = await watch(agentOf([extension('broken', { event: hook })]).stream('go'))
    expect(result.status).toBe('completed')
    expect(new Set(reported(events))).toEqual(new Set(['hook broken: no pipe']))
    expect(reported(events).length).toBeLessThanOrEqual(others(events, 'agent.error'))
    expect(reported(events).length).toBeGreaterThan(0)
  })

  it('of two that throw, neither hears of the other for ever', async () => {
    let thrown = 0
    const broken = (name: string): Extension =>
      extension(name, {
        event: () => {
          // So that a loop without end fails here instead of hanging.
          if (thrown++ < 5_000) throw new Error('no pipe')
        },
      })
    const { events, result } = await watch(agentOf([broken('one'), broken('two')]).stream('go'))
    expect(result.status).toBe('completed')
    // One throws at an event, the other at that and at the complaint of the first.
    expect(thrown).toBeLessThanOrEqual(others(events, 'agent.error') * 4)
  })

  it('may emit: every subscriber receives the emitted event after the one that caused it', async () => {
    const counter = extension('counter', {
      event: (event, ctx) => {
        if (event.type === 'text.delta') ctx.emit({ length: event.delta.length })
      },
    })
    const [before, after]: [AgentEvent[], AgentEvent[]] = [[], []]
    const hear = (name: string, list: AgentEvent[]): Extension =>
      extension(name, { event: (event) => void list.push(event) })
    const { events } = await watch(
      agentOf([hear('before', before), counter, hear('after', after)], [{ text: ['ab', 'c'] }]).stream('go'),
    )
    const expected = ['text.delta', 'extension', 'text.delta', 'extension']
    for (const list of [events, before, after]) {
      expect(list.map(({ type }) => type).filter((type) => expected.includes(type))).toEqual(expected)
    }
    expect(only(events, 'extension')).toMatchObject([
      { name: 'counter', data: { length: 2 } },
      { name: 'counter', data: { length: 1 } },
    ])
  })

  it('may audit on what governance says without feeding itself; others hear of it', async () => {
    const heard: string[] = []
    const auditor = (name: string): Extension =>
      extension(name, {
        async event(event, ctx) {
          if (!event.type.startsWith('governance.')) return
          heard.push(name)
          await ctx.audit('flagged', { rule: `seen by ${name}`, sources: [], evidence: null })
        },
      })
    const policy = extension('policy', {
      'tool.call': (call, ctx) =>
        ctx.audit('flagged', { rule: 'first', callId: call.callId, sources: [], evidence: 1 }),
    })
    const agent = agentOf([policy, auditor('one'), auditor('two')], [{ toolCalls: [say('x')] }, { text: 'done' }])
    const { events, result } = await watch(agent.stream('go'))
    expect(result.status).toBe('completed')
    // Each of the first row, and each of what the other wrote about it.
    expect(heard.toSorted()).toEqual(['one', 'one', 'two', 'two'])
    const rules = events.flatMap((event) => (event.type === 'governance.flagged' ? [event.rule] : []))
    expect(rules.toSorted()).toEqual(['first', 'seen by one', 'seen by one', 'seen by two', 'seen by two'])
  })

  it.for<readonly [string, (emit: () => void) => unknown]>([
    ['at once', (emit) => emit()],
    ['later', (emit) => Promise.resolve().then(emit)],
  ])('may emit for every event %s without hearing itself', async ([, soon]) => {
    let emitted = 0
    const chatty = extension('chatty', {
      event: (_event, ctx) => soon(() => void (emitted++ < 5_000 && ctx.emit({ n: emitted }))),
    })
    const { events, result } = await watch(agentOf([chatty]).stream('go'))
    expect(result.status).toBe('completed')
    expect(emitted).toBeLessThanOrEqual(others(events, 'extension'))
    expect(only(events, 'extension').length).toBeGreaterThan(0)
  })

  it.for<readonly [string, (emit: () => void) => unknown]>([
    ['at once', (emit) => emit()],
    ['later', (emit) => Promise.resolve().then(emit)],
  ])('of two that emit for every event %s, neither answers the other for ever', async ([, soon]) => {
    let emitted = 0
    const chatty = (name: string): Extension =>
      extension(name, {
        event: (_event, ctx) =>
          soon(
            () =>
              void (
                emitted++ < 5_000 &&
                ctx.emit('progress.written', {
                  id: name,
                  role: 'r',
                  seq: 1,
                  confidentiality: 'public',
                  tags: [],
                  bytes: 0,
                })
              ),
          ),
      })
    const { events, result } = await watch(agentOf([chatty('one'), chatty('two')]).stream('go'))
    expect(result.status).toBe('completed')
    expect(emitted).toBeLessThanOrEqual(others(events, 'progress.written') * 4)
  })

  it('that emits is heard by the other observers', async () => {
    const heard: unknown[] = []
    const teller = extension('teller', { event: (event, ctx) => void (event.type === 'turn.start' && ctx.emit('hi')) })
    const listener = extension('listener', {
      event: (event) => void (event.type === 'extension' && heard.push([event.name, event.data])),
    })
    await agentOf([teller, listener]).run('go')
    expect(heard).toEqual([['teller', 'hi']])
  })
})
