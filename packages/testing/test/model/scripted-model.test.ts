import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { ProvostError } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry, ScriptedStep } from '@provost/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'

const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]

/** Everything that one call streams, and the error of the stream. */
async function collect(
  model: LanguageModelV4,
  options: Partial<LanguageModelV4CallOptions> = {},
): Promise<{ parts: LanguageModelV4StreamPart[]; failure?: unknown }> {
  const { stream } = await model.doStream({ prompt, ...options })
  const parts: LanguageModelV4StreamPart[] = []
  try {
    for await (const part of stream) parts.push(part)
  } catch (failure) {
    return { parts, failure }
  }
  return { parts }
}

async function partsOf(...steps: readonly ScriptedEntry[]): Promise<LanguageModelV4StreamPart[]> {
  return (await collect(scriptedModel(steps))).parts
}

function types(parts: readonly LanguageModelV4StreamPart[]): string[] {
  return parts.map((part) => part.type)
}

function said(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('')
}

async function thrownBy(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

afterEach(() => {
  vi.useRealTimers()
})

it('without a list of steps, says what to give', () => {
  const one = (() => ({ text: 'one' })) as unknown as ScriptedEntry[]
  expect(() => scriptedModel(one)).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      hint: expect.stringMatching(/^Give a list: scriptedModel\(\[/u),
    }),
  )
})

describe('an answer', () => {
  it('streams reasoning, text and tool calls in the order of a provider', async () => {
    const parts = await partsOf({ reasoning: 'hm', text: 'Looking.', toolCalls: [{ name: 'look', input: { at: 1 } }] })
    expect(parts).toEqual([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'reasoning' },
      { type: 'reasoning-delta', id: 'reasoning', delta: 'hm' },
      { type: 'reasoning-end', id: 'reasoning' },
      { type: 'text-start', id: 'text' },
      { type: 'text-delta', id: 'text', delta: 'Looking.' },
      { type: 'text-end', id: 'text' },
      { type: 'tool-input-start', id: 'call_0_0', toolName: 'look' },
      { type: 'tool-input-delta', id: 'call_0_0', delta: '{"at":1}' },
      { type: 'tool-input-end', id: 'call_0_0' },
      { type: 'tool-call', toolCallId: 'call_0_0', toolName: 'look', input: '{"at":1}' },
      expect.objectContaining({ type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool-calls' } }),
    ])
  })

  it('streams a list of texts as that many chunks of one part', async () => {
    const parts = await partsOf({ text: ['one ', 'two ', 'three'] })
    expect(types(parts)).toEqual([
      'stream-start',
      'text-start',
      'text-delta',
      'text-delta',
      'text-delta',
      'text-end',
      'finish',
    ])
    expect(said(parts)).toBe('one two three')
  })

  it('has only a finish part if the step is empty', async () => {
    expect(types(await partsOf({}))).toEqual(['stream-start', 'finish'])
  })

  it('has the metadata of reasoning on the end part', async () => {
    const providerMetadata = { anthropic: { signature: 's1' } }
    const parts = await partsOf({ reasoning: { text: 'hm', providerMetadata } })
    expect(parts).toContainEqual({ type: 'reasoning-end', id: 'reasoning', providerMetadata })
  })

  it('reports scripted usage in the provider format, and none by default', async () => {
    const usage = { inputTokens: 100, outputTokens: 30, reasoningTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 5 }
    expect((await partsOf({ text: 'x', usage })).at(-1)).toMatchObject({
      usage: {
        inputTokens: { total: 100, noCache: 35, cacheRead: 60, cacheWrite: 5 },
        outputTokens: { total: 30, text: 20, reasoning: 10 },
      },
    })
    expect((await partsOf({ text: 'x' })).at(-1)).toMatchObject({
      usage: { inputTokens: { total: undefined }, outputTokens: { total: undefined } },
    })
  })

  it('finishes with the scripted reason', async () => {
    const finish = (await partsOf({ text: 'x', finishReason: 'length' })).at(-1)
    expect(finish).toMatchObject({ finishReason: { unified: 'length' } })
  })
})

describe('tool call ids', () => {
  it('have the number of the model call and of the call in the step', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'a' }, { name: 'b' }] }], { after: 'repeat-last' })
    const ids: string[] = []
    for (let n = 0; n < 2; n++) {
      for (const part of (await collect(model)).parts) if (part.type === 'tool-call') ids.push(part.toolCallId)
    }
    expect(ids).toEqual(['call_0_0', 'call_0_1', 'call_1_0', 'call_1_1'])
  })

  it('are unchanged if they are empty or repeated', async () => {
    const toolCalls = ['', 'twice', 'twice'].map((id) => ({ name: 'a', input: {}, id }))
    const parts = await partsOf({ toolCalls })
    expect(parts.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : []))).toEqual(['', 'twice', 'twice'])
  })
})

