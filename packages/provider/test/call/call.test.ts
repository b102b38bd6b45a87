import { AsyncLocalStorage } from 'node:async_hooks'

import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { APICallError } from '@ai-sdk/provider'
import { callModel } from '@provost/provider'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'

import { ask, finish, hear, modelOf, streamModel, streamOf, usage } from './stream-model.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Follows the timers of some work alone: what an earlier file left in this process may have timers of its own. */
function ownTimers() {
  const scope = new AsyncLocalStorage<true>()
  const open = new Set<unknown>()
  const real = { setTimeout, clearTimeout }
  vi.useFakeTimers()
  const fake = { setTimeout, clearTimeout }
  const own = (run: () => void, ms?: number): NodeJS.Timeout => {
    const timer = fake.setTimeout(() => {
      open.delete(timer)
      run()
    }, ms)
    if (scope.getStore()) open.add(timer)
    return timer
  }
  const clear = (timer?: NodeJS.Timeout): void => {
    open.delete(timer)
    fake.clearTimeout(timer)
  }
  Object.assign(globalThis, { setTimeout: own, clearTimeout: clear })
  onTestFinished(() => void Object.assign(globalThis, real))
  return { open, of: <T>(work: () => T): T => scope.run(true, work) }
}

const half: LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Half an ans' },
]

describe('the request to a model', () => {
  it('has the prompt, the tools and the settings in the format of the AI SDK', async () => {
    const asked: LanguageModelV4CallOptions[] = []
    const model = streamModel((options) => {
      asked.push(options)
      return Promise.resolve(streamOf([finish()]))
    })
    const tool = { type: 'function', name: 'look', inputSchema: { type: 'object' } } as const
    await hear(model, {
      tools: [tool],
      settings: {
        temperature: 0.2,
        topP: 0.9,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        seed: 7,
        toolChoice: { tool: 'look' },
        providerOptions: { test: { mode: 'x' } },
      },
      responseFormat: { name: 'order', schema: { type: 'object' } },
    })
    const { abortSignal, ...options } = asked[0] ?? { prompt: [] }
    expect(abortSignal).toBeInstanceOf(AbortSignal)
    expect(options).toEqual({
      prompt: ask,
      tools: [tool],
      toolChoice: { type: 'tool', toolName: 'look' },
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ['END'],
      seed: 7,
      providerOptions: { test: { mode: 'x' } },
      responseFormat: { type: 'json', name: 'order', schema: { type: 'object' } },
    })
  })

  it('has no tool choice without tools', async () => {
    const asked: LanguageModelV4CallOptions[] = []
    const model = streamModel((options) => {
      asked.push(options)
      return Promise.resolve(streamOf([finish()]))
    })
    await hear(model, { tools: [], settings: { toolChoice: 'required' } })
    expect(Object.keys(asked[0] ?? {}).toSorted()).toEqual(['abortSignal', 'prompt'])
  })
})

