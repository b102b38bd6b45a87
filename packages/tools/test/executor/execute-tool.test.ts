import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import type { Tool, ToolContext } from '@provost/core'
import { rich, tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { call, seen } from './call.ts'
import type { Said } from './call.ts'

const input = z.object({})
const said = (): Said => ({ progress: [], partials: [] })

// An unhandled rejection would be reported here.
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  const [first] = unhandled.splice(0)
  if (first !== undefined) throw new Error('A rejection was not handled.', { cause: first })
})

describe('the outcome of execute:', () => {
  test.for([
    ['text', 'done', { type: 'text', value: 'done' }],
    ['an object', { a: 1, skip: undefined }, { type: 'json', value: { a: 1 } }],
    ['nothing', undefined, { type: 'json', value: null }],
    ['a date', new Date(0), { type: 'json', value: '1970-01-01T00:00:00.000Z' }],
    ['a promise', Promise.resolve([1]), { type: 'json', value: [1] }],
  ] as const)('%s becomes the output', async ([, value, output]) => {
    const outcome = await call(tool({ name: 't', input, execute: () => value }))
    expect(outcome).toMatchObject({ outcome: 'ok', output: value instanceof Date ? { value: output.value } : output })
    expect(outcome.error).toBeUndefined()
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  test.for([
    ['a cycle', cycle, /circular/i],
    ['a BigInt', { n: 1n }, /BigInt/],
    ['a function', () => 1, /function/],
    ['a symbol', Symbol('s'), /symbol/],
    ['a Map', new Map([[1, 2]]), /Map/],
    ['bytes', new Uint8Array(3), /Uint8Array/],
  ] as const)('%s is an error with the reason', async ([, value, what]) => {
    const outcome = await call(tool({ name: 'odd', input, execute: () => value }))
    expect(outcome).toMatchObject({ outcome: 'error', error: { code: 'not-json' } })
    expect(outcome.error?.message).toMatch(/^odd returned /)
    expect(outcome.error?.message).toMatch(what)
    expect(seen(outcome)).toContain(outcome.error?.hint)
  })

  test.for<readonly [string, () => unknown]>([
    [
      'throws',
      (): number => {
        throw new Error('no such row')
      },
    ],
    [
      'rejects',
      async (): Promise<number> => {
        throw new Error('no such row')
      },
    ],
    [
      'throws half-way',
      async function* (): AsyncGenerator<string, number, unknown> {
        yield 'half'
        throw new Error('no such row')
      },
    ],
  ])('an error reaches the model if execute %s', async ([, execute]) => {
    const outcome = await call(tool({ name: 't', input, execute }))
    expect(outcome).toMatchObject({
      outcome: 'error',
      output: { type: 'error-text', value: 'no such row' },
      error: { code: 'tool-failed', message: 'no such row' },
    })
    expect(outcome.value).toBeUndefined()
  })

  test('a ProvostError keeps its code, and its hint reaches the model', async () => {
    const execute = (): never => {
      throw new ProvostError('row-locked', 'The row is locked.', { hint: 'Try again.', retryable: true })
    }
    expect(await call(tool({ name: 't', input, execute }))).toMatchObject({
      output: { value: 'The row is locked.\nTry again.' },
      error: { code: 'row-locked', retryable: true },
    })
  })

  test('a very long error text is cut', async () => {
    const outcome = await call(tool({ name: 't', input, execute: () => Promise.reject(new Error('x'.repeat(1e6))) }))
    expect(seen(outcome).length).toBeLessThan(5_000)
  })

  test('a tool without execute does not run', async () => {
    expect(await call(tool({ name: 'far', input }))).toMatchObject({ outcome: 'error', error: { code: 'tool-remote' } })
  })
})

describe('an async iterable', () => {
  test('of strings results in the joined text, and streams each string', async () => {
    const heard = said()
    const stream = tool({
      name: 't',
      input,
      async *execute() {
        yield 'a'
        yield 'b'
      },
    })
    expect(await call(stream, {}, { said: heard })).toMatchObject({
      outcome: 'ok',
      output: { type: 'text', value: 'ab' },
    })
    expect(heard.partials).toEqual([{ delta: 'a' }, { delta: 'b' }])
  })

  test('of values results in the last one', async () => {
    const heard = said()
    const stream = tool({
      name: 't',
      input,
      async *execute() {
        yield { done: 0.5 }
        yield { done: 1 }
      },
    })
    expect(await call(stream, {}, { said: heard })).toMatchObject({ value: { done: 1 } })
    expect(heard.partials).toEqual([{ value: { done: 0.5 } }, { value: { done: 1 } }])
  })

  test('of strings and values results in the last one', async () => {
    const stream = tool({
      name: 't',
      input,
      async *execute() {
        yield { n: 1 }
        yield 'end'
      },
    })
    expect(await call(stream)).toMatchObject({ value: 'end' })
  })

  test('with a return value results in that value, null included', async () => {
    const some = tool({
      name: 't',
      input,
      async *execute() {
        yield 'thinking'
        return { hits: 3 }
      },
    })
    expect(await call(some)).toMatchObject({ value: { hits: 3 } })
    const none = tool({
      name: 't',
      input,
      async *execute() {
        yield 'thinking'
        return null
      },
    })
    expect(await call(none)).toMatchObject({ value: null })
  })

  test('may be a stream or a promise', async () => {
    const body = (): ReadableStream<string> => new Blob(['grüße']).stream().pipeThrough(new TextDecoderStream())
    expect(await call(tool({ name: 't', input, execute: body }))).toMatchObject({ value: 'grüße' })
    expect(await call(tool({ name: 't', input, execute: async () => body() }))).toMatchObject({ value: 'grüße' })
  })

  test('that yields endless text fails and is closed', async () => {
    const closed = vi.fn<() => void>()
    const endless = tool({
      name: 'endless',
      input,
      async *execute() {
        try {
          for (;;) yield 'x'.repeat(8 * 1024 * 1024)
        } finally {
          closed()
        }
      },
    })
    const outcome = await call(endless)
    expect(outcome).toMatchObject({ outcome: 'error', error: { code: 'tool-output-too-long' } })
    expect(seen(outcome)).toContain('Request less')
    expect(closed).toHaveBeenCalledOnce()
  })

  test('that yields invalid data fails and is closed', async () => {
    let closed = false
    const stream = tool({
      name: 't',
      input,
      async *execute() {
        try {
          yield 1n
        } finally {
          closed = true
        }
      },
    })
    expect(await call(stream)).toMatchObject({ outcome: 'error', error: { code: 'not-json' } })
    expect(closed).toBe(true)
  })
})

test('ctx.progress sends data to listeners', async () => {
  const heard = said()
  const steps = tool({ name: 't', input, execute: (_, ctx) => ctx.progress({ done: 0.5, skip: undefined }) })
  await call(steps, {}, { said: heard })
  expect(heard.progress).toEqual([{ done: 0.5 }])
})

test('execute receives the parsed input and the context of the run', async () => {
  const got: unknown[] = []
  const of = tool({
    name: 't',
    input: z.object({ n: z.string().transform(Number) }),
    execute: ({ n }, ctx: ToolContext<{ user: string }>) =>
      void got.push(n, ctx.context.user, ctx.callId, ctx.idempotencyKey),
  })
  await call(of, { n: '3' }, { context: { user: 'ann' }, callId: 'c', idempotencyKey: 'k' })
  expect(got).toEqual([3, 'ann', 'c', 'k'])
})

test('execute runs in the async context of its call', async () => {
  const store = new AsyncLocalStorage<string>()
  const of = tool({
    name: 't',
    input,
    execute: async () => {
      await sleep(1)
      return store.getStore()
    },
  })
  const both = await Promise.all(['a', 'b'].map((name) => store.run(name, () => call(of))))
  expect(both.map(({ value }) => value)).toEqual(['a', 'b'])
})

describe('a timeout', () => {
  const never = new Promise<never>(() => undefined)

  test('ends the call of a tool that ignores its signal, and the model gets the reason', async () => {
    const deaf = tool({ name: 'deaf', input, timeoutMs: 5, execute: () => never })
    const outcome = await call(deaf)
    expect(outcome).toMatchObject({ outcome: 'timeout', error: { code: 'tool-timeout' } })
    expect(seen(outcome)).toBe(
      'deaf did not end within 5 ms and was abandoned.\nIt may have taken effect: check before you repeat it.',
    )
  })

  test('leaves no uncertain effect for a read-only tool', async () => {
    const outcome = await call(tool({ name: 'deaf', input, effect: 'read', timeoutMs: 5, execute: () => never }))
    expect(seen(outcome)).toContain('Try a smaller request.')
  })

  test('aborts the signal with the reason', async () => {
    let reason: unknown
    const polite = tool({
      name: 't',
      input,
      timeoutMs: 5,
      execute: (_, ctx) =>
        new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve((reason = ctx.signal.reason)))),
    })
    expect(await call(polite)).toMatchObject({ outcome: 'timeout' })
    expect(reason).toMatchObject({ code: 'tool-timeout' })
  })

  test('ignores later output and errors of the tool', async () => {
    const heard = said()
    let late: Promise<unknown> = never
    const slow = tool({
      name: 't',
      input,
      timeoutMs: 5,
      execute: (_, ctx) =>
        (late = sleep(20).then(() => {
          ctx.progress('late')
          throw new Error('late')
        })),
    })
    expect(await call(slow, {}, { said: heard })).toMatchObject({ outcome: 'timeout' })
    await expect(late).rejects.toThrow('late')
    expect(heard.progress).toEqual([])
  })

  test('lets a late generator clean up, and ignores its output', async () => {
    const heard = said()
    let cleaned: () => void
    const cleaning = new Promise<void>((resolve) => (cleaned = resolve))
    const slow = tool({
      name: 't',
      input,
      timeoutMs: 5,
      async *execute() {
        try {
          yield 'early'
          await sleep(20)
          yield 'late'
          throw new Error('unreachable')
        } finally {
          cleaned()
        }
      },
    })
    expect(await call(slow, {}, { said: heard })).toMatchObject({ outcome: 'timeout' })
    await cleaning
    expect(heard.partials).toEqual([{ delta: 'early' }])
  })

  test('covers a validation that never ends', async () => {
    const output = z.string().refine(() => never)
    expect(await call(tool({ name: 't', input, output, timeoutMs: 5, execute: () => 'x' }))).toMatchObject({
      outcome: 'timeout',
    })
  })

  test('is not started for a synchronous tool', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await call(tool({ name: 't', input, execute: () => 1 }))
    expect(timers).not.toHaveBeenCalled()
    await call(tool({ name: 't', input, execute: async () => 1 }))
    expect(timers).toHaveBeenCalledTimes(1)
    timers.mockRestore()
  })
})

