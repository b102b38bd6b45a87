import { AsyncLocalStorage } from 'node:async_hooks'

import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, HookContext, TimedOperation, Watching } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { echo, extension, failure, reported, say, transcript, typesOf, watch } from './hook-scenario.ts'

type Around = <T>(op: TimedOperation, next: () => Promise<T>, ctx: HookContext) => Promise<T>
function around(name: string, hook: Around): Extension {
  return extension(name, { around: hook })
}
function nameOf(op: TimedOperation): string {
  if (op.kind === 'tool') return `tool ${op.toolName}`
  if (op.kind === 'model') return `model ${op.attempt}`
  return op.kind === 'step' ? `step ${op.step}` : op.kind
}
const twoSteps: readonly ScriptedStep[] = [{ toolCalls: [say('x')] }, { text: 'done' }]
function agentOf(
  extensions: readonly Extension[],
  steps: readonly ScriptedStep[] = twoSteps,
  more: Partial<AgentOptions> = {},
) {
  return createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more, extensions })
}

describe('around is around', () => {
  it('the run, each step, each attempt at a model call and each tool, one in the other', async () => {
    const seen: string[] = []
    const trace = around('trace', async (op, next) => {
      seen.push(`> ${nameOf(op)}`)
      const value = await next()
      seen.push(`< ${nameOf(op)}`)
      return value
    })
    const again = extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })
    await agentOf([trace, again], [{ error: new Error('x') }, ...twoSteps]).run('go')
    expect(seen).toEqual([
      '> run',
      '> step 1',
      '> model 1',
      '< model 1',
      '> model 2',
      '< model 2',
      '> tool echo',
      '< tool echo',
      '< step 1',
      '> step 2',
      '> model 1',
      '< model 1',
      '< step 2',
      '< run',
    ])
  })

  it('operations that say what they are and in which they stand', async () => {
    const ops: TimedOperation[] = []
    const { runId } = await agentOf([
      around('trace', (op, next) => {
        ops.push(op)
        return next()
      }),
    ]).run('go')
    expect(ops).toEqual([
      { kind: 'run', id: runId, runId, agent: 'a' },
      { kind: 'step', id: `${runId}/1`, parent: runId, step: 1 },
      {
        kind: 'model',
        id: `${runId}/1/message/1`,
        parent: `${runId}/1`,
        step: 1,
        model: 'scripted/scripted-model',
        attempt: 1,
        settings: {},
        label: expect.objectContaining({ integrity: 'trusted', confidentiality: 'internal' }),
        outcome: { usage: expect.objectContaining({ estimated: true }), finishReason: 'tool-calls' },
      },
      {
        kind: 'tool',
        id: `${runId}/1/call/0`,
        parent: `${runId}/1`,
        callId: `${runId}/1/call/0`,
        toolName: 'echo',
        effect: 'read',
      },
      { kind: 'step', id: `${runId}/2`, parent: runId, step: 2 },
      {
        kind: 'model',
        id: `${runId}/2/message/1`,
        parent: `${runId}/2`,
        step: 2,
        model: 'scripted/scripted-model',
        attempt: 1,
        settings: {},
        label: expect.objectContaining({ integrity: 'untrusted', sources: ['echo'] }),
        outcome: { usage: expect.objectContaining({ estimated: true }), finishReason: 'stop' },
      },
    ])
    expect(new Set(ops.map(({ id }) => id)).size).toBe(ops.length)
  })

  it('model calls, and tells what came of each', async () => {
    const seen: unknown[] = []
    const trace = around('trace', async (op, next) => {
      const before = op.kind === 'model' && op.outcome
      const value = await next()
      if (op.kind === 'model') seen.push([before, op.outcome])
      return value
    })
    const again = extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })
    const usage = { inputTokens: 10, outputTokens: 2 }
    await agentOf([trace, again], [{ error: new Error('no luck') }, { text: 'done', usage }], {
      prices: { 'scripted/scripted-model': { input: 1, output: 1 } },
    }).run('go')
    expect(seen).toMatchObject([
      [undefined, { usage: {}, fault: { class: 'unknown', message: 'no luck' } }],
      [undefined, { usage, finishReason: 'stop', cost: 0.000012 }],
    ])
  })

  it('what goes before the first step, such as hooks that see the input', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const trace = around('trace', (op, next) => storage.run(op.kind, next))
    const hooks = extension('look', {
      input: () => void seen.push(storage.getStore()),
      'session.start': () => void seen.push(storage.getStore()),
    })
    await agentOf([trace, hooks]).run('go')
    expect(seen).toEqual(['run', 'run'])
  })

  it('model calls that hooks ask for, and none that the same extension asked for itself', async () => {
    const seen: string[] = []
    const asks = extension('asks', {
      async around(op, next, ctx) {
        if (op.kind === 'model') await ctx.generate({ prompt: 'Anything to add?' })
        return next()
      },
    })
    const trace = around('trace', (op, next) => {
      if (op.kind === 'model') seen.push(`${op.purpose ?? 'answer'} of ${op.parent?.split('/').at(-1)}`)
      return next()
    })
    await agentOf([asks, trace], [{ text: 'No.' }, { text: 'done' }]).run('go')
    expect(seen).toEqual(['generated of 1', 'answer of 1'])
  })

  it('a run in progress, and says so', async () => {
    const seen: unknown[] = []
    const trace = around('trace', (op, next) => {
      if (op.kind === 'run') seen.push(op.resumed)
      return next()
    })
    const ask = extension('ask', {
      'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: '?' } }),
    })
    const agent = agentOf([trace, ask])
    const { state, pending } = await agent.run('go')
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
    expect(seen).toEqual([undefined, true])
  })

  it('only what an extension watches of a run, asked as it starts', async () => {
    const seen: string[] = []
    let watching: Watching = { ops: ['run', 'tool'], events: false }
    const trace = defineExtension({
      name: 'trace',
      watches: () => watching,
      hooks: {
        around: (op, next) => {
          seen.push(nameOf(op))
          return next()
        },
        event: ({ type }) => void (type === 'agent.end' && seen.push(type)),
      },
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([...twoSteps, ...twoSteps, ...twoSteps, ...twoSteps]),
      tools: [echo],
      extensions: [trace],
    })
    await agent.run('go')
    expect(seen.splice(0)).toEqual(['run', 'tool echo'])
    watching = { ops: ['model'], events: true }
    await agent.run('go')
    expect(seen.splice(0)).toEqual(['model 1', 'model 1', 'agent.end'])
    watching = { ops: [], events: ['agent.end'] }
    await agent.run('go')
    watching = { ops: [], events: ['agent.start'] }
    await agent.run('go')
    expect(seen).toEqual(['agent.end'])
  })

  it('by several extensions: the first is outermost', async () => {
    const seen: string[] = []
    const trace = (name: string): Extension =>
      around(name, async (op, next) => {
        if (op.kind !== 'model') return next()
        seen.push(`> ${name}`)
        const value = await next()
        seen.push(`< ${name}`)
        return value
      })
    await agentOf([trace('one'), trace('two')], [{ text: 'done' }]).run('go')
    expect(seen).toEqual(['> one', '> two', '< two', '< one'])
  })

  it('tools that run side by side', async () => {
    const open = new Set<string>()
    let most = 0
    const gate = Promise.withResolvers<void>()
    const wait = tool({ name: 'wait', input: z.object({}), execute: () => gate.promise })
    const trace = around('trace', async (op, next) => {
      if (op.kind !== 'tool') return next()
      open.add(op.callId)
      most = Math.max(most, open.size)
      if (open.size === 3) gate.resolve()
      try {
        return await next()
      } finally {
        open.delete(op.callId)
      }
    })
    await agentOf([trace], [{ toolCalls: [{ name: 'wait' }, { name: 'wait' }, { name: 'wait' }] }, { text: 'done' }], {
      tools: [wait],
    }).run('go')
    expect([most, open.size]).toEqual([3, 0])
  })

  it('no tool that was denied, and no step but those of this time when a run is resumed', async () => {
    const seen: string[] = []
    const trace = around('trace', (op, next) => {
      seen.push(nameOf(op))
      return next()
    })
    const ask = extension('ask', {
      'tool.call': (_call, { approval }) => (approval ? { deny: 'no' } : { ask: { reason: '?' } }),
    })
    const agent = agentOf([trace, ask])
    const { state, pending } = await agent.run('go')
    expect(seen.splice(0)).toEqual(['run', 'step 1', 'model 1'])
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
    expect(seen).toEqual(['run', 'step 1', 'step 2', 'model 1'])
  })
})