describe('a call', () => {
  it('fails with a network error if the stream ends without a finish part', async () => {
    const { answer, pieces } = await hear(modelOf(half))
    expect(answer).toMatchObject({
      ok: false,
      aborted: false,
      effects: false,
      parts: [{ type: 'text', text: 'Half an ans' }],
      error: { code: 'stream-cut' },
      fault: { class: 'network', retryable: true },
    })
    expect(pieces.at(-1)).toEqual({ type: 'text-end', partId: '0', text: 'Half an ans' })
  })

  it('fails with a network error if the provider reports an interruption, and keeps the usage', async () => {
    const { answer } = await hear(modelOf([...half, finish('interrupted')]))
    expect(answer).toMatchObject({ ok: false, fault: { class: 'network' }, usage: { inputTokens: 12 } })
  })

  it('keeps the usage that Anthropic reports at the start, which is no content', async () => {
    const start: LanguageModelV4StreamPart = {
      type: 'custom',
      kind: 'anthropic.message_start',
      providerMetadata: { anthropic: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } } },
    }
    const { answer } = await hear(modelOf([start, ...half]))
    expect(answer).toMatchObject({ ok: false, parts: [{ type: 'text' }] })
    expect(answer.usage).toEqual({ inputTokens: 100, cacheReadTokens: 90, outputTokens: 3, estimated: true })
  })

  it('fails with a retryable error if the model stopped with an error', async () => {
    const { answer } = await hear(modelOf([finish('error')]))
    expect(answer).toMatchObject({ ok: false, fault: { class: 'unknown', retryable: true } })
  })

  it('fails at an error part', async () => {
    const overloaded = { type: 'overloaded_error', message: 'Overloaded' }
    const { answer } = await hear(modelOf([...half, { type: 'error', error: overloaded }], 'hang'))
    expect(answer).toMatchObject({ ok: false, error: overloaded, fault: { class: 'capacity', retryable: true } })
  })

  it('fails if the provider asks for approval of a call that it executes itself', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'tool-call', toolCallId: 'a', toolName: 'mcp', input: '{}', providerExecuted: true, dynamic: true },
      { type: 'tool-approval-request', approvalId: 'ask', toolCallId: 'a' },
    ]
    const { answer } = await hear(modelOf([...parts, finish('tool-calls')]))
    expect(answer).toMatchObject({
      ok: false,
      parts: [],
      error: { code: 'provider-approval-refused' },
      fault: { retryable: false },
    })
  })

  it('fails with a network error if a retryable error with status 200 breaks the stream', async () => {
    const error = new APICallError({
      message: 'Failed to process successful response',
      url: 'https://a.test',
      requestBodyValues: {},
      statusCode: 200,
      isRetryable: true,
    })
    const { answer } = await hear(modelOf(half, { throws: error }))
    expect(answer).toMatchObject({ ok: false, error, fault: { class: 'network', retryable: true } })
  })

  it('fails with a network error if the body is terminated', async () => {
    const { answer } = await hear(modelOf(half, { throws: new TypeError('terminated') }))
    expect(answer).toMatchObject({ ok: false, fault: { class: 'network', retryable: true } })
  })

  it('drops incomplete tool calls and keeps complete ones when it fails', async () => {
    const { answer } = await hear(
      modelOf([
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
        { type: 'tool-input-start', id: 'b', toolName: 'send' },
        { type: 'tool-input-delta', id: 'b', delta: '{"to":' },
      ]),
    )
    expect(answer.parts).toMatchObject([{ type: 'tool-call', toolCallId: 'a' }])
  })

  it('reports that the provider executed a tool, and drops the tool call if its result is missing', async () => {
    const { answer } = await hear(
      modelOf([
        { type: 'tool-call', toolCallId: 'a', toolName: 'web_search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'a', toolName: 'web_search', result: 1 },
        { type: 'tool-call', toolCallId: 'b', toolName: 'web_search', input: '{}', providerExecuted: true },
      ]),
    )
    expect(answer).toMatchObject({ ok: false, effects: true })
    expect(answer.parts.map((part) => 'toolCallId' in part && part.toolCallId)).toEqual(['a', 'a'])
  })

  it.each([
    [
      'throws',
      streamModel(() => {
        throw new Error('no')
      }),
    ],
    ['rejects', streamModel(() => Promise.reject(new Error('no')))],
    [
      'throws at once',
      {
        ...modelOf([]),
        doStream: () => {
          throw new Error('no')
        },
      },
    ],
  ])('resolves with a failure if the model %s', async (_, model) => {
    const { answer } = await hear(model)
    expect(answer).toMatchObject({ ok: false, parts: [], fault: { class: 'unknown', message: 'no', retryable: false } })
  })

  it('resolves with a failure if another consumer reads the stream', async () => {
    const stream = streamOf([finish()])
    stream.getReader()
    const { answer } = await hear(streamModel(() => Promise.resolve(stream)))
    expect(answer.ok).toBe(false)
  })

  it('resolves if its tokens cannot be estimated', async () => {
    const inputTokens = (): number => {
      throw new TypeError('no tokens')
    }
    const unknown = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
    const uncounted = { ...finish(), usage: { ...usage, inputTokens: unknown } } as LanguageModelV4StreamPart
    const { answer } = await hear(modelOf([{ type: 'text-delta', id: '0', delta: 'hi' }, uncounted]), { inputTokens })
    expect(answer).toMatchObject({ ok: true, usage: { outputTokens: 5 } })
    const cut = await hear(modelOf([{ type: 'text-delta', id: '0', delta: 'hi' }]), { inputTokens })
    expect(cut.answer).toMatchObject({ ok: false, error: { code: 'stream-cut' } })
  })

  it('resolves with a failure if a listener throws', async () => {
    const boom = new Error('listener')
    const answer = await callModel({ model: modelOf([...half, finish()]), prompt: ask, callId: () => 'c' }, () => {
      throw boom
    })
    expect(answer).toMatchObject({ ok: false, error: boom })
  })
})

