import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, describe, expect, expectTypeOf, it } from 'vitest'

import type { JournalEntry, SandboxRunOptions, ScriptCall } from '../../src/index.ts'
import { shared as sandbox } from '../fixture/shared-sandbox.ts'
import { createSandbox, followsValues } from '../fixture/subject.ts'

const add = ({ a, b }: { a: number; b: number }) => a + b
const run = (source: string, options?: SandboxRunOptions) => sandbox.run(source, options)

describe('a script', () => {
  it('calls tools and returns a value', async () => {
    const { value, stats } = await run('return (await tools.add({ a: 1, b: 2 })) * 2', { tools: { add } })
    expect(value).toBe(6)
    expect(stats).toMatchObject({ calls: 1 })
    expect(stats.cpuMs).toBeGreaterThan(0)
    expect(stats.memoryBytes).toBeGreaterThan(1e6)
  })

  it('has only the tools of its own run, and cannot replace them', async () => {
    const source = `try { Object.defineProperty(globalThis, 'tools', { value: { theirs: 1 } }) } catch {}
return Object.keys(tools)`
    for (const names of [['a'], ['b', 'c'], [], ['a'], ['a']]) {
      const tools = Object.fromEntries(names.map((name) => [name, () => name]))
      expect((await run(source, { tools })).value).toEqual(names)
      if (followsValues) continue
      // A script that closes its wrapper runs before the call.
      expect(
        (await run(`}); ${source.replace('return', 'globalThis.own =')}; (async () => { return own`, { tools })).value,
      ).toEqual(names)
    }
  })

  it('has made all of its calls before it is reported as waiting', async () => {
    const many = createSandbox({ workers: 1, limits: { toolCalls: 300, parallelCalls: 300 } })
    const open: (() => void)[] = []
    const madeAt: number[] = []
    const { value } = await many.run(
      'return (await Promise.all(Array.from({ length: 300 }, () => tools.wait()))).length',
      {
        tools: { wait: () => new Promise<void>((resolve) => open.push(resolve)) },
        busy: (work) =>
          void work.then(() => {
            madeAt.push(open.length)
            for (const answer of open) answer()
          }),
      },
    )
    expect(value).toBe(300)
    expect(madeAt[0]).toBe(300)
    await many.close()
  })

  it('can be TypeScript, with generics that JavaScript would parse as comparisons', async () => {
    const source = `interface Row { id: number }
const id = <T,>(x: T): T => x
const rows = (await tools.rows()) as Row[]
const ids: number[] = rows.map((row: Row): number => row.id)
return [ids, id<number>(7), new Map<string, number>([['a', 1]]).get('a')] satisfies unknown[]`
    const { value } = await run(source, { tools: { rows: () => [{ id: 3 }, { id: 4 }] } })
    expect(value).toEqual([[3, 4], 7, 1])
  })

  it('returns null if it returns nothing', async () => {
    expect((await run('await 1')).value).toBeNull()
  })

  it('returns its printed lines up to a limit', async () => {
    const { logs } = await run(`console.log('a', { b: [1] }, undefined, new TypeError('c'))
for (let i = 0; i < 10_000; i++) console.error('line', i)
return 1`)
    expect(logs[0]).toBe('a {"b":[1]} undefined TypeError: c')
    expect(logs.join('\n').length).toBeLessThan(20_000)
    expect(logs.at(-1)).toMatch(/^… \(\d+ more lines\)$/)
  })

  it('returns the lines it printed before an error', async () => {
    const { error, logs } = await run(`console.log('before')\nthrow new Error('after')`)
    expect(error).toEqual({ code: 'script-error', message: 'after', line: 2, column: 11 })
    expect(logs).toEqual(['before'])
  })

  it('can override properties such as toString and subclass Error', async () => {
    const { value, error } =
      await run(`class Refused extends Error { constructor() { super('no'); this.name = 'Refused' } }
const o = {}
o.toString = () => 'mine'
console.log(String(o))
throw new Refused()`)
    expect(value).toBeUndefined()
    expect(error).toMatchObject({ code: 'script-error', message: 'Refused: no', line: 1 })
  })
})