it('what happens inside runs in the async context that the hook made', async () => {
  const storage = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const trace = around('trace', (op, next) => storage.run(`${storage.getStore() ?? ''}/${op.kind}`, next))
  const look = tool({ name: 'look', input: z.object({}), execute: () => void seen.push(storage.getStore()) })
  const hooks = extension('look', {
    'model.request': () => void seen.push(storage.getStore()),
    'tool.call': () => void seen.push(storage.getStore()),
  })
  await agentOf([trace, hooks], [{ toolCalls: [{ name: 'look' }] }, { text: 'done' }], { tools: [look] }).run('go')
  expect(seen).toEqual(['/run/step', '/run/step', '/run/step/tool', '/run/step'])
})

describe('what an around hook may not do', () => {
  it.for<readonly [string, Around]>([
    ['forgets to call next', async () => undefined as never],
    [
      'throws before it calls next',
      () => {
        throw new Error('no exporter')
      },
    ],
    ['calls next twice', async (_op, next) => (await next(), next())],
    ['does not wait for next', (_op, next) => (void next(), Promise.resolve(undefined as never))],
    ['gives something else', async (_op, next) => (await next(), 'something else' as never)],
    [
      'throws afterwards',
      async (_op, next) => {
        await next()
        throw new Error('no exporter')
      },
    ],
  ])('leave the work undone, do it twice or change what comes out: one that %s', async ([, hook]) => {
    let executed = 0
    const count = tool({ name: 'count', input: z.object({}), execute: () => ++executed })
    const { events, result } = await watch(
      agentOf([around('odd', hook)], [{ toolCalls: [{ name: 'count' }] }, { text: 'done' }], { tools: [count] }).stream(
        'go',
      ),
    )
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(executed).toBe(1)
    expect(transcript(result.messages)).toEqual(['user: go', 'assistant: [count]', 'tool: [1]', 'assistant: done'])
    expect(typesOf(events).filter((type) => type === 'agent.end')).toHaveLength(1)
  })

  it('fail unnoticed: it is named', async () => {
    const broken = around('broken', async (op, next) => {
      if (op.kind === 'tool') throw new Error('no exporter')
      const value = await next()
      if (op.kind === 'model') throw new Error('no clock')
      return value
    })
    const { events, result } = await watch(agentOf([broken]).stream('go'))
    expect(result.status).toBe('completed')
    expect(reported(events)).toEqual(['hook broken: no clock', 'hook broken: no exporter', 'hook broken: no clock'])
  })
})

