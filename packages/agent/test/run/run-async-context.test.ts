import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as tick } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { AgentStream } from '@provost/agent'
import type { AgentEvent, Extension, HookName } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const als = new AsyncLocalStorage<string>()

/** An agent all of whose parts note in which async context they run. */
function observed(extensions: readonly Extension[] = []) {
  const seen = new Map<string, Set<string>>()
  const note = (who: string): void => {
    const stores = seen.get(who) ?? new Set()
    seen.set(who, stores.add(als.getStore() ?? 'none'))
  }
  const noting = (who: HookName) => (): void => note(who)
  const watcher = defineExtension({
    name: 'watcher',
    hooks: {
      'session.start': noting('session.start'),
      input: noting('input'),
      context: noting('context'),
      'model.request': noting('model.request'),
      'model.error': () => {
        note('model.error')
        return { retryAfterMs: 1 }
      },
      'model.response': noting('model.response'),
      'tool.call': noting('tool.call'),
      'tool.result': noting('tool.result'),
      'run.end': noting('run.end'),
      event: (event: AgentEvent) => note(`event ${event.type}`),
      around(_, next) {
        note('around')
        return next()
      },
    },
  })
  const look = tool({
    name: 'look',
    input: z.object({}),
    effect: 'read',
    async execute() {
      note('tool')
      await tick()
      note('tool, later')
      return 'seen'
    },
    returns: () => {
      note('returns')
      return {}
    },
    needsApproval: () => {
      note('needsApproval')
      return true
    },
  })
  const agent = createAgent({
    name: 'observed',
    instructions: () => {
      note('instructions')
      return 'Look.'
    },
    model: scriptedModel([
      () => {
        note('model')
        return { toolCalls: [{ name: 'look' }, { name: 'look' }] }
      },
      { error: new TypeError('terminated') },
      { text: ['Seen', '.'] },
      { text: 'And more.' },
    ]),
    tools: [look],
    extensions: [watcher, ...extensions],
    convertToModel: () => {
      note('convertToModel')
      return undefined
    },
  })
  const options = {
    onApproval: () => {
      note('onApproval')
      return 'approve' as const
    },
    getSteering: () => {
      note('getSteering')
      return []
    },
  }
  return { agent, seen, options }
}

async function drain(stream: AgentStream): Promise<void> {
  for await (const event of stream) expect(event.seq).toBeGreaterThan(0)
}

describe('tools, hooks and models run in the async context of who called stream()', () => {
  test.for<[string, (stream: AgentStream) => Promise<unknown>]>([
    ['iterated at once', drain],
    ['iterated in another context', (stream) => als.run('reader', () => drain(stream))],
    ['iterated when the run is over', (stream) => stream.result.then(() => als.run('late', () => drain(stream)))],
    ['iterated one event in each of many contexts', interleaved],
    ['never iterated', (stream) => als.run('waiter', () => stream.result)],
    [
      'left in the middle',
      (stream) =>
        als.run('leaver', async () => {
          for await (const event of stream) if (event.type === 'step.start') break
        }),
    ],
    ['steered and fed from other contexts', fed],
  ])('%s', async ([, consume]) => {
    const { agent, seen, options } = observed()
    const stream = als.run('caller', () => agent.stream('Go.', options))
    await consume(stream)
    const { status } = await stream.result
    expect(status).toBe('completed')
    const astray = [...seen].filter(([, stores]) => stores.size !== 1 || !stores.has('caller'))
    expect(astray).toEqual([])
    const parts = [
      'tool',
      'tool, later',
      'returns',
      'needsApproval',
      'onApproval',
      'getSteering',
      'instructions',
      'model',
    ]
    const hooks = ['session.start', 'input', 'context', 'model.request', 'model.error', 'model.response', 'tool.call']
    const rest = ['convertToModel', 'tool.result', 'run.end', 'around', 'event text.delta', 'event agent.end']
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...parts, ...hooks, ...rest]))
  })

  test('of who called run(), each its own', async () => {
    const { agent, seen } = observed()
    await als.run('caller', () => agent.run('Go.', { onApproval: () => 'approve' }))
    expect(seen.get('tool')).toEqual(new Set(['caller']))
    const twice = observed()
    const both = ['one', 'two'].map((who) =>
      als.run(who, () => twice.agent.run('Go.', { onApproval: () => 'approve' })),
    )
    await Promise.all(both)
    expect(twice.seen.get('event agent.end')).toEqual(new Set(['one', 'two']))
  })

  test('also what an abort from another context sets off', async () => {
    const seen = new Map<string, string | undefined>()
    const stalled = createAgent({
      name: 'stalled',
      model: scriptedModel([{ text: ['Half ', 'more'], stall: true, failAfterChunks: 1 }]),
      extensions: [
        defineExtension({
          name: 'watcher',
          hooks: {
            event: ({ type }) => void seen.set(type, als.getStore()),
            'run.end': () => void seen.set('run.end', als.getStore()),
          },
        }),
      ],
    })
    const stream = als.run('caller', () => stalled.stream('Go.'))
    for await (const event of stream) if (event.type === 'text.delta') als.run('aborter', () => void stream.abort())
    expect([...seen].filter(([, store]) => store !== 'caller')).toEqual([])
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['text.end', 'agent.end', 'run.end']))
  })
})

async function interleaved(stream: AgentStream): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]()
  for (let n = 0; ; n++) {
    const { done } = await als.run(`reader ${n}`, () => iterator.next())
    if (done) return
    await tick()
  }
}

async function fed(stream: AgentStream): Promise<void> {
  let done = false
  for await (const event of stream) {
    if (event.type !== 'tool.execute.start' || done) continue
    done = true
    als.run('feeder', () => stream.followUp('And?'))
  }
}

test('what an around hook runs `next` in is what is seen inside', async () => {
  const depth = new AsyncLocalStorage<readonly string[]>()
  const inside: Record<string, readonly string[] | undefined> = {}
  const nests = (name: string): Extension =>
    defineExtension({
      name,
      hooks: {
        around: (op, next) => depth.run([...(depth.getStore() ?? []), `${name} ${op.kind}`], next),
        'tool.call': () => void (inside[`${name} tool.call`] = depth.getStore()),
      },
    })
  const { agent, options } = observed([
    nests('outer'),
    nests('inner'),
    defineExtension({
      name: 'model',
      hooks: { 'model.response': () => void (inside['model.response'] = depth.getStore()) },
    }),
  ])
  const looking = createAgent({
    name: 'looking',
    model: scriptedModel([
      () => {
        inside['model'] = depth.getStore()
        return { toolCalls: [{ name: 'where' }] }
      },
      { text: 'There.' },
    ]),
    tools: [
      tool({
        name: 'where',
        input: z.object({}),
        async execute() {
          await tick()
          inside['tool'] = depth.getStore()
        },
      }),
    ],
    extensions: [nests('outer'), nests('inner')],
  })
  await looking.run('Go.')
  const step = ['outer run', 'inner run', 'outer step', 'inner step']
  expect(inside).toEqual({
    model: [...step, 'outer model', 'inner model'],
    tool: [...step, 'outer tool', 'inner tool'],
    'outer tool.call': step,
    'inner tool.call': step,
  })
  expect(depth.getStore()).toBeUndefined()
  expect((await agent.run('Go.', options)).status).toBe('completed')
  expect(inside['model.response']).toEqual(step)
})