describe('an error has the line and column in the source', () => {
  it('if the script throws, on the first line and on later ones', async () => {
    expect((await run('const a = null; a.b')).error).toMatchObject({ code: 'script-error', line: 1, column: 17 })
    expect((await run('const a: any = null\n\n  a.b.c()')).error).toMatchObject({ line: 3, column: 3 })
  })

  it('if a call fails', async () => {
    const fail = () => {
      throw new Error('out of stock')
    }
    const { error } = await run('const n = 1\nawait tools.fail({ n })', { tools: { fail } })
    expect(error).toMatchObject({ code: 'tool-error', message: 'out of stock', line: 2 })
  })

  it('if the source is not a valid script', async () => {
    expect((await run('const a = 1\nconst b = (')).error).toMatchObject({ code: 'syntax-error' })
    expect((await run('const a: = 1')).error).toMatchObject({ code: 'syntax-error', line: 1, column: 10 })
    expect((await run('let a: number = 1\nenum B { C }')).error).toMatchObject({
      code: 'syntax-error',
      message: expect.stringContaining('enum'),
      line: 2,
    })
  })
})

describe('calls', () => {
  const few = createSandbox({ workers: 1, limits: { parallelCalls: 3, replyBytes: 100 } })
  afterAll(() => few.close())

  it('run in parallel up to the limit', async () => {
    let running = 0
    let most = 0
    const slow = async ({ n }: { n: number }) => {
      most = Math.max(most, ++running)
      await sleep(5)
      running--
      return n
    }
    const source = 'return Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => tools.slow({ n })))'
    expect((await few.run(source, { tools: { slow } })).value).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(most).toBe(3)
  })

  it('can fail with a code that the script catches', async () => {
    const fail = () => {
      throw Object.assign(new Error('gone'), { code: 'not-found' })
    }
    const { value } = await run('try { await tools.fail() } catch (e) { return [e.name, e.code, e.message] }', {
      tools: { fail },
    })
    expect(value).toEqual(['ToolError', 'not-found', 'gone'])
  })

  it('settle before the run ends even if the script does not await them', async () => {
    const done: string[] = []
    const log = async ({ text }: { text: string }) => {
      await sleep(5)
      done.push(text)
    }
    expect((await run(`tools.log({ text: 'kept' }); return 1`, { tools: { log } })).value).toBe(1)
    expect(done).toEqual(['kept'])
  })

  it('accept functions with typed input and functions with any input', async () => {
    interface Row {
      readonly id: number
    }
    const tools: SandboxRunOptions['tools'] = {
      typed: ({ id }: Row) => id,
      literal: ({ id }: { id: number }, { signal }) => [id, signal.aborted],
      plain: (input, call) => {
        expectTypeOf(input).toBeUnknown()
        expectTypeOf(call).toEqualTypeOf<ScriptCall>()
        return input
      },
      open: ({ id }) => id * 2,
    }
    const source =
      'return [await tools.typed({ id: 1 }), await tools.literal({ id: 2 }), await tools.plain({ id: 3 }), await tools.open({ id: 4 })]'
    expect((await run(source, { tools })).value).toEqual([1, [2, false], { id: 3 }, 8])
    // @ts-expect-error: a tool is a function.
    const wrong: SandboxRunOptions = { tools: { nothing: 5 } }
    expect((await run('return tools.nothing()', wrong)).error?.code).toBe('tool-error')
  })

  it('accept tool names with any characters', async () => {
    const tools = { 'a.b-c d': () => 1, __proto__x: () => 2, constructor: () => 3 }
    const source = `return [await tools['a.b-c d'](), await tools['__proto__x'](), await tools['constructor']()]`
    expect((await run(source, { tools })).value).toEqual([1, 2, 3])
  })

  it('fail with reply-size if the result is too large, and the script can ask for less', async () => {
    const text = ({ n }: { n: number }) => 'x'.repeat(n)
    const { error } = await few.run('return tools.text({ n: 500 })', { tools: { text } })
    expect(error).toMatchObject({ code: 'reply-size', message: expect.stringContaining('502 bytes') })
    const source = 'try { return await tools.text({ n: 500 }) } catch { return tools.text({ n: 3 }) }'
    expect((await few.run(source, { tools: { text } })).value).toBe('xxx')
  })
})