describe('an abort', () => {
  const reason = new Error('enough')

  it('before the call sends no request', async () => {
    const doStream = vi.fn<() => Promise<ReadableStream<LanguageModelV4StreamPart>>>()
    const { answer } = await hear(streamModel(doStream), { signal: AbortSignal.abort(reason) })
    expect(answer).toMatchObject({ ok: false, aborted: true, error: reason, fault: { retryable: false } })
    expect(doStream).not.toHaveBeenCalled()
  })

  it('ends a call whose model never responds, and reaches the model', async () => {
    const abort = new AbortController()
    let inner: AbortSignal | undefined
    const model = streamModel((options) => {
      inner = options.abortSignal
      return new Promise(() => {})
    })
    const heard = hear(model, { signal: abort.signal })
    abort.abort(reason)
    expect((await heard).answer).toMatchObject({ ok: false, aborted: true, error: reason })
    expect(inner?.reason).toBe(reason)
  })

  it('ends a call in the middle of a text if the provider ignores it, and keeps the text so far', async () => {
    const abort = new AbortController()
    const pieces: string[] = []
    const heard = callModel(
      { model: modelOf(half, 'hang'), prompt: ask, callId: () => 'c', signal: abort.signal },
      (piece) => {
        pieces.push(piece.type)
        if (piece.type === 'text-delta') abort.abort(reason)
      },
    )
    expect(await heard).toMatchObject({ ok: false, aborted: true, parts: [{ type: 'text', text: 'Half an ans' }] })
    expect(pieces).toEqual(['text-start', 'text-delta', 'text-end'])
  })

  it('cancels a stream that arrives after it', async () => {
    const abort = new AbortController()
    const cancel = vi.fn<(reason: unknown) => void>()
    let open: ((stream: ReadableStream<LanguageModelV4StreamPart>) => void) | undefined
    const model = streamModel(
      () =>
        new Promise((resolve) => {
          open = resolve
        }),
    )
    const heard = hear(model, { signal: abort.signal })
    abort.abort(reason)
    await heard
    open?.(new ReadableStream({ cancel }))
    await expect.poll(() => cancel.mock.calls).not.toHaveLength(0)
  })

  it('does not wait for a provider whose cancel hangs', async () => {
    const abort = new AbortController()
    const stream = new ReadableStream<LanguageModelV4StreamPart>({ cancel: () => new Promise(() => {}) })
    const heard = hear(
      streamModel(() => Promise.resolve(stream)),
      { signal: abort.signal },
    )
    await Promise.resolve()
    abort.abort(reason)
    expect((await heard).answer).toMatchObject({ aborted: true })
  })

  it('after the end changes nothing, and the call keeps no listener on the signal', async () => {
    const abort = new AbortController()
    const add = vi.spyOn(abort.signal, 'addEventListener')
    const remove = vi.spyOn(abort.signal, 'removeEventListener')
    const { answer } = await hear(modelOf([...half, finish()]), { signal: abort.signal })
    abort.abort(reason)
    expect(answer.ok).toBe(true)
    expect(remove.mock.calls.map(([type]) => type)).toEqual(add.mock.calls.map(([type]) => type))
  })
})