describe('an abort', () => {
  const waiting = (execute: (ctx: ToolContext) => Promise<unknown>, effect: 'read' | 'write' = 'read'): Tool =>
    tool({ name: 'wait', input, effect, execute: (_, ctx) => execute(ctx) })
  const aborting = (): AbortController => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 2)
    return controller
  }

  test('before the start prevents the call', async () => {
    const execute = vi.fn<() => Promise<number>>(async () => 1)
    const outcome = await call(waiting(execute, 'write'), {}, { signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ outcome: 'aborted', error: { code: 'tool-aborted' }, durationMs: 0 })
    expect(seen(outcome)).toBe('wait was aborted before it started.')
    expect(execute).not.toHaveBeenCalled()
  })

  test('abandons an unresponsive tool after the grace period', async () => {
    const outcome = await call(
      waiting(() => new Promise(() => undefined), 'write'),
      {},
      { signal: aborting().signal, graceMs: 2 },
    )
    expect(outcome).toMatchObject({ outcome: 'aborted', output: { type: 'error-text' } })
    expect(seen(outcome)).toBe(
      'wait was aborted before it ended.\nIt may have taken effect: check before you repeat it.',
    )
  })

  test('keeps the result of a tool that ends within the grace period', async () => {
    const ends = waiting(
      (ctx) => new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('saved'))),
    )
    expect(await call(ends, {}, { signal: aborting().signal, graceMs: 10_000 })).toMatchObject({
      outcome: 'ok',
      value: 'saved',
    })
  })

  test('is the outcome of a tool that throws because of it', async () => {
    const throws = waiting((ctx) => sleep(60_000, undefined, { signal: ctx.signal }))
    expect(await call(throws, {}, { signal: aborting().signal, graceMs: 10_000 })).toMatchObject({
      outcome: 'aborted',
      error: { code: 'tool-aborted' },
    })
  })

  test('reaches a tool with the reason of the run', async () => {
    let reason: unknown
    const hears = waiting(async (ctx) => {
      await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => undefined)
      reason = ctx.signal.reason
    })
    await call(hears, {}, { signal: aborting().signal })
    expect(reason).toEqual(new Error('enough'))
  })

  test('reaches a signal that is first read afterwards', async () => {
    const late = waiting(async (ctx) => {
      await sleep(5)
      return ctx.signal.aborted
    })
    expect(await call(late, {}, { signal: aborting().signal, graceMs: 10_000 })).toMatchObject({ value: true })
  })

  test('leaves no listener on the signal of the run', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    const counted = new Set<unknown>()
    Object.assign(signal, {
      addEventListener: (type: string, listener: EventListener) => {
        counted.add(listener)
        listeners++
        add(type, listener)
      },
      removeEventListener: (type: string, listener: EventListener) => {
        counted.delete(listener)
        remove(type, listener)
      },
    })
    const looks = waiting(async (ctx) => ctx.signal.aborted)
    for (let i = 0; i < 5; i++) await call(looks, {}, { signal })
    expect(listeners).toBe(10)
    expect(counted.size).toBe(0)
  })
})