describe('a run ends', () => {
  it('when it is aborted, and so do its calls', async () => {
    const stop = new AbortController()
    let aborted = false
    const hang = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true
          resolve(null)
        })
        setImmediate(() => stop.abort())
      })
    const { error } = await run('return tools.hang()', { tools: { hang }, signal: stop.signal })
    expect(error?.code).toBe('aborted')
    expect(aborted).toBe(true)
  })

  it('when it is aborted while it computes', async () => {
    const stop = new AbortController()
    const begin = () => void setTimeout(() => stop.abort(), 5)
    const { error } = await run('await tools.begin(); for (;;);', { tools: { begin }, signal: stop.signal })
    expect(error?.code).toBe('aborted')
  })

  it('before it starts if its signal is already aborted', async () => {
    expect((await run('return 1', { signal: AbortSignal.abort() })).error?.code).toBe('aborted')
  })

  it('at each limit with the code of that limit', async () => {
    const limits = { wallMs: 200, toolCalls: 2, outputBytes: 50, fuel: followsValues ? 3 : 50 }
    const tight = createSandbox({ workers: 1, limits })
    const hang = () => new Promise(() => {})
    expect((await tight.run('return tools.hang()', { tools: { hang } })).error?.code).toBe('wall-limit')
    expect((await tight.run(`return 'x'.repeat(50)`)).error).toMatchObject({
      code: 'output-size',
      message: expect.stringContaining('52 bytes'),
    })
    const thrice = 'for (const a of [1, 2, 3]) await tools.add({ a, b: 1 })'
    expect((await tight.run(thrice, { tools: { add } })).error?.code).toBe('call-limit')
    expect((await tight.run(' '.repeat(300_000))).error?.code).toBe('source-size')
    const ended = [await tight.run('for (;;);'), await tight.run('for (;;);')]
    expect(ended.map(({ error }) => error?.code)).toEqual(['fuel-limit', 'fuel-limit'])
    expect(ended[0]?.stats.fuel).toBe(ended[1]?.stats.fuel)
    await tight.close()
  })

  it('when the sandbox is closed, which then rejects new runs', async () => {
    const other = createSandbox({ workers: 1 })
    const running = other.run('return tools.hang()', {
      tools: {
        hang: () => {
          void other.close()
          return new Promise(() => {})
        },
      },
    })
    expect((await running).error?.code).toBe('aborted')
    await expect(other.run('return 1')).rejects.toMatchObject({ code: 'sandbox-closed' })
  })

  it('before it starts if the options are invalid', async () => {
    expect(() => createSandbox({ limits: { cpuMs: 0 } })).toThrow(/cpuMs/)
    expect(() => createSandbox({ workers: 0 })).toThrow(/workers/)
    await expect(run('return 1', { journal: { v: 2 } })).rejects.toMatchObject({ code: 'invalid-journal' })
  })
})

describe('waiting scripts', () => {
  it('hold no worker: one worker serves many of them', async () => {
    let waiting = 0
    const { promise: all, resolve } = Promise.withResolvers<void>()
    const wait = ({ n }: { n: number }) => {
      if (++waiting === 12) resolve()
      return all.then(() => n)
    }
    const source = (n: number) =>
      `const seen = Math.random(); const n = await tools.wait({ n: ${n} }); return [n, seen === globalThis.seen]`
    const results = await Promise.all(Array.from({ length: 12 }, (_, n) => run(source(n), { tools: { wait } })))
    expect(results.map(({ value }) => value)).toEqual(Array.from({ length: 12 }, (_, n) => [n, false]))
  })

  it('resume with their variables, closures, clock and random numbers', async () => {
    let asked = 0
    const { promise: gate, resolve } = Promise.withResolvers<void>()
    const ask = async () => {
      if (++asked === 8) resolve()
      await gate
      return asked
    }
    const source = `const before = [Math.random(), Date.now()]
let n = 0
const count = () => ++n
count()
const told = [before, [...before]]
await tools.ask()
count()
return [count(), told[0] === before, told[0].every((x, i) => x === told[1][i]), Math.random() !== before[0]]`
    const results = await Promise.all(Array.from({ length: 8 }, () => run(source, { tools: { ask } })))
    for (const { value } of results) expect(value).toEqual([3, true, true, true])
    expect(asked).toBe(8)
  })
})

const workflow = `const random = [Math.random()]
const rows = await Promise.all([1, 2, 3].map((id) => tools.fetch({ id })))
random.push(Math.random())
let total = 0
for (const row of rows) {
  const { tax } = await tools.tax({ amount: row.amount })
  total += tax
  if (total > 30) await tools.note({ text: 'over ' + total, at: Date.now() > 0 })
}
try { await tools.refuse({ total }) } catch (e) { random.push(e.code) }
return { total, random, when: Date.now() }`

