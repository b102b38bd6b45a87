import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

import { RunState } from '@provost/agent'
import type { Decisions, Json } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { rich, tool } from '@provost/tools'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { extension } from '../hooks/hook-scenario.ts'
import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'
import { payTool } from '../session/session-world.ts'
import { add, caller, script } from './composite-world.ts'

afterEach(() => void vi.useRealTimers())

test('a composite calls tools of its agent, by name or by itself, and gets their values', async () => {
  const { agent, store } = caller([
    add,
    script(async (ctx) => {
      const one = await ctx.call(add, { a: 1, b: 2 }, { key: 'one' })
      const two = await ctx.call('add', { a: one.value, b: 4 }, { key: 'two' })
      return { one: one.value, two: two.value, outcome: two.outcome }
    }),
  ])
  const seen = await collect(agent().stream('Go.'))
  expectSound(seen)
  await expectLogged(store, seen.result)
  expect(seen.result.text).toContain('{"one":3,"two":7,"outcome":"ok"}')
  const [outer, ...inner] = only(seen.events, 'tool.execute.start')
  expect(inner.map(({ toolName, parentCallId }) => [toolName, parentCallId])).toEqual([
    ['add', outer?.callId],
    ['add', outer?.callId],
  ])
  // The model is told of its own call alone.
  expect(seen.result.messages.flatMap(({ content }) => content.map(({ type }) => type))).toEqual([
    'text',
    'tool-call',
    'tool-result',
    'text',
  ])
})

test('a composite gets the whole result of a hook, as it gets that of a tool', async () => {
  const long = 'z'.repeat(200_000)
  const cache = defineExtension({
    name: 'cache',
    hooks: { 'tool.call': ({ tool: { name } }) => (name === 'add' ? { result: long, label: {} } : undefined) },
  })
  const lengths: number[] = []
  const anything = tool({ name: 'add', input: z.object({}), execute: () => long })
  const { agent } = caller(
    [
      anything,
      script(async (ctx) => {
        const { output } = await ctx.call(anything, {}, { key: 'one' })
        if (output.type === 'text') lengths.push(output.value.length)
      }),
    ],
    { extensions: [cache] },
  )
  await agent().run('Go.')
  expect(lengths).toEqual([200_000])
})

test('what is wrong with a call is its result, and the composite continues', async () => {
  const breaks = tool({
    name: 'breaks',
    input: z.object({}),
    execute: (): string => {
      throw new Error('no')
    },
  })
  const { agent } = caller([
    add,
    breaks,
    script(async (ctx) => {
      const results = await Promise.all([
        ctx.call('missing', {}, { key: '1' }),
        ctx.call('add', { a: 'x' }, { key: '2' }),
        ctx.call('breaks', {}, { key: '3' }),
      ])
      return results.map(({ outcome, output }) => `${outcome} ${JSON.stringify(output)}`)
    }),
  ])
  const seen = await collect(agent().stream('Go.'))
  expectSound(seen)
  expect(seen.result.text).toMatch(/There is no tool named missing.*a: Invalid input.*no/)
})

test('hooks judge, rewrite, deny and see what a composite calls', async () => {
  const judged: unknown[] = []
  const guard = extension('guard', {
    'tool.call'(call) {
      if (call.tool.name !== 'add') return undefined
      judged.push([call.input, call.parentCallId !== undefined])
      const { a }: { a?: unknown } = call.input instanceof Object && 'a' in call.input ? call.input : {}
      return a === 13 ? { deny: 'unlucky' } : a === 1 ? { args: { a: 10, b: 10 } } : undefined
    },
    'tool.result': (result) =>
      result.output.type === 'json' && result.value === 5
        ? { ...result, output: { type: 'json', value: 6 } }
        : undefined,
  })
  const { agent } = caller(
    [
      add,
      script(async (ctx) => {
        const results = await Promise.all([1, 13, 2].map((a) => ctx.call('add', { a, b: 3 }, { key: `${a}` })))
        return results.map(({ outcome, value }) => [outcome, value ?? null])
      }),
    ],
    { extensions: [guard] },
  )
  const { text } = await agent().run('Go.')
  expect(text).toContain(
    JSON.stringify([
      ['ok', 20],
      ['denied', null],
      ['ok', 6],
    ]),
  )
  expect(judged).toContainEqual([{ a: 1, b: 3 }, true])
})