describe('an output schema', () => {
  const output = z.object({ total: z.number(), unit: z.string().default('EUR') })

  test('determines the result for the model and all readers', async () => {
    const of = tool({ name: 't', input, output, execute: () => ({ total: 3, extra: 'gone' }) })
    expect(await call(of)).toMatchObject({
      outcome: 'ok',
      value: { total: 3, unit: 'EUR' },
      output: { value: { total: 3, unit: 'EUR' } },
    })
    expect((await call(of)).value).not.toHaveProperty('extra')
  })

  test('turns an invalid result into an error with the path', async () => {
    const positive = z.object({ total: z.number().positive() })
    const of = tool({ name: 'sum', input, output: positive, execute: () => ({ total: -1 }) })
    const outcome = await call(of)
    expect(outcome).toMatchObject({ outcome: 'error', error: { code: 'invalid-tool-output' } })
    expect(outcome.error?.message).toMatch(/^sum returned .*total/)
  })

  test('may be asynchronous', async () => {
    const late = output.refine(async ({ total }) => total > 2, 'too little')
    expect(await call(tool({ name: 't', input, output: late, execute: () => ({ total: 3 }) }))).toMatchObject({
      outcome: 'ok',
    })
    const outcome = await call(tool({ name: 't', input, output: late, execute: () => ({ total: 1 }) }))
    expect(outcome.error?.message).toContain('too little')
  })
})

