import { createHook } from 'node:async_hooks'
import { setImmediate as turn } from 'node:timers/promises'

import { afterAll, describe, expect, it, vi } from 'vitest'

import { readDeliveries } from '../../src/engine/bridge-frame.ts'
import type { SandboxRunOptions } from '../../src/index.ts'
import { runScript } from '../../src/sandbox/script-run.ts'
import { typeOf } from '../../src/tool/signature.ts'
import { limitsOf } from '../../src/worker/limits.ts'
import { flag, flagCount, type FromWorker, tick } from '../../src/worker/task.ts'
import { watchdog } from '../../src/worker/watchdog.ts'
import { openPool, type WorkerPool } from '../../src/worker/worker-pool.ts'
import { shared as sandbox } from '../fixture/shared-sandbox.ts'
import { createSandbox, followsValues } from '../fixture/subject.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** A value so deep that recursion over it overflows the stack, and source that makes the host walk it. */
const deep = (depth: number) => `let deep = '\\u0001'
for (let i = 0; i < ${depth}; i++) deep = [deep]`

/** The innermost value of `deep`, and its depth. */
function depthOf(value: unknown): number {
  let depth = 0
  for (let at = value; Array.isArray(at); at = at[0]) depth++
  return depth
}

describe('a hostile script', () => {
  it('ends if it returns or sends deeply nested values', async () => {
    let sent: unknown
    const tools = { take: (value: unknown) => void (sent = value) }
    const depth = followsValues ? 300 : 3500
    const { value } = await sandbox.run(`${deep(depth)}\nawait tools.take(deep)\nreturn deep`, { tools })
    expect(depthOf(value)).toBe(depth)
    expect(depthOf(sent)).toBe(depth)
  })

  it('has the same time limit for calls that it does not await', async () => {
    const brief = createSandbox({ workers: 1, limits: { wallMs: 20 } })
    const tools = { hang: () => new Promise(() => {}) }
    expect((await brief.run('void tools.hang()', { tools })).error?.code).toBe('wall-limit')
    await brief.close()
  })

  it('cannot break type stripping for later scripts', async () => {
    const wide = 20_000
    const { error } = await sandbox.run(`const a: number = ${'('.repeat(wide)}1${')'.repeat(wide)}\nreturn a`)
    expect(error?.code).toBe('syntax-error')
    expect(error?.message).toContain('nested')
    expect((await sandbox.run('const a: number = 1\nreturn a')).value).toBe(1)
  })

  it('does not keep its worker if it continues after its run', async () => {
    const tight = createSandbox({ workers: 1, limits: { toolCalls: 3 } })
    let answer: (() => void) | undefined
    const tools = {
      first: () => void setTimeout(() => answer?.(), 2),
      second: () => new Promise<void>((resolve) => (answer = resolve)),
      more: () => 1,
    }
    // It receives the second result before the host sees that it makes too many calls, and then polls nothing.
    const source = `tools.first().then(() => {
  for (let i = 0; i < 2e6; i++);
  const nest = (n) => ({ toJSON: () => { if (n > 0) void tools.more(nest(n - 1)); return n } })
  void tools.more(nest(3))
})
await tools.second()
Array.prototype.reverse.call({ length: 2 ** 53 - 1 })`
    expect((await tight.run(source, { tools })).error?.code).toBe('call-limit')
    expect((await tight.run('return 5')).value).toBe(5)
    await tight.close()
  })

  it('fails with a code if its calls do not fit into the remaining memory', async () => {
    const small = createSandbox({ workers: 1, limits: { memoryBytes: 4 << 20 } })
    const codes = new Set<string | undefined>()
    for (let left = 0; left < 40; left += full ? 1 : 4) {
      const source = `const text = '日'.repeat(60_000), kept = []
try { for (;;) kept.push(new Uint8Array(20_000)) } catch {}
kept.length -= ${left}
return await tools.take(text)`
      codes.add((await small.run(source, { tools: { take: () => 1 } })).error?.code)
    }
    expect([...codes].filter((code) => code !== undefined && code !== 'memory-limit')).toEqual([])
    await small.close()
  })
})