function workflowTools(calls: string[]): NonNullable<SandboxRunOptions['tools']> {
  const counted =
    <In, Out>(name: string, work: (input: In) => Out) =>
    async (input: In) => {
      calls.push(`${name} ${JSON.stringify(input)}`)
      await sleep(Math.random() * 3)
      return work(input)
    }
  return {
    fetch: counted('fetch', ({ id }: { id: number }) => ({ id, amount: id * 100 })),
    tax: counted('tax', ({ amount }: { amount: number }) => ({ tax: amount / 10 })),
    note: counted('note', () => undefined),
    refuse: counted('refuse', () => {
      throw Object.assign(new Error('refused'), { code: 'refused' })
    }),
  }
}

describe('a journal', () => {
  it('resumes a script from any of its calls to the same value, without a repeated call', async () => {
    const calls: string[] = []
    const kept: JournalEntry[] = []
    const first = await run(workflow, { tools: workflowTools(calls), record: (entry) => void kept.push(entry) })
    expect(first.ok).toBe(true)
    expect(kept).toEqual(first.journal?.entries)
    for (let cut = 0; cut <= kept.length; cut++) {
      const again: string[] = []
      const journal = JSON.parse(JSON.stringify({ ...first.journal, entries: kept.slice(0, cut) }))
      const resumed = await run(workflow, { tools: workflowTools(again), journal })
      expect(resumed.value).toMatchObject({ total: 60, random: (first.value as { random: unknown }).random })
      expect(again.length).toBe(calls.length - cut)
    }
    const told = await run(workflow, { tools: workflowTools([]), journal: first.journal })
    expect(told.value).toEqual(first.value)
  })

  it('with other calls ends the run before any tool is called', async () => {
    const calls: string[] = []
    const first = await run(workflow, { tools: workflowTools([]) })
    const entries = first.journal?.entries.map((entry) => ({ ...entry, argsHash: 'another' }))
    const { error } = await run(workflow, { tools: workflowTools(calls), journal: { ...first.journal, entries } })
    expect(error?.code).toBe('replay-diverged')
    expect(calls).toEqual([])
  })

  it('with other calls frees the worker although the script waits forever', async () => {
    const source = 'const slow = tools.slow(); const fast = await tools.fast(); return [await slow, fast]'
    const { promise, resolve } = Promise.withResolvers<number>()
    const told = await run(source, {
      tools: { slow: () => promise, fast: () => 1 },
      record: ({ tool }) => (tool === 'fast' ? resolve(2) : undefined),
    })
    expect(told.value).toEqual([2, 1])
    const entries = told.journal?.entries.slice(0, 1).map((entry) => ({ ...entry, argsHash: 'another' }))
    const tools = { slow: () => new Promise(() => {}), fast: () => 1 }
    const { error } = await run(source, { tools, journal: { ...told.journal, entries } })
    expect(error?.code).toBe('replay-diverged')
    expect((await run('return 5')).value).toBe(5)
  })

  it('with a call that the script did not make ends the run', async () => {
    const first = await run(workflow, { tools: workflowTools([]) })
    const entries = first.journal?.entries.map((entry) => ({ ...entry, id: entry.id + 100 }))
    const { error } = await run(workflow, { tools: workflowTools([]), journal: { ...first.journal, entries } })
    expect(error?.code).toBe('replay-diverged')
  })

  it.each([
    ['a result that is not JSON', { json: '{' }],
    ['a failure without an error', { ok: false, json: 'null' }],
    ['a call before the first', { id: 0 }],
  ])('with %s is rejected', async (_name, damage) => {
    const { journal } = await run(workflow, { tools: workflowTools([]) })
    const entries = journal?.entries.map((entry) => ({ ...entry, ...damage }))
    await expect(run(workflow, { journal: { ...journal, entries } })).rejects.toMatchObject({ code: 'invalid-journal' })
  })

  it('of another script is rejected', async () => {
    const first = await run(workflow, { tools: workflowTools([]) })
    await expect(run(`${workflow} `, { journal: first.journal })).rejects.toMatchObject({ code: 'invalid-journal' })
  })
})