it('text as tool input is sent unchanged, so that a script can break its JSON', async () => {
  const parts = await partsOf({ toolCalls: [{ name: 'a', input: '{"at": ' }, { name: 'b' }] })
  expect(parts.flatMap((part) => (part.type === 'tool-call' ? part.input : []))).toEqual(['{"at": ', '{}'])
})

describe('the script', () => {
  it('gives each call its step, and functions receive prompt, tools and index', async () => {
    const seen: unknown[] = []
    const model = scriptedModel([
      { text: 'first' },
      ({ messages, tools, options }, index) => {
        seen.push(messages, tools, options.temperature, index)
        return { text: 'second' }
      },
    ])
    const tools: LanguageModelV4CallOptions['tools'] = [{ type: 'function', name: 'a', inputSchema: {} }]
    expect(said((await collect(model)).parts)).toBe('first')
    expect(said((await collect(model, { tools, temperature: 0.5 })).parts)).toBe('second')
    expect(seen).toEqual([prompt, tools, 0.5, 1])
  })

  it('throws after its last step with the name of the model', async () => {
    const model = scriptedModel([{ text: 'only' }], { provider: 'acme', modelId: 'm1' })
    await collect(model)
    const error = await thrownBy(model.doStream({ prompt }))
    expect(error).toBeInstanceOf(ProvostError)
    expect(error).toMatchObject({ code: 'script-exhausted', message: expect.stringContaining('acme/m1') })
  })

  it('repeats its last step when told to', async () => {
    const model = scriptedModel([{ text: 'a' }, (_, index) => ({ text: `b${index}` })], { after: 'repeat-last' })
    const texts: string[] = []
    for (let n = 0; n < 4; n++) texts.push(said((await collect(model)).parts))
    expect(texts).toEqual(['a', 'b1', 'b2', 'b3'])
  })

  it('has nothing to repeat if it is empty', async () => {
    const error = await thrownBy(scriptedModel([], { after: 'repeat-last' }).doStream({ prompt }))
    expect(error).toMatchObject({ code: 'script-exhausted' })
  })

  it('fails the call with what a step function throws', async () => {
    const mistake = new Error('wrong prompt')
    const model = scriptedModel([
      () => {
        throw mistake
      },
    ])
    expect(await thrownBy(model.doStream({ prompt }))).toBe(mistake)
  })
})

describe('failures', () => {
  it('throws the scripted error unchanged', async () => {
    const error = { status: 429, message: 'slow down' }
    expect(await thrownBy(scriptedModel([{ error }]).doStream({ prompt }))).toBe(error)
  })

  it.for([
    [0, ['stream-start']],
    [1, ['stream-start', 'text-start', 'text-delta']],
    [2, ['stream-start', 'text-start', 'text-delta', 'text-delta']],
    [3, ['stream-start', 'text-start', 'text-delta', 'text-delta', 'text-end', 'tool-input-start', 'tool-input-delta']],
  ] as const)('breaks the stream after %i chunks, all of them delivered', async ([chunks, expected]) => {
    const step: ScriptedStep = { text: ['a', 'b'], toolCalls: [{ name: 'c' }], failAfterChunks: chunks }
    const { parts, failure } = await collect(scriptedModel([step]))
    expect(types(parts)).toEqual(expected)
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure).toMatchObject({ message: 'terminated', cause: { code: 'UND_ERR_SOCKET' } })
  })

  it('breaks after the scripted number of chunks', async () => {
    const { parts, failure } = await collect(scriptedModel([{ text: 'a', failAfterChunks: 9 }]))
    expect(types(parts)).toEqual(['stream-start', 'text-start', 'text-delta', 'text-end'])
    expect(failure).toBeDefined()
  })

  it('breaks with the scripted error', async () => {
    const error = new Error('overloaded')
    const { parts, failure } = await collect(scriptedModel([{ text: ['a', 'b'], failAfterChunks: 1, error }]))
    expect(said(parts)).toBe('a')
    expect(failure).toBe(error)
  })
})