describe('the memory of a script', () => {
  const limit = 8 << 20
  const small = createSandbox({ workers: 1, limits: { memoryBytes: limit } })
  afterAll(() => small.close())

  it('stays within its limit plus what the engine needs, even with unused space between', async () => {
    const { error, stats } = await small.run('let size = 1000, kept\nfor (;;) kept = new Uint8Array((size *= 1.05))')
    expect(error?.code).toBe('memory-limit')
    expect(stats.memoryBytes).toBeLessThan(limit * (followsValues ? 4 : 1) + (3 << 20))
  })

  const fill = 'try { for (;;) kept = { kept } } catch {}'
  it.each([
    ['in a script', `let kept\n${fill}\nfor (;;) kept = { kept, next: Promise.resolve() }`],
    ['in a job', `let kept\n${fill}\nconst f = () => { ${fill}\nPromise.resolve().then(f) }\nf()\nawait null`],
    ['in a promise that is not awaited', `const f = () => Promise.resolve().then(f)\nf()\nawait new Promise(() => {})`],
    ['in a pattern', `return new RegExp('(' + 'x'.repeat(${followsValues ? 12e6 : 3e6}))`],
  ])('ends the run with memory-limit, also if the engine cannot report it: %s', async (_name, source) => {
    expect((await small.run(source)).error?.code).toBe('memory-limit')
  })
})

describe('a tool', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const unprintable = Object.assign(() => 1, {
    toString() {
      throw new Error('not to be printed')
    },
  })
  const guarded = {
    get message() {
      throw new Error('not to be read')
    },
  }
  it.each([
    ['a revoked proxy', proxy],
    ['a value that cannot be printed', unprintable],
    ['a value that cannot be read', guarded],
  ])('can throw %s', async (_, thrown) => {
    const fail = () => {
      throw thrown
    }
    const { error } = await sandbox.run('return tools.fail()', { tools: { fail } })
    expect(error).toMatchObject({ code: 'tool-error', message: 'The call failed.' })
  })

  it.runIf(full)(
    'can return many large results at once if the script handles them one by one (in full runs)',
    async () => {
      const wide = createSandbox({ workers: 1, limits: { parallelCalls: 64, cpuMs: 60_000 } })
      // More than the memory of a thread.
      const text = 'x'.repeat((4 << 20) - 2)
      const source = `return (await Promise.all(Array.from({ length: 64 }, () => tools.text().then((t) => t.length)))).length`
      const { value, error } = await wide.run(source, { tools: { text: () => text } })
      expect(error).toBeUndefined()
      expect(value).toBe(64)
      await wide.close()
    },
  )
})

describe('limits', () => {
  it('can be infinite', async () => {
    const limits = { toolCalls: Infinity, argBytes: Infinity, outputBytes: Infinity, errorBytes: Infinity }
    const free = createSandbox({ workers: 1, limits })
    const { value, error } = await free.run('return [await tools.echo({ a: 1 })]', {
      tools: { echo: (a: unknown) => a },
    })
    expect(error).toBeUndefined()
    expect(value).toEqual([{ a: 1 }])
    await free.close()
  })
})

describe('a sandbox', () => {
  it('runs nothing if it is closed while it opens', async () => {
    const brief = createSandbox({ workers: 1 })
    const running = brief.run('return 1')
    const [outcome] = await Promise.allSettled([running, brief.close()])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'sandbox-closed' } })
  })

  it('leaves no threads if it does not start', async () => {
    const threads = new Set<number>()
    const hook = createHook({
      init: (id, type) => type === 'WORKER' && threads.add(id),
      destroy: (id) => threads.delete(id),
    }).enable()
    const never = openPool(1, limitsOf({ stackBytes: 1 }), 'thread')
    await expect(never).rejects.toThrow('call stack')
    await expect.poll(() => threads.size).toBe(0)
    hook.disable()
  })

  it('keeps nothing of a run that does not start', async () => {
    const stop = new AbortController()
    const listening = vi.spyOn(stop.signal, 'addEventListener')
    const deaf = vi.spyOn(stop.signal, 'removeEventListener')
    const busy = () => {
      throw new Error('not now')
    }
    await expect(sandbox.run('return 1', { busy, signal: stop.signal })).rejects.toThrow('not now')
    expect(deaf).toHaveBeenCalledTimes(listening.mock.calls.length)
  })
})