describe('what fails inside', () => {
  it('passes through the hook, and is not taken for its fault', async () => {
    const seen: unknown[] = []
    const trace = around('trace', async (op, next) => {
      try {
        return await next()
      } catch (thrown) {
        seen.push(`${op.kind}: ${thrown instanceof Error ? thrown.message : ''}`)
        throw thrown
      }
    })
    const stop = extension('stop', { 'tool.result': (_result, ctx) => ctx.stop('enough', 'Enough of this.') })
    const { events, result } = await watch(agentOf([trace, stop]).stream('go'))
    expect(failure(result)).toMatchObject({ code: 'enough' })
    expect(seen).toEqual(['step: Enough of this.', 'run: Enough of this.'])
    expect(reported(events)).toEqual(['hook stop: Enough of this.'])
  })

  it('cannot be swallowed', async () => {
    const swallow = around('swallow', (_op, next) => next().catch(() => undefined as never))
    const stop = extension('stop', { 'model.request': (_request, ctx) => ctx.stop('enough', 'Enough.') })
    expect(failure(await agentOf([swallow, stop]).run('go')).code).toBe('enough')
  })

  it('is seen by the tool hook as an outcome: a tool that throws has none the less ended', async () => {
    const outcomes: unknown[] = []
    const trace = around('trace', async (op, next) => {
      const value: unknown = await next()
      if (op.kind === 'tool') outcomes.push(value)
      return value as never
    })
    const fails = tool({ name: 'fails', input: z.object({}), execute: () => Promise.reject(new Error('no disk')) })
    await agentOf([trace], [{ toolCalls: [{ name: 'fails' }] }, { text: 'done' }], { tools: [fails] }).run('go')
    expect(outcomes).toMatchObject([{ outcome: 'error', error: { message: 'no disk' } }])
  })

  it('aborts reach the hook as well', async () => {
    const seen: string[] = []
    const trace = around('trace', (op, next) => next().finally(() => void seen.push(nameOf(op))))
    const stream = agentOf([trace], [{ text: 'x', stall: true }]).stream('go')
    for await (const event of stream) if (event.type === 'text.delta') void stream.abort({ graceMs: 0 })
    expect((await stream.result).status).toBe('aborted')
    expect(seen).toEqual(['model 1', 'step 1', 'run'])
  })
})