describe('waiting', () => {
  it('waits before each chunk', async () => {
    vi.useFakeTimers()
    const { stream } = await scriptedModel([{ text: ['a', 'b'], delayMs: 1_000 }]).doStream({ prompt })
    const parts: LanguageModelV4StreamPart[] = []
    const done = stream.pipeTo(
      new WritableStream({
        write(part) {
          parts.push(part)
        },
      }),
    )
    await vi.advanceTimersByTimeAsync(999)
    expect(said(parts)).toBe('')
    await vi.advanceTimersByTimeAsync(1)
    expect(said(parts)).toBe('a')
    await vi.advanceTimersByTimeAsync(1_000)
    await done
    expect(said(parts)).toBe('ab')
  })

  it('fails with the reason of an abort, and leaves no timer', async () => {
    vi.useFakeTimers()
    const abort = new AbortController()
    const collected = collect(scriptedModel([{ text: ['a', 'b'], delayMs: 60_000 }]), { abortSignal: abort.signal })
    await vi.advanceTimersByTimeAsync(60_000)
    const reason = new Error('enough')
    // Counted at once: what an earlier file left in this process has timers of its own.
    const before = vi.getTimerCount()
    abort.abort(reason)
    expect(vi.getTimerCount()).toBe(before - 1)
    const { parts, failure } = await collected
    expect(said(parts)).toBe('a')
    expect(failure).toBe(reason)
  })

  it('leaves no timer if the reader cancels', async () => {
    vi.useFakeTimers()
    const { stream } = await scriptedModel([{ text: 'a', delayMs: 60_000 }]).doStream({ prompt })
    const reader = stream.getReader()
    // Behind the start of the stream and of its text, the next part waits.
    for (const type of ['stream-start', 'text-start']) expect((await reader.read()).value?.type).toBe(type)
    await vi.advanceTimersByTimeAsync(1)
    // Counted at once, as above.
    const before = vi.getTimerCount()
    const cancelled = reader.cancel()
    expect(vi.getTimerCount()).toBe(before - 1)
    await cancelled
  })

  it('does not start if the signal is already aborted', async () => {
    const reason = new Error('too late')
    const error = await thrownBy(
      scriptedModel([{ text: 'a' }]).doStream({ prompt, abortSignal: AbortSignal.abort(reason) }),
    )
    expect(error).toBe(reason)
  })
})

/** The parts before the stream hangs, with the signal aborted meanwhile. */
async function readUntilHanging(step: ScriptedStep): Promise<string[]> {
  const abort = new AbortController()
  const { stream } = await scriptedModel([step]).doStream({ prompt, abortSignal: abort.signal })
  const reader = stream.getReader()
  const seen: string[] = []
  const hanging = Symbol('hanging')
  for (;;) {
    const next = await Promise.race([reader.read(), new Promise<typeof hanging>((r) => setTimeout(r, 5, hanging))])
    if (next === hanging) return seen
    if (next.done) throw new Error('the stream ended')
    seen.push(next.value.type)
    abort.abort()
  }
}

describe('a stall', () => {
  it('comes after all chunks and ignores the signal', async () => {
    expect(await readUntilHanging({ text: 'a', stall: true })).toEqual([
      'stream-start',
      'text-start',
      'text-delta',
      'text-end',
    ])
  })

  it('comes after the scripted number of chunks, also inside a tool input', async () => {
    const step: ScriptedStep = { text: 'a', toolCalls: [{ name: 'b' }], stall: true, failAfterChunks: 2 }
    expect((await readUntilHanging(step)).slice(-2)).toEqual(['tool-input-start', 'tool-input-delta'])
  })

  it('can keep the call itself from returning', async () => {
    const abort = new AbortController()
    let settled = false
    const call = scriptedModel([{ stall: 'connect' }]).doStream({ prompt, abortSignal: abort.signal })
    void Promise.resolve(call).finally(() => (settled = true))
    abort.abort()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(settled).toBe(false)
  })
})

describe('doGenerate', () => {
  it('answers from the same steps', async () => {
    const model = scriptedModel([
      { reasoning: 'hm', text: ['a', 'b'], toolCalls: [{ name: 'c', input: { x: 1 } }], usage: { outputTokens: 3 } },
    ])
    const result = await model.doGenerate({ prompt })
    expect(result.content).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ab' },
      { type: 'tool-call', toolCallId: 'call_0_0', toolName: 'c', input: '{"x":1}' },
    ])
    expect(result).toMatchObject({ finishReason: { unified: 'tool-calls' }, usage: { outputTokens: { total: 3 } } })
  })

  it('throws the error of the stream', async () => {
    const error = new Error('overloaded')
    const model = scriptedModel([{ error }, { text: 'a', failAfterChunks: 1 }])
    expect(await thrownBy(model.doGenerate({ prompt }))).toBe(error)
    expect(await thrownBy(model.doGenerate({ prompt }))).toMatchObject({ message: 'terminated' })
  })
})

it('the scripted model keeps no reference to a prompt', async () => {
  const model = scriptedModel([(_, index) => ({ text: `${index}` })], { after: 'repeat-last' })
  const collected = vi.fn<(value: string) => void>()
  const registry = new FinalizationRegistry(collected)
  async function call(): Promise<void> {
    const once: LanguageModelV4CallOptions['prompt'] = [{ role: 'system', content: 'once' }]
    registry.register(once, 'prompt')
    await collect(model, { prompt: once })
  }
  await call()
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  if (typeof gc !== 'function') throw new Error('no gc')
  for (let n = 0; n < 10 && collected.mock.calls.length === 0; n++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  expect(collected).toHaveBeenCalledWith('prompt')
  // The model is still reachable: the prompt was not collected together with it.
  expect(said((await collect(model)).parts)).toBe('1')
})