/** A run with the test as its worker. */
function runByUs(options: SandboxRunOptions = {}) {
  let hear: (message: FromWorker) => void = () => {}
  const post = vi.fn<(text: string) => void>()
  const run = vi.fn<WorkerPool['run']>((_, listen) => {
    hear = listen
    return { post, ended: new Promise(() => {}), cancel() {} }
  })
  const pool = { run, expect() {}, close: async () => {} }
  const around = {
    pool,
    watchdog: watchdog(),
    limits: limitsOf(),
    running: new Set<() => void>(),
    followsValues: false,
  }
  const result = runScript(around, 'return 1', options)
  return { result, run, post, say: (message: FromWorker) => hear(message) }
}

describe('the host', () => {
  const figures = { fuel: 0, cpuMs: 0, calls: 0, memoryBytes: 0 }
  const end = { end: '[9,[],0,["ok"]]\n1', figures }

  it.each(['[0,[],0,["ok"]]\nno JSON', '[0,[],0,["ok"]]', 'no frame', '[0,[],0,["ok"]]\n'])(
    'rejects the frame of a broken engine, and ends the run: %j',
    async (words) => {
      const { result, say } = runByUs()
      say({ end: words, figures })
      expect((await result).error?.code).toBe('engine-failed')
    },
  )

  it('splits deliveries that are larger than the memory of a thread', async () => {
    const text = 'x'.repeat(1_500_000)
    const { result, post, say } = runByUs({ tools: { text: () => text } })
    say(`9${'\n0,{}'.repeat(9)}`)
    await expect.poll(() => post.mock.calls).toHaveLength(5)
    const letters = post.mock.calls.map(([letter]) => readDeliveries(letter).map(({ id }) => id))
    expect(letters).toEqual([[1, 2], [3, 4], [5, 6], [7, 8], [9]])
    say(end)
    expect((await result).value).toBe(1)
  })

  it('reports a script as busy again if it is parked while its result is being sent', async () => {
    const slow = Promise.withResolvers<number>()
    let works = 0
    const busy = (work: Promise<void>) => {
      works++
      void work.then(() => works--)
    }
    const { result, run, post, say } = runByUs({ tools: { quick: () => 1, slow: () => slow.promise }, busy })
    say('2\n0,{}\n1,{}')
    for (let i = 0; i < 9; i++) await Promise.resolve()
    say({ parked: true, delivered: 0, figures })
    await expect.poll(() => run.mock.calls).toHaveLength(2)
    await turn()
    expect(works).toBe(1)
    say('')
    await turn()
    expect(works).toBe(0)
    slow.resolve(2)
    await expect.poll(() => post.mock.calls).toHaveLength(1)
    expect(works).toBe(1)
    say(end)
    expect((await result).value).toBe(1)
    await turn()
    expect(works).toBe(0)
  })
})

it('the watchdog counts a computation that ends during its check once', async () => {
  const cells = new Int32Array(new SharedArrayBuffer(flagCount * 4))
  cells[flag.computingSince] = tick() - 60_000
  const hung = vi.fn()
  const looked = Promise.withResolvers<void>()
  let looks = 0
  const unwatch = watchdog().watch({
    get cells() {
      // After two reads the computation ends, and the next one starts.
      if (++looks === 3) [cells[flag.computed], cells[flag.computingSince]] = [60_000, tick()]
      return cells
    },
    cpuMs: 100_000,
    started: looked.resolve,
    hung,
    park() {},
  })
  await looked.promise
  await turn()
  unwatch()
  expect(looks).toBeGreaterThan(3)
  expect(hung).not.toHaveBeenCalled()
})

it('a type that a schema repeats appears once in its TypeScript', () => {
  let schema: unknown = { type: 'string' }
  for (let i = 0; i < 3; i++)
    schema = { type: Array.from({ length: 40 }, () => ['array', `x${i}`]).flat(), items: schema }
  expect(typeOf(schema)).toBe('Array<Array<Array<string>>>')
  expect(typeOf({ type: ['none', 'such'], properties: { a: {} } })).toBe('unknown')
})
