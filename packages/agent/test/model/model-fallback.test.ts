import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, OneModel } from '@provost/core'
import { modelFallback } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  partsModel,
  say,
  typesOf,
  watch,
} from '../hooks/hook-scenario.ts'

afterEach(() => {
  vi.useRealTimers()
})

function broken(status: number, message: string, headers: Record<string, string> = {}): ScriptedStep {
  return { error: Object.assign(new Error(message), { status, responseHeaders: headers }) }
}
const busy = broken(429, 'slow down')
const full = broken(529, 'overloaded')
const denied = broken(401, 'wrong key')
const tooLong: ScriptedStep = { error: new Error('prompt is too long') }
const cut: ScriptedStep = { text: ['Half an', ' ans'], failAfterChunks: 1 }

function named(modelId: string, ...steps: readonly ScriptedStep[]): LanguageModelV4 {
  return scriptedModel(steps, { modelId })
}
function agentOf(model: OneModel, fallback: Extension, more: Partial<AgentOptions> = {}) {
  return createAgent({ name: 'a', model, settings: { maxRetries: 0 }, ...more, extensions: [fallback] })
}

describe('modelFallback', () => {
  it.each([
    ['a rate limit', busy, 'rate-limit'],
    ['want of capacity', full, 'capacity'],
    ['a prompt that is too long', tooLong, 'context-length'],
    ['a network that fails', { error: new TypeError('fetch failed') }, 'network'],
    ['a stream that is cut', cut, 'network'],
  ] as const)('takes the next model after %s', async (_, step, kind) => {
    const first = named('one', step)
    const agent = agentOf(first, modelFallback([first, named('two', { text: 'Full answer' })]))
    const { events, result } = await watch(agent.stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'Full answer' })
    expect(only(events, 'model.fallback')).toMatchObject([{ from: 'scripted/one', to: 'scripted/two', class: kind }])
    assertWellFormed(result.messages)
  })

  it('discards what had been said for all to see, and asks the whole step again', async () => {
    const asked: Parameters<typeof askedModel>[0] = []
    const agent = agentOf(
      named('one', { toolCalls: [say('x')] }, cut),
      modelFallback([askedModel(asked, [{ text: 'Full answer' }], { modelId: 'two' })]),
      { tools: [echo] },
    )
    const { events, result } = await watch(agent.stream('go'))
    expect(result.text).toBe('Full answer')
    expect(asked.map(lines)).toEqual([['user: go', 'assistant: [echo {"value":"x"}]', 'tool: [echo → echo x]']])
    expect(only(events, 'message.end').filter(({ discarded }) => discarded)).toMatchObject([
      { step: 2, attempt: 1, message: { content: [{ text: 'Half an' }] } },
    ])
    expect(typesOf(events.filter(({ step }) => step === 2)).slice(0, 9)).toEqual([
      'step.start',
      'message.start',
      'text.start',
      'text.delta',
      'text.end',
      'message.end',
      'model.fallback',
      'message.start',
      'text.start',
    ])
  })

  it('counts usage and cost for the model that spent them, discarded attempts too', async () => {
    const store = memoryStore()
    const usage = { inputTokens: 1_000_000, outputTokens: 0 }
    const half = partsModel([
      {
        type: 'custom',
        kind: 'anthropic.message_start',
        providerMetadata: { anthropic: { usage: { input_tokens: 1_000_000, output_tokens: 0 } } },
      },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Half' },
    ])
    const agent = agentOf(half, modelFallback([named('two', { text: 'ok', usage })]), {
      store,
      prices: { 'parts/parts-model': { input: 3, output: 0 }, 'scripted/two': { input: 2, output: 0 } },
    })
    const result = await agent.run('go')
    expect(result).toMatchObject({
      status: 'completed',
      cost: 5,
      usage: {
        inputTokens: 2_000_000,
        byModel: {
          'parts/parts-model': { inputTokens: 1_000_000, cost: 3, discarded: { inputTokens: 1_000_000 } },
          'scripted/two': { inputTokens: 1_000_000, cost: 2 },
        },
      },
    })
    expect(await entriesOfType(store, result, 'attempt')).toMatchObject([
      { model: 'parts/parts-model', outcome: 'discarded' },
      { model: 'scripted/two', outcome: 'answered' },
    ])
  })

  it('goes down the list, each model once, also where all have one name', async () => {
    const [a, b, c] = [scriptedModel([busy]), scriptedModel([full]), scriptedModel([{ text: 'third' }])] as const
    const { events, result } = await watch(agentOf(a, modelFallback([a, b, c])).stream('go'))
    expect(result.text).toBe('third')
    expect(only(events, 'model.fallback').map((event) => event.class)).toEqual(['rate-limit', 'capacity'])
  })

  it('begins with the agent’s model again in the next step', async () => {
    const agent = agentOf(
      named('one', cut, { text: 'One again' }),
      modelFallback([named('two', { toolCalls: [say('x')] })]),
      { tools: [echo] },
    )
    const { events, result } = await watch(agent.stream('go'))
    expect(result.text).toBe('One again')
    expect(only(events, 'step.start').map(({ model }) => model)).toEqual(['scripted/one', 'scripted/one'])
  })

  it('stays away from what another model would not mend, unless it is told to', async () => {
    const one = (): LanguageModelV4 => named('one', denied)
    const plain = await agentOf(one(), modelFallback([named('two', { text: 'ok' })])).run('go')
    expect(failure(plain)).toMatchObject({ code: 'auth', message: 'wrong key' })
    const told = await agentOf(one(), modelFallback([named('two', { text: 'ok' })], { on: ['auth'] })).run('go')
    expect(told.text).toBe('ok')
  })

  it('does not repeat what a tool of the provider has done, and says so where several were asked', async () => {
    const effect = (): LanguageModelV4 =>
      partsModel([
        { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: 'found' },
      ])
    const last = named('last', { text: 'never' })
    const { events, result } = await watch(agentOf(effect(), modelFallback([last])).stream('go'))
    expect(failure(result).code).toBe('stream-cut')
    expect(only(events, 'model.fallback')).toEqual([])

    const second = failure(await agentOf(named('one', cut), modelFallback([effect(), last])).run('go'))
    expect(second).toMatchObject({
      code: 'models-failed',
      hint: expect.stringContaining('executed a tool before the failure'),
    })
  })

  it('says of each model why it did not answer when none is left', async () => {
    const agent = agentOf(
      named('one', busy),
      modelFallback([named('two', full), named('three', { error: new TypeError('fetch failed') })]),
    )
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result)).toMatchObject({
      code: 'models-failed',
      message:
        'No model answered: scripted/one (rate-limit: slow down); scripted/two (capacity: overloaded); scripted/three (network: fetch failed).',
      hint: expect.stringMatching(/later|another provider/),
    })
    expect(events.at(-1)).toMatchObject({ type: 'agent.end', error: { code: 'models-failed', retryable: true } })
    assertWellFormed(result.messages)
  })

  it('leaves a single model to fail in its own words', async () => {
    const one = named('one', busy)
    expect(failure(await agentOf(one, modelFallback([one])).run('go'))).toMatchObject({ code: 'rate-limit' })
  })

  it('tries the last one again as often as without it', async () => {
    const quick = broken(529, 'overloaded', { 'retry-after-ms': '1' })
    const agent = agentOf(named('one', quick), modelFallback([named('two', quick, { text: 'after all' })]), {
      settings: {},
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(result.text).toBe('after all')
    expect(only(events, 'model.retry')).toMatchObject([{ model: 'scripted/two', attempt: 2 }])
  })

  it('passes over a model that cannot be loaded, and says so', async () => {
    const agent = agentOf(named('one', busy), modelFallback(['no-such/model', named('three', { text: 'ok' })]))
    const { events, result } = await watch(agent.stream('go'))
    expect(result.text).toBe('ok')
    expect(only(events, 'extension')).toMatchObject([
      { name: 'model-fallback', data: { unusable: expect.stringContaining('provider-not-installed') } },
    ])
    const none = failure(await agentOf(named('one', busy), modelFallback(['no-such/model'])).run('go'))
    expect(none.message).toMatch(/scripted\/one \(rate-limit.*no-such\/model \(provider-not-installed/)
  })

  it('leaves a model that stalls, where it is told to', async () => {
    const stalled = named('one', { text: 'Half', stall: true })
    const agent = agentOf(stalled, modelFallback([named('two', { text: 'ok' })], { on: ['timeout'] }), {
      settings: { stallMs: 10 },
    })
    expect((await agent.run('go')).text).toBe('ok')
  })

  it('asks each model once at most, stops where it is not to continue, and tells of all it asked', async () => {
    const kinds = { ok: { text: 'ok' }, busy, full, cut, denied } as const
    const kind = fc.constantFrom('ok', 'busy', 'full', 'cut', 'denied')
    await fc.assert(
      fc.asyncProperty(fc.tuple(kind, kind, kind, kind), async (each) => {
        const asked: string[] = []
        const [own, ...rest] = each.map((step, index) => {
          const answer = (): ScriptedStep => {
            asked.push(`${index}`)
            return kinds[step]
          }
          return scriptedModel([answer], { modelId: `m${index}`, after: 'repeat-last' })
        })
        const [first, ...others] = rest
        if (!own || !first) return
        const { events, result } = await watch(agentOf(own, modelFallback([first, ...others])).stream('go'))
        const last = each.findIndex((step) => step === 'ok' || step === 'denied')
        const count = last < 0 ? each.length : last + 1
        expect(asked).toEqual(['0', '1', '2', '3'].slice(0, count))
        expect(only(events, 'model.fallback')).toHaveLength(count - 1)
        expect(result.status).toBe(each[last] === 'ok' ? 'completed' : 'failed')
        const told = result.error?.message ?? 'm0 m1 m2 m3'
        expect(asked.every((index) => count === 1 || told.includes(`m${index}`))).toBe(true)
        assertWellFormed(result.messages)
      }),
    )
  })

  it('lets extensions behind it find a remedy where it has none', async () => {
    const compaction = extension('compaction', {
      context: ({ trigger, messages: [first] }) =>
        trigger === 'overflow' && first ? { from: first.id, to: first.id, with: [{ content: 'short' }] } : undefined,
      'model.error': ({ class: kind }) => (kind === 'context-length' ? { compact: true } : undefined),
    })
    const agent = createAgent({
      name: 'a',
      model: named('one', tooLong),
      extensions: [modelFallback([named('two', tooLong, { text: 'fits' })]), compaction],
    })
    expect(await agent.run('a long question')).toMatchObject({ status: 'completed', text: 'fits' })
  })
})

describe('a model that rests', () => {
  it('is left out at the beginning of later steps and by other runs, until it has rested', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const asks: string[] = []
    const one = scriptedModel(
      [
        () => {
          asks.push('one')
          return asks.length === 1 ? broken(429, 'slow down', { 'retry-after': '30' }) : { text: 'well again' }
        },
      ],
      { modelId: 'one', after: 'repeat-last' },
    )
    const two = named('two', { toolCalls: [say('x')] }, { text: 'second step' }, { text: 'second run' })
    const agent = agentOf(one, modelFallback([one, two]), { tools: [echo] })
    const first = await watch(agent.stream('go'))
    expect(only(first.events, 'step.start').map(({ model }) => model)).toEqual(['scripted/one', 'scripted/two'])
    expect(only(first.events, 'extension')).toMatchObject([
      { data: { skipped: ['scripted/one (in cooldown for 30 s (rate-limit))'], model: 'scripted/two' } },
    ])

    vi.setSystemTime(Date.now() + 29_000)
    const other = agentOf(one, modelFallback([two]))
    expect((await other.run('again')).text).toBe('second run')
    expect(asks).toHaveLength(1)

    vi.setSystemTime(Date.now() + 1000)
    expect((await agent.run('and again')).text).toBe('well again')
  })

  it('is found out about by one call; others wait for its outcome elsewhere', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    let asks = 0
    const gate = Promise.withResolvers<void>()
    const one = scriptedModel(
      [
        () => {
          asks++
          return asks === 1 ? busy : { text: 'one' }
        },
      ],
      { modelId: 'one', after: 'repeat-last' },
    )
    const slow: LanguageModelV4 = {
      ...one,
      doStream: async (options) => {
        if (asks > 0) await gate.promise
        return one.doStream(options)
      },
    }
    const agent = agentOf(slow, modelFallback([scriptedModel([{ text: 'two' }], { after: 'repeat-last' })]))
    expect((await agent.run('go')).text).toBe('two')
    vi.setSystemTime(Date.now() + 5000)
    const probing = agent.run('first')
    // Starts in its turn, so the first has asked by then.
    expect((await agent.run('second')).text).toBe('two')
    gate.resolve()
    expect((await probing).text).toBe('one')
    expect((await agent.run('third')).text).toBe('one')
  })

  it('is waited for when all rest, and the step continues with the first that wakes', async () => {
    const one = named('one', broken(429, 'slow down', { 'retry-after-ms': '40' }), { text: 'awake' })
    const two = named('two', broken(429, 'slow down', { 'retry-after': '50' }))
    const agent = agentOf(one, modelFallback([two]))
    expect(failure(await agent.run('go')).code).toBe('models-failed')
    expect((await agent.run('again')).text).toBe('awake')
  })

  it('is not waited for beyond a minute, and an abort ends the wait', async () => {
    const long = broken(429, 'slow down', { 'retry-after': '90' })
    const [one, two] = [named('one', long), named('two', long)]
    const agent = agentOf(one, modelFallback([two]))
    await agent.run('go')
    expect(failure(await agent.run('again'))).toMatchObject({
      code: 'models-failed',
      message: expect.stringMatching(/one \(in cooldown for \d+ s \(rate-limit\)\); scripted\/two \(in cooldown/),
    })
    const soon = broken(429, 'slow down', { 'retry-after': '20' })
    const waiting = agentOf(named('three', soon), modelFallback([named('four', soon)]))
    await waiting.run('go')
    const stream = waiting.stream('again')
    setTimeout(() => void stream.abort({ graceMs: 0 }), 5)
    expect((await stream.result).status).toBe('aborted')
  })

  it('is asked all the same where its reason is not one to fall back for', async () => {
    const one = named('one', busy, { text: 'one' })
    const agent = agentOf(one, modelFallback([named('two', { text: 'two' })], { on: ['network'] }))
    await agent.run('go')
    expect((await agent.run('again')).text).toBe('one')
  })
})

it('a run that was left in the middle of failing attempts continues with the list from its log', async () => {
  const store = memoryStore()
  const make = (...steps: readonly ScriptedStep[]) =>
    agentOf(named('one', ...steps), modelFallback([named('two', { error: new TypeError('fetch failed') })]), { store })
  const failed = await make(cut).run('go')
  expect(failure(failed).code).toBe('models-failed')
  const resumed = await make({ text: 'ok' }).run(failed.state)
  expect(resumed).toMatchObject({ status: 'completed', text: 'ok' })
  expect((await entriesOfType(store, resumed, 'attempt')).map(({ model, outcome }) => `${model} ${outcome}`)).toEqual([
    'scripted/one discarded',
    'scripted/two discarded',
    'scripted/one answered',
  ])
})