test('an approval in the middle of a composite suspends the run, and it continues in another process', async () => {
  const pay = payTool()
  let entered = 0
  const { agent, store } = caller([
    pay.tool,
    add,
    script(async (ctx) => {
      entered++
      const sum = await ctx.call('add', { a: 1, b: 2 }, { key: 'sum' })
      const paid = await ctx.call('pay', { sum: sum.value }, { key: 'pay' })
      const more = await ctx.call('add', { a: 5, b: 5 }, { key: 'more' })
      return [sum.value, paid.value, more.value]
    }),
  ])
  const first = await collect(agent().stream('Go.'))
  expectSound(first)
  expect(first.result.status).toBe('suspended')
  const [approval] = first.result.pending.approvals
  expect(approval).toMatchObject({ toolName: 'pay', input: { sum: 3 } })
  expect(only(first.events, 'tool.approval.requested')).toMatchObject([{ id: approval?.id }])

  const other = agent()
  const state = RunState.fromJSON(JSON.stringify(first.result.state), other)
  const second = await collect(other.stream(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] }))
  expectSound(second)
  await expectLogged(store, second.result)
  expect(second.result.text).toContain('[3,"paid 1",10]')
  expect(pay.done).toEqual([3])
  expect(entered).toBe(2)
  expect(only(second.events, 'tool.execute.start').map(({ toolName }) => toolName)).toEqual(['pay', 'add'])
})

test('in one process a composite that waits is not entered again', async () => {
  const pay = payTool()
  let entered = 0
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      entered++
      const paid = await ctx.call('pay', { sum: 3 }, { key: 'pay' })
      return paid.value
    }),
  ])
  const seen = await collect(agent().stream('Go.', { onApproval: () => 'approve' }))
  expectSound(seen)
  expect(seen.result).toMatchObject({ status: 'completed' })
  expect(entered).toBe(1)
  expect(pay.done).toEqual([3])
})

test('two approvals at once are two waits, and either wakes the composite', async () => {
  const pay = payTool()
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      const first = await Promise.race([1, 2].map((sum) => ctx.call('pay', { sum }, { key: `${sum}` })))
      const both = await Promise.all([1, 2].map((sum) => ctx.call('pay', { sum }, { key: `${sum}` })))
      return [first.value, both.map(({ outcome }) => outcome)]
    }),
  ])
  const one = await agent().run('Go.')
  expect(one.pending.approvals).toHaveLength(2)
  const second = one.pending.approvals.find(({ input }) => JSON.stringify(input) === '{"sum":2}')
  const two = await agent().run(one.state, { approvals: [{ id: second?.id ?? '', decision: 'approve' }] })
  expect(two.status).toBe('suspended')
  expect(pay.done).toEqual([2])
  const left = two.pending.approvals
  expect(left).toHaveLength(1)
  const three = await agent().run(two.state, { approvals: [{ id: left[0]?.id ?? '', decision: 'deny' }] })
  expect(three.text).toContain('["paid 1",["denied","ok"]]')
})

test('the run suspends only when nothing moves, and what waits is reported at once', async () => {
  const pay = payTool()
  const opened = Promise.withResolvers<string>()
  const slow = tool({ name: 'slow', input: z.object({}), execute: () => opened.promise })
  const { agent } = caller([
    pay.tool,
    slow,
    script(async (ctx) => {
      const [paid, slowly] = await Promise.all([
        ctx
          .call('pay', { sum: 1 }, { key: 'pay' })
          .then(async ({ value }) => [value, await ctx.memo('then', () => 'then')]),
        ctx.call('slow', {}, { key: 'slow' }),
      ])
      return [paid, slowly.value]
    }),
  ])
  const stream = agent().stream('Go.')
  for await (const event of stream) {
    if (event.type === 'tool.approval.requested')
      void stream.resolve({ approvals: [{ id: event.id, decision: 'approve' }] })
    // It was approved and has run while the other one still does.
    if (event.type === 'tool.execute.end' && event.toolName === 'pay') opened.resolve('at last')
  }
  expect((await stream.result).text).toContain('[["paid 1","then"],"at last"]')
})

