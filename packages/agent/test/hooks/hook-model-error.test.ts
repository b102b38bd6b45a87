import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, FailureAnswer, Hooks, ModelFailure } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { describe, expect, it, vi } from 'vitest'

import {
  askedModel,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  partsModel,
  reported,
  transcript,
  typesOf,
  watch,
} from './hook-scenario.ts'

function onError(name: string, hook: NonNullable<Hooks['model.error']>): Extension {
  return extension(name, { 'model.error': hook })
}
const busy: ScriptedStep = { error: Object.assign(new Error('slow down'), { status: 429 }) }
const refused: ScriptedStep = { error: Object.assign(new Error('bad request'), { status: 400 }) }
const cut: ScriptedStep = { text: ['Half an', ' ans'], failAfterChunks: 1, usage: { inputTokens: 9, outputTokens: 9 } }
const now: FailureAnswer = { retryAfterMs: 0 }

function agentOf(steps: readonly ScriptedStep[], extensions: readonly Extension[], more: Partial<AgentOptions> = {}) {
  return createAgent({ name: 'a', model: scriptedModel(steps), ...more, extensions })
}

describe('model.error', () => {
  it('sees a failed attempt: its class, what had been said, whether asking again is harmless', async () => {
    const seen: ModelFailure[] = []
    const look = onError('look', (failed) => {
      seen.push(failed)
      return now
    })
    const { runId } = await agentOf([busy, cut, { text: 'ok' }], [look]).run('go')
    expect(seen).toMatchObject([
      {
        class: 'rate-limit',
        model: 'scripted/scripted-model',
        attempt: 1,
        effects: false,
        error: { message: 'slow down', retryable: true },
      },
      {
        class: 'network',
        attempt: 2,
        partial: {
          id: `${runId}/1/message/2`,
          role: 'assistant',
          content: [{ type: 'text', text: 'Half an' }],
          partial: true,
        },
      },
    ])
    expect(seen[0]?.partial).toBeUndefined()
  })

  it('sees the settings of the call, as hooks before it left them', async () => {
    const seen: ModelFailure['params'][] = []
    const cool = extension('cool', {
      'model.request': ({ params }) => ({ params: { ...params, maxRetries: 1 } }),
      'model.error': ({ params }) => void seen.push(params),
    })
    const agent = agentOf(
      [
        { ...busy, error: Object.assign(new Error('slow'), { status: 429, headers: { 'retry-after-ms': '1' } }) },
        refused,
      ],
      [cool],
      { settings: { temperature: 0, maxRetries: 0 } },
    )
    expect(failure(await agent.run('go')).message).toContain('bad request')
    expect(seen).toEqual([
      { temperature: 0, maxRetries: 1 },
      { temperature: 0, maxRetries: 1 },
    ])
  })

  it('is asked in the order of extensions until one has an answer', async () => {
    const seen: string[] = []
    const say = (name: string, answer?: FailureAnswer): Extension =>
      onError(name, () => {
        seen.push(name)
        return answer
      })
    await agentOf([busy, { text: 'ok' }], [say('one'), say('two', now), say('three', now)]).run('go')
    expect(seen).toEqual(['one', 'two'])
  })

  it('is not asked about an abort', async () => {
    const hook = vi.fn()
    const stream = agentOf([{ text: 'x', stall: true }], [onError('look', hook)]).stream('go')
    for await (const event of stream) if (event.type === 'text.delta') void stream.abort({ graceMs: 0 })
    expect((await stream.result).status).toBe('aborted')
    expect(hook).not.toHaveBeenCalled()
  })
})