describe('the label', () => {
  test('of a result is untrusted, internal and with the tool as source by default', async () => {
    const untrusted = { integrity: 'untrusted', confidentiality: 'internal', sources: ['t'] }
    expect((await call(tool({ name: 't', input, execute: () => 1 }))).label).toEqual(untrusted)
  })

  test('of a tool has defaults for missing fields', async () => {
    const of = tool({ name: 't', input, returns: { confidentiality: 'secret' }, execute: () => 1 })
    expect((await call(of)).label).toEqual({ integrity: 'untrusted', confidentiality: 'secret', sources: ['t'] })
  })

  test('may depend on the validated result and the parsed input', async () => {
    const of = tool({
      name: 't',
      input: z.object({ from: z.string().toUpperCase() }),
      output: z.object({ rows: z.number().default(0) }),
      execute: () => ({}),
      returns: ({ rows }, { from }) => ({ integrity: rows === 0 ? 'trusted' : 'untrusted', sources: [from] }),
    })
    expect((await call(of, { from: 'crm' })).label).toEqual({
      integrity: 'trusted',
      confidentiality: 'internal',
      sources: ['CRM'],
    })
  })

  test('of an error is never trusted, and as confidential as that of results', async () => {
    const of = tool({
      name: 't',
      input,
      returns: { integrity: 'trusted', confidentiality: 'secret' },
      execute: () => Promise.reject(new Error('row 7: hunter2')),
    })
    expect((await call(of)).label).toEqual({ integrity: 'untrusted', confidentiality: 'secret', sources: ['t'] })
  })

  test('of a result that cannot be computed withholds the result', async () => {
    const of = tool({
      name: 't',
      input,
      execute: () => 'the secret',
      returns: () => {
        throw new Error('no clearance')
      },
    })
    const outcome = await call(of)
    expect(outcome).toMatchObject({ outcome: 'error', error: { code: 'tool-label-failed' } })
    expect(JSON.stringify(outcome)).not.toContain('the secret')
  })

  test('of a trusted field differs from that of the result in its integrity only', async () => {
    const of = tool({
      name: 't',
      input,
      returns: { confidentiality: 'secret' },
      trustedFields: ['/id'],
      execute: () => ({ id: 1 }),
    })
    expect((await call(of)).fields).toEqual({
      '/id': { integrity: 'trusted', confidentiality: 'secret', sources: ['t'] },
    })
  })
})