test('remote calls of a composite are given their results by their ids', async () => {
  const courier = tool({ name: 'courier', input: z.object({ n: z.number() }) })
  const { agent } = caller([
    courier,
    script(async (ctx) => {
      const came = await Promise.all([1, 2].map((n) => ctx.call('courier', { n }, { key: `${n}` })))
      return came.map(({ value }) => value ?? null)
    }),
  ])
  const first = await agent().run('Go.')
  const toolResults = first.pending.remoteCalls.map(({ callId, input }) => ({ callId, output: { brought: input } }))
  expect(toolResults).toHaveLength(2)
  const second = await agent().run(first.state, { toolResults })
  expect(second.text).toContain('[{"brought":{"n":1}},{"brought":{"n":2}}]')
})

test('a remote call that fails has an error result in the composite', async () => {
  const courier = tool({ name: 'courier', input: z.object({}) })
  const { agent } = caller([
    courier,
    script(async (ctx) => {
      const { outcome, error } = await ctx.call('courier', {}, { key: 'van' })
      return { outcome, code: error?.code ?? null, message: error?.message ?? null }
    }),
  ])
  const { state, pending } = await agent().run('Go.')
  const error = { message: 'no van', code: 'no-van' }
  const second = await agent().run(state, { toolResults: [{ callId: pending.remoteCalls[0]?.callId ?? '', error }] })
  expect(second.text).toContain('{"outcome":"error","code":"no-van","message":"no van"}')
})

test('ctx.wait receives the delivery for its token, even one that arrived earlier', async () => {
  const { ephemeral: _, ...lasting } = memoryStore()
  const { agent, store } = caller(
    [
      script(async (ctx) => {
        const colour = await ctx.wait('colour', { message: 'Which colour?', schema: { type: 'string' } })
        return { colour }
      }),
    ],
    { store: lasting },
  )
  const first = await collect(agent().stream('Go.'))
  expectSound(first)
  const [input] = first.result.pending.inputs
  expect(input).toMatchObject({ toolName: 'script', message: 'Which colour?', schema: { type: 'string' } })
  expect(input?.id).toBe(`${input?.callId}/wait/colour`)
  await expect(store.deliver(first.result.sessionId, input?.id ?? '', 'red', 'ann')).resolves.toBe('accepted')
  const second = await collect(agent().stream(first.result.state))
  expectSound(second)
  expect(second.result.text).toContain('{"colour":"red"}')
  const asked = await agent().run('Again.', { onInput: ({ message }) => `${message} Blue.` })
  expect(asked.text).toContain('Which colour? Blue.')
})

test('a wait that times out throws, and the composite continues', async () => {
  const { agent } = caller([
    script(async (ctx) => {
      try {
        return await ctx.wait('late', { withinMs: 1 })
      } catch (error) {
        return error instanceof Error && 'code' in error ? `gave up: ${String(error.code)}` : 'no'
      }
    }),
  ])
  const first = await agent().run('Go.')
  await sleep(5)
  const { text } = first.status === 'suspended' ? await agent().run(first.state) : first
  expect(text).toContain('gave up: wait-expired')
})

test('a memo is made once, however often the composite is entered', async () => {
  const pay = payTool()
  let made = 0
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      const id = await ctx.memo('id', () => ({ n: ++made }))
      const paid = await ctx.call('pay', { sum: id.n }, { key: 'pay' })
      return [id, await ctx.memo('id', () => 'never'), paid.value]
    }),
  ])
  const first = await agent().run('Go.')
  const [approval] = first.pending.approvals
  const second = await agent().run(first.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
  expect(second.text).toContain('[{"n":1},{"n":1},"paid 1"]')
  expect(made).toBe(1)
})