describe('the time limit', () => {
  const ticking = (
    parts: readonly LanguageModelV4StreamPart[],
    ms: number,
  ): ReadableStream<LanguageModelV4StreamPart> => {
    let next = 0
    return new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, ms))
        const part = parts[next]
        next += 1
        if (part) controller.enqueue(part)
        else controller.close()
      },
    })
  }

  it('ends a call that receives nothing for the stall limit', async () => {
    vi.useFakeTimers()
    let inner: AbortSignal | undefined
    const model = streamModel((options) => {
      inner = options.abortSignal
      return Promise.resolve(streamOf(half, 'hang'))
    })
    const heard = hear(model, { settings: { stallMs: 1000 } })
    await vi.advanceTimersByTimeAsync(999)
    expect(inner?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect((await heard).answer).toMatchObject({
      ok: false,
      aborted: false,
      error: { code: 'model-stalled' },
      fault: { class: 'timeout', retryable: true },
      parts: [{ text: 'Half an ans' }],
    })
    expect(inner?.aborted).toBe(true)
  })

  it('does not end a call that keeps receiving parts, or one that ended', async () => {
    const timers = ownTimers()
    const parts: LanguageModelV4StreamPart[] = [...half, { type: 'text-delta', id: '0', delta: 'wer' }, finish()]
    const model = streamModel(() => Promise.resolve(ticking(parts, 900)))
    const heard = timers.of(() => hear(model, { settings: { stallMs: 1000 } }))
    await vi.advanceTimersByTimeAsync(500)
    expect(timers.open.size).toBeGreaterThan(0)
    await vi.advanceTimersByTimeAsync(10_000)
    expect((await heard).answer).toMatchObject({ ok: true, parts: [{ text: 'Half an answer' }] })
    expect(timers.open.size).toBe(0)
  })

  it('stops its timers when the response is complete', async () => {
    const timers = ownTimers()
    await timers.of(() => hear(modelOf([...half, finish()])))
    await timers.of(() => hear(modelOf(half)))
    expect(timers.open.size).toBe(0)
  })

  it('ends a call that takes too long as a whole, however busy its stream is', async () => {
    vi.useFakeTimers()
    const pings = Array.from({ length: 100 }, (): LanguageModelV4StreamPart => ({ type: 'ping' }))
    const heard = hear(
      streamModel(() => Promise.resolve(ticking(pings, 100))),
      {
        settings: { stallMs: 1000, timeoutMs: 2500 },
      },
    )
    await vi.advanceTimersByTimeAsync(2500)
    expect((await heard).answer).toMatchObject({ ok: false, error: { code: 'model-timeout' } })
  })

  it('ends a call whose stream leaves no time for timers', async () => {
    vi.useRealTimers()
    const until = performance.now() + 2000
    const busy = new ReadableStream<LanguageModelV4StreamPart>({
      pull(controller) {
        controller.enqueue(performance.now() < until ? { type: 'text-delta', id: '0', delta: '' } : finish())
      },
    })
    const { answer } = await hear(
      streamModel(() => Promise.resolve(busy)),
      { settings: { timeoutMs: 50 } },
    )
    expect(answer).toMatchObject({ ok: false, error: { code: 'model-timeout' } })
  })

  it('is off when the settings lift it', async () => {
    vi.useFakeTimers()
    // Longer than both defaults. What an earlier file left in this process may tick all the while.
    const heard = hear(
      streamModel(() => Promise.resolve(ticking([finish()], 10 ** 6))),
      {
        settings: { stallMs: Infinity, timeoutMs: Infinity },
      },
    )
    await vi.advanceTimersByTimeAsync(3 * 10 ** 6)
    expect((await heard).answer.ok).toBe(true)
  })
})

it('deltas arrive in the async context of the call', async () => {
  const store = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const model = modelOf([...half, finish()])
  await store.run('mine', () =>
    callModel({ model, prompt: ask, callId: () => 'c' }, () => void seen.push(store.getStore())),
  )
  expect(seen).toEqual(['mine', 'mine', 'mine'])
})