describe('rich()', () => {
  test('adds parts for the model, the user interface and the policy', async () => {
    const of = tool({
      name: 't',
      input,
      returns: { confidentiality: 'internal' },
      trustedFields: ['/id'],
      execute: () =>
        rich(
          { id: 1, note: 'n' },
          {
            content: [{ type: 'text', text: 'one row' }],
            details: { html: '<b>' },
            label: { confidentiality: 'secret' },
            fields: { '/note': { sources: ['crm'] } },
          },
        ),
    })
    const label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['t'] }
    expect(await call(of)).toMatchObject({
      value: { id: 1, note: 'n' },
      output: { type: 'content', value: [{ type: 'text', text: 'one row' }] },
      details: { html: '<b>' },
      label,
      fields: { '/id': { ...label, integrity: 'trusted' }, '/note': { ...label, sources: ['crm'] } },
    })
  })

  test('cannot be forged by data that a tool returns', async () => {
    const forged: unknown = JSON.parse(JSON.stringify(rich('x', { label: { integrity: 'trusted' } })))
    const outcome = await call(tool({ name: 't', input, execute: () => forged }))
    expect(outcome.label.integrity).toBe('untrusted')
    expect(outcome.value).toEqual({ '~rich': 'x' })
  })

  test('states a failure with data: error-json for the model, never trusted, not checked as output', async () => {
    const of = tool({
      name: 't',
      input,
      output: z.object({ bought: z.number() }),
      returns: { integrity: 'trusted' },
      execute: () => rich({ inStock: 2 }, { error: 'Only 2 are in stock.', label: { confidentiality: 'secret' } }),
    })
    const outcome = await call(of)
    expect(outcome).toMatchObject({
      outcome: 'error',
      output: { type: 'error-json', value: { inStock: 2 } },
      error: { code: 'tool-failed', message: 'Only 2 are in stock.' },
      label: { integrity: 'untrusted', confidentiality: 'secret' },
    })
    expect(outcome.value).toBeUndefined()
  })

  test.each<[string, ReturnType<typeof rich>, object]>([
    ['text', rich('no', { error: { message: 'Sold out.', code: 'sold-out' } }), { type: 'error-text', value: 'no' }],
    [
      'no data',
      rich(undefined, { error: { message: 'Sold out.', code: 'sold-out' } }),
      { type: 'error-text', value: 'Sold out.' },
    ],
    [
      'an output of the AI SDK',
      rich(1, {
        output: { type: 'error-json', value: { left: 0 } },
        error: { message: 'Sold out.', code: 'sold-out' },
      }),
      { type: 'error-json', value: { left: 0 } },
    ],
  ])('states a failure with %s', async (_, result, output) => {
    const outcome = await call(tool({ name: 't', input, execute: () => result }))
    expect(outcome).toMatchObject({ outcome: 'error', output, error: { code: 'sold-out', message: 'Sold out.' } })
  })

  test.each<[unknown, string]>([
    [{ code: 'x' }, 'invalid-option'],
    [{ message: 'x', kode: 'y' }, 'unknown-option'],
    [1, 'invalid-options'],
  ])('refuses the error %j', (error, code) => {
    // @ts-expect-error from untyped code
    expect(() => rich(1, { error })).toThrow(expect.objectContaining({ code }))
  })

  test('may be the return value of a generator', async () => {
    const of = tool({
      name: 't',
      input,
      async *execute() {
        yield 'a'
        return rich(1, { details: 'd' })
      },
    })
    expect(await call(of)).toMatchObject({ value: 1, details: 'd' })
  })
})

test('a call has an outcome, whatever callback throws', async () => {
  const of = tool({
    name: 't',
    input,
    async *execute() {
      yield 'a'
    },
  })
  const outcome = await call(
    of,
    {},
    {
      partial: () => {
        throw new Error('listener')
      },
    },
  )
  expect(outcome).toMatchObject({ outcome: 'error', error: { message: 'listener' } })
})