test('a key with other arguments than before does not run: the replay has diverged', async () => {
  const pay = payTool()
  let sum = 0
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      const paid = await ctx.call('pay', { sum: ++sum }, { key: 'pay' })
      return paid.value
    }),
  ])
  const first = await agent().run('Go.')
  const approvals: Decisions['approvals'] = first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' }))
  const second = await agent().run(first.state, { approvals: approvals ?? [] })
  expect(second).toMatchObject({ status: 'completed' })
  expect(second.text).toContain('used the key pay before, with another tool or input')
  expect(pay.done).toEqual([])
})

test('composites call composites, and what waits inside the inner one parks both', async () => {
  const pay = payTool()
  const inner = script(
    async (ctx) => {
      const sum = await ctx.call('add', { a: 1, b: 1 }, { key: 'sum' })
      const paid = await ctx.call('pay', { sum: sum.value }, { key: 'pay' })
      return `inner ${JSON.stringify(paid.value)}`
    },
    { name: 'inner' },
  )
  const { agent, store } = caller([
    add,
    pay.tool,
    inner,
    script(async (ctx) => {
      const done = await Promise.all(['x', 'y'].map((key) => ctx.call('inner', {}, { key })))
      return done.map(({ value }) => value ?? null)
    }),
  ])
  let seen = await collect(agent().stream('Go.'))
  for (let round = 0; seen.result.status === 'suspended' && round < 5; round++) {
    expectSound(seen)
    const [approval] = seen.result.pending.approvals
    seen = await collect(
      agent().stream(seen.result.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] }),
    )
  }
  expectSound(seen)
  await expectLogged(store, seen.result)
  expect(seen.result.text).toMatch(/inner ..paid \d.*inner ..paid \d/)
  expect(pay.done).toEqual([2, 2])
})

test('a composite that calls itself comes to an end', async () => {
  const { agent } = caller([
    script(async (ctx) => {
      const { value, output } = await ctx.call('script', {}, { key: 'again' })
      return value ?? JSON.stringify(output)
    }),
  ])
  const { text } = await agent().run('Go.')
  expect(text).toContain('16 levels deep')
})

test('calls that a composite does not wait for end with it', async () => {
  const pay = payTool()
  let aborted = false
  const slow = tool({
    name: 'slow',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true
          resolve('stopped')
        })
      }),
  })
  const { agent, store } = caller([
    pay.tool,
    slow,
    add,
    script(async (ctx) => {
      void ctx.call('slow', {}, { key: 'slow' }).catch(() => {})
      void ctx.call('pay', { sum: 1 }, { key: 'pay' }).catch(() => {})
      const sum = await ctx.call('add', { a: 1, b: 1 }, { key: 'sum' })
      return sum.value
    }),
  ])
  const seen = await collect(agent().stream('Go.'))
  expectSound(seen)
  expect(seen.result).toMatchObject({ status: 'completed' })
  expect(seen.result.pending.approvals).toEqual([])
  expect(aborted).toBe(true)
  const settled = (await readLog(store, seen.result.sessionId)).flatMap((entry) =>
    entry.type === 'call' && entry.op === 'settled' ? [[entry.callId.split('/').at(-1), entry.outcome]] : [],
  )
  expect(settled).toEqual([
    ['sum', 'ok'],
    ['slow', expect.stringMatching(/ok|aborted/)],
    ['pay', 'denied'],
    ['0', 'ok'],
  ])
})