describe('an answer of model.error', () => {
  it('retries when it says, even what would not be tried again', async () => {
    const { events, result } = await watch(
      agentOf([refused, { text: 'ok' }], [onError('again', () => ({ retryAfterMs: 3 }))]).stream('go'),
    )
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
    expect(only(events, 'model.retry')).toMatchObject([
      { model: 'scripted/scripted-model', attempt: 1, afterMs: 3, class: 'invalid-request' },
    ])
  })

  it('takes another model for the whole step, and usage counts for the model that spent it', async () => {
    const store = memoryStore()
    const other = scriptedModel([{ text: 'Full answer', usage: { inputTokens: 5, outputTokens: 2 } }], {
      modelId: 'other',
    })
    const agent = agentOf([{ ...cut, failAfterChunks: 2 }], [onError('fallback', () => ({ useModel: other }))], {
      store,
      settings: { maxRetries: 0 },
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'Full answer' })
    expect(only(events, 'model.fallback')).toMatchObject([
      { from: 'scripted/scripted-model', to: 'scripted/other', class: 'network' },
    ])
    expect(await entriesOfType(store, result, 'attempt')).toMatchObject([
      { model: 'scripted/scripted-model', attempt: 1, outcome: 'discarded', class: 'network' },
      { model: 'scripted/other', attempt: 2, outcome: 'answered', usage: { inputTokens: 5, outputTokens: 2 } },
    ])
    expect(result.usage).toMatchObject({
      estimated: true,
      byModel: {
        'scripted/other': { inputTokens: 5, outputTokens: 2 },
        // It broke off and reported nothing.
        'scripted/scripted-model': { discarded: { inputTokens: expect.any(Number), estimated: true } },
      },
    })
  })

  it('lets the context hooks cut the view, once a step, and asks again', async () => {
    const triggers: string[] = []
    const asked: Parameters<typeof askedModel>[0] = []
    const tooLong: ScriptedStep = { error: new Error('prompt is too long: maximum context length is 10 tokens') }
    const compaction = extension('compaction', {
      context: (view) => {
        triggers.push(view.trigger)
        const [first] = view.messages
        return view.trigger === 'overflow' && first
          ? { from: first.id, to: first.id, with: [{ content: 'short' }] }
          : undefined
      },
      'model.error': ({ class: kind }) => (kind === 'context-length' ? { compact: true } : undefined),
    })
    const agent = agentOf([], [compaction], { model: askedModel(asked, [tooLong, { text: 'ok' }]) })
    expect(await agent.run('a very long question')).toMatchObject({ status: 'completed', text: 'ok' })
    expect(triggers).toEqual(['step', 'overflow'])
    expect(asked.map(lines)).toEqual([['user: a very long question'], ['user: short']])

    const never = agentOf(
      [tooLong, tooLong, tooLong],
      [extension('compaction', { 'model.error': () => ({ compact: true }) })],
    )
    expect(failure(await never.run('go')).code).toBe('context-length')
  })

  it('logs the cut as a compaction, and the tail of each request that was made', async () => {
    const store = memoryStore()
    const compaction = extension('compaction', {
      context: ({ trigger, messages: [first] }) =>
        trigger === 'overflow' && first ? { from: first.id, to: first.id, with: [{ content: 'short' }] } : undefined,
      'model.request': (_request, { view }) => ({ tail: [{ content: view.trigger }] }),
      'model.error': () => ({ compact: true }),
    })
    const asked: Parameters<typeof askedModel>[0] = []
    const agent = agentOf([], [compaction], {
      store,
      model: askedModel(asked, [{ error: new Error('too long') }, { text: 'ok' }]),
    })
    const result = await agent.run('go')
    expect(asked.map(lines)).toEqual([
      ['user: go', 'user: step'],
      ['user: short', 'user: overflow'],
    ])
    expect(await entriesOfType(store, result, 'view')).toMatchObject([{ reason: 'compaction' }])
    expect(new Set((await entriesOfType(store, result, 'tail')).map(({ hash }) => hash)).size).toBe(2)
  })

  it('does not continue for ever', async () => {
    const hook = vi.fn(() => now)
    const agent = agentOf([busy], [onError('stubborn', hook)], {
      model: scriptedModel([busy], { after: 'repeat-last' }),
    })
    expect((await agent.run('go')).status).toBe('failed')
    expect(hook.mock.calls.length).toBeLessThan(100)
  })

  it('that throws fails the run, and is named', async () => {
    const { events, result } = await watch(
      agentOf([cut], [onError('broken', () => Promise.reject(new Error('no list')))]).stream('go'),
    )
    expect(failure(result)).toMatchObject({ code: 'hook-failed' })
    expect(reported(events)).toEqual(['hook broken: The model.error hook of broken threw: no list'])
    expect(transcript(result.messages)).toEqual(['user: go', 'error: Half an'])
    assertWellFormed(result.messages)
  })
})

describe('without an answer', () => {
  it('what may pass is tried again', async () => {
    const hook = vi.fn()
    const flaky: ScriptedStep = {
      error: Object.assign(new Error('slow down'), { status: 429, responseHeaders: { 'retry-after-ms': '1' } }),
    }
    const { events, result } = await watch(agentOf([flaky, { text: 'ok' }], [onError('look', hook)]).stream('go'))
    expect(result.text).toBe('ok')
    expect(hook).toHaveBeenCalledTimes(1)
    expect(typesOf(events)).toContain('model.retry')
  })

  it('what may not is not, and the run says what it met', async () => {
    const agent = agentOf([{ ...cut, error: Object.assign(new Error('bad request'), { status: 400 }) }], [])
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result)).toMatchObject({ code: 'invalid-request', message: 'bad request' })
    expect(transcript(result.messages)).toEqual(['user: go', 'error: Half an'])
    expect(only(events, 'model.retry')).toEqual([])
    assertWellFormed(result.messages)
  })

  it('nor is an attempt in which the provider ran a tool of its own', async () => {
    const seen: ModelFailure[] = []
    const model = partsModel(
      [
        { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: 'found' },
      ],
      [{ type: 'text-start', id: '0' }],
    )
    const result = await agentOf([], [onError('look', (failed) => void seen.push(failed))], { model }).run('go')
    expect(seen).toMatchObject([{ class: 'network', effects: true }])
    expect(failure(result)).toMatchObject({ retryable: false, hint: expect.stringContaining('executed a tool') })
  })
})