test('the time limit of a composite counts the time it runs, and not the time it is parked', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const pay = payTool()
  /** Lets time pass while the composite runs. Its timer is set in the turn in which it returns its promise or resumes. */
  const pass = async (ms: number): Promise<void> => {
    await setImmediate()
    await vi.advanceTimersByTimeAsync(ms)
  }
  const run = async (afterMs: number) => {
    const { agent } = caller([
      pay.tool,
      script(
        async (ctx) => {
          await pass(30)
          const paid = await ctx.call('pay', { sum: 1 }, { key: 'pay' })
          await pass(afterMs)
          return paid.value
        },
        { timeoutMs: 40 },
      ),
    ])
    const { text } = await agent().run('Go.', {
      async onApproval() {
        // The composite is parked by now, which clears its timer.
        await vi.advanceTimersByTimeAsync(1_000)
        return 'approve' as const
      },
    })
    return text
  }
  expect(await run(9)).toContain('paid 1')
  expect(await run(10)).toContain('did not end within 40 ms')
  vi.useRealTimers()
  const hangs = caller([script(() => new Promise(() => {}), { timeoutMs: 20 })])
  expect((await hangs.agent().run('Go.')).text).toContain('did not end within 20 ms')
})

test('a parked call frees its slot: others run meanwhile, and never more than there are slots', async () => {
  let running = 0
  let most = 0
  const work = tool({
    name: 'work',
    input: z.object({}),
    effect: 'read',
    execute: async () => {
      most = Math.max(most, ++running)
      await sleep(1)
      running--
      return 'done'
    },
  })
  const { agent } = caller(
    [
      work,
      script(async (ctx) => {
        const done = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => ctx.call('work', {}, { key: `${n}` })))
        return done.length
      }),
    ],
    { maxParallelTools: 2 },
  )
  const { text } = await agent().run('Go.')
  expect(text).toContain('6')
  expect(most).toBe(2)
})

test('a result carries the labels of all that went into it, and calls those of what came before', async () => {
  const secret = tool({
    name: 'secret',
    input: z.object({}),
    effect: 'read',
    returns: { confidentiality: 'secret', integrity: 'untrusted' },
    execute: () => 'the password',
  })
  const seenLabels: unknown[] = []
  const watch = defineExtension({
    name: 'watch',
    hooks: { 'tool.call': (call) => void seenLabels.push([call.tool.name, call.label.confidentiality]) },
  })
  const clean = tool({
    name: 'script',
    composite: true,
    input: z.object({}),
    returns: { confidentiality: 'public', integrity: 'trusted' },
    trustedFields: ['/n'],
    async execute(_, ctx) {
      await ctx.call('add', { a: 1, b: 1 }, { key: 'before' })
      await ctx.call('secret', {}, { key: 'secret' })
      await ctx.call('add', { a: 1, b: 1 }, { key: 'after' })
      return rich({ n: 1 }, { label: { integrity: 'trusted' } })
    },
  })
  const { agent } = caller([add, secret, clean], { extensions: [watch] })
  const { messages } = await agent().run('Go.')
  const [part] = messages.find(({ role }) => role === 'tool')?.content ?? []
  expect(part?.label).toMatchObject({ integrity: 'untrusted', confidentiality: 'secret' })
  const fields = part?.type === 'tool-result' ? Object.values(part.fields ?? {}) : []
  for (const label of fields) expect(label).toMatchObject({ integrity: 'untrusted', confidentiality: 'secret' })
  expect(seenLabels).toEqual([
    ['script', 'internal'],
    ['add', 'internal'],
    ['secret', 'internal'],
    ['add', 'secret'],
  ])
})

test('an abort ends a composite and all that it has called, and the history is whole', async () => {
  const pay = payTool()
  const begun = Promise.withResolvers<void>()
  const slow = tool({
    name: 'slow',
    input: z.object({}),
    execute: () => {
      begun.resolve()
      return new Promise<string>(() => {})
    },
  })
  const { agent, store } = caller([
    pay.tool,
    slow,
    script(async (ctx) => {
      await Promise.all([ctx.call('pay', { sum: 1 }, { key: 'pay' }), ctx.call('slow', {}, { key: 'slow' })])
      return 'never'
    }),
  ])
  const stream = agent().stream('Go.')
  const seeing = collect(stream)
  await begun.promise
  await stream.abort({ graceMs: 1 })
  const seen = await seeing
  expectSound(seen)
  await expectLogged(store, seen.result)
  expect(seen.result.status).toBe('aborted')
  expect(pay.done).toEqual([])
})

test('a composite that is held when its run is aborted continues later', async () => {
  const pay = payTool()
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      const paid = await ctx.call('pay', { sum: 1 }, { key: 'pay' })
      return paid.value
    }),
  ])
  const asked = Promise.withResolvers<void>()
  const stream = agent().stream('Go.', {
    onApproval: () => {
      asked.resolve()
      return new Promise(() => {})
    },
  })
  await asked.promise
  await stream.abort({ onPendingApprovals: 'hold' })
  const held = await stream.result
  expect(held.status).toBe('suspended')
  const [approval] = held.pending.approvals
  const { text } = await agent().run(held.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
  expect(text).toContain('paid 1')
})

test('a hook that stops the run inside a composite stops it', async () => {
  const stopper = extension('stopper', {
    'tool.result': (result, ctx) => (result.tool.name === 'add' ? ctx.stop('enough', 'That is enough.') : undefined),
  })
  const { agent, store } = caller(
    [
      add,
      script(async (ctx) => {
        await ctx.call('add', { a: 1, b: 1 }, { key: 'sum' }).catch(() => {})
        return 'swallowed'
      }),
    ],
    { extensions: [stopper] },
  )
  const seen = await collect(agent().stream('Go.'))
  expectSound(seen)
  await expectLogged(store, seen.result)
  expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'enough' } })
})

test('answers come after a crash in the order they came in before', async () => {
  const pay = payTool()
  const later = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const slow = tool({
    name: 'slow',
    input: z.object({ n: z.number() }),
    effect: 'read',
    execute: ({ n }) => later[n]?.promise ?? 'none',
  })
  const orders: Json[] = []
  const { agent } = caller([
    slow,
    pay.tool,
    script(async (ctx) => {
      const order: number[] = []
      await Promise.all(
        [0, 1, 2].map(async (n) => {
          await ctx.call('slow', { n }, { key: `${n}` })
          order.push(n)
          // What follows an answer is done before the next one comes.
          for (let i = 0; i < 20; i++) await Promise.resolve()
          order.push(n)
        }),
      )
      orders.push(order)
      const paid = await ctx.call('pay', { sum: 1 }, { key: 'pay' })
      return paid.value
    }),
  ])
  const stream = agent().stream('Go.')
  for (const n of [2, 0, 1]) {
    await sleep(1)
    later[n]?.resolve(`${n}`)
  }
  const first = await stream.result
  await agent().run(first.state, { approvals: first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
  expect(orders).toEqual([
    [2, 2, 0, 0, 1, 1],
    [2, 2, 0, 0, 1, 1],
  ])
})

test('a composite that is at work elsewhere is not parked', async () => {
  const pay = payTool()
  const { agent } = caller([
    pay.tool,
    script(async (ctx) => {
      const one = ctx.call('pay', { sum: 1 }, { key: '1' })
      await ctx.busy(sleep(5))
      const both = await Promise.all([one, ctx.call('pay', { sum: 2 }, { key: '2' })])
      return both.map(({ value }) => value ?? null)
    }),
  ])
  const { pending } = await agent().run('Go.')
  expect(pending.approvals).toHaveLength(2)
})

test('a tool outside its agent is not called, and what is left behind calls nothing', async () => {
  let late: Promise<unknown> | undefined
  const { agent } = caller([
    add,
    script((ctx) => {
      late = sleep(5).then(() => ctx.call('add', { a: 1, b: 1 }, { key: 'late' }))
      late.catch(() => {})
      return 'gone'
    }),
  ])
  expect((await agent().run('Go.')).text).toContain('gone')
  await expect(late).rejects.toMatchObject({ code: 'tool-abandoned' })
})
