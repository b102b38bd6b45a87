import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, Extension, Hooks, ModelRequest } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  outside,
  reported,
  say,
  transcript,
  typesOf,
  watch,
} from './hook-scenario.ts'

function onRequest(name: string, hook: NonNullable<Hooks['model.request']>): Extension {
  return extension(name, { 'model.request': hook })
}
const rm = tool({ name: 'rm', input: z.object({}), execute: () => 'gone' })

/** Runs an agent over these steps and gives what its model was asked. */
async function asking(
  steps: readonly ScriptedStep[],
  extensions: readonly Extension[],
  more: Partial<AgentOptions> = {},
) {
  const asked: ScriptedPrompt[] = []
  const store = memoryStore()
  const agent = createAgent({
    name: 'a',
    model: askedModel(asked, steps),
    tools: [echo, rm],
    store,
    ...more,
    extensions,
  })
  const { events, result } = await watch(agent.stream('go'))
  return { asked, events, result, store }
}

describe('model.request', () => {
  it('sees the call before it is made: model, history, tail, tools and parameters', async () => {
    const seen: ModelRequest[] = []
    await asking(
      [{ text: 'done' }],
      [
        onRequest(
          'look',
          ({ model, spec, label, messages, tail, tools, params }) =>
            void seen.push({ model, spec, label, messages, tail, tools, params }),
        ),
      ],
      { settings: { temperature: 0.3 } },
    )
    expect(seen).toMatchObject([
      {
        model: 'scripted/scripted-model',
        spec: { modelId: 'scripted-model' },
        label: { confidentiality: 'internal' },
        messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
        tail: [],
        tools: [{ name: 'echo' }, { name: 'rm' }],
        params: { temperature: 0.3 },
      },
    ])
  })

  it('is asked before each step, in the order of extensions, each with what those before it changed', async () => {
    const seen: string[] = []
    const look = (name: string): Extension =>
      onRequest(name, ({ model, tail, tools, params }) => {
        seen.push(`${name}: ${model} ${tail.length} ${tools.length} ${params.temperature}`)
        return {
          tail: [{ content: name }],
          tools: ['echo'],
          params: { temperature: 0.5 },
          model: scriptedModel([], { modelId: name }),
        }
      })
    const last = scriptedModel([{ toolCalls: [say('x')] }, { text: 'done' }])
    await asking([], [look('one'), look('two'), onRequest('three', () => ({ model: last }))])
    expect(seen).toEqual([
      'one: scripted/scripted-model 0 2 undefined',
      'two: scripted/one 1 1 0.5',
      'one: scripted/scripted-model 0 2 undefined',
      'two: scripted/one 1 1 0.5',
    ])
  })
})

describe('the tail of a request', () => {
  const tail = onRequest('clock', () => ({ tail: [{ content: 'It is noon.' }] }))

  it('stands behind the history, those of several extensions in their order', async () => {
    const { asked } = await asking(
      [{ toolCalls: [say('x')] }, { text: 'done' }],
      [tail, onRequest('mood', () => ({ tail: [{ role: 'user', content: 'Be kind.' }] }))],
    )
    expect(asked.map(lines)).toEqual([
      ['user: go', 'user: It is noon.', 'user: Be kind.'],
      ['user: go', 'assistant: [echo {"value":"x"}]', 'tool: [echo → echo x]', 'user: It is noon.', 'user: Be kind.'],
    ])
  })

  it('leaves the prefix as it was, object by object', async () => {
    const { asked } = await asking([{ toolCalls: [say('x')] }, { toolCalls: [say('y')] }, { text: 'done' }], [tail])
    for (const [index, { messages }] of asked.slice(0, -1).entries()) {
      const prefix = messages.slice(0, -1)
      const next = asked[index + 1]?.messages ?? []
      for (const [at, message] of prefix.entries()) expect(next[at]).toBe(message)
    }
  })

  it('never becomes history', async () => {
    const { result } = await asking([{ text: 'done' }], [tail])
    expect(transcript(result.messages)).toEqual(['user: go', 'assistant: done'])
  })

  it('is logged by hash and label before the call, and not by its words', async () => {
    const { result, store } = await asking(
      [{ toolCalls: [say('x')] }, { text: 'done' }],
      [
        onRequest('memory', (_request, { run }) => ({
          tail: [{ content: `note ${run.step > 1 ? 'b' : 'a'}`, label: outside('notes') }],
        })),
      ],
    )
    const tails = await entriesOfType(store, result, 'tail')
    expect(tails).toMatchObject([
      { step: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/), label: outside('notes') },
      { step: 2, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ])
    expect(tails[0]?.hash).not.toBe(tails[1]?.hash)
    expect(JSON.stringify(tails)).not.toContain('note a')
  })

  it('has the same hash whenever it says the same', async () => {
    const { result, store } = await asking([{ toolCalls: [say('x')] }, { text: 'done' }], [tail])
    const [first, second] = await entriesOfType(store, result, 'tail')
    expect(first?.hash).toBe(second?.hash)
  })

  it('joins its label to that of the answer, and only of the answers that were given with it', async () => {
    const { result } = await asking(
      [{ text: 'one' }],
      [
        onRequest('memory', () => ({
          tail: [{ content: 'x', label: { integrity: 'untrusted', confidentiality: 'secret', sources: ['notes'] } }],
        })),
      ],
    )
    expect(result.messages.map(({ label }) => label)).toEqual([
      { integrity: 'trusted', confidentiality: 'internal', sources: [] },
      { integrity: 'untrusted', confidentiality: 'secret', sources: ['notes'] },
    ])
  })
})

describe('what a request may change', () => {
  it('narrows the tools, and cannot add any', async () => {
    const { asked } = await asking(
      [{ text: 'done' }],
      [onRequest('only', () => ({ tools: ['rm', 'sudo'] })), onRequest('back', () => ({ tools: ['echo', 'rm'] }))],
    )
    expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['rm'])
  })

  it('offers none at all', async () => {
    const { asked } = await asking([{ text: 'done' }], [onRequest('none', () => ({ tools: [] }))])
    expect(asked[0]?.tools).toEqual([])
  })

  it('offers all again in the next step where it says nothing', async () => {
    const { asked } = await asking(
      [{ toolCalls: [say('x')] }, { text: 'done' }],
      [onRequest('first', (_request, { run }) => (run.step === 1 ? { tools: ['echo'] } : undefined))],
    )
    expect(asked.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['echo'], ['echo', 'rm']])
  })

  it('takes another model, before that of the run and of the agent', async () => {
    const other = scriptedModel([{ text: 'I am other' }], { modelId: 'other' })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([]),
      extensions: [onRequest('route', () => ({ model: other }))],
    })
    const { events, result } = await watch(agent.stream('go', { model: scriptedModel([]) }))
    expect(result.text).toBe('I am other')
    expect(only(events, 'step.start')).toMatchObject([{ model: 'scripted/other' }])
    expect(Object.keys(result.usage.byModel)).toEqual(['scripted/other'])
  })

  it('sets parameters over those of the run, which go over those of the agent', async () => {
    const asked: ScriptedPrompt[] = []
    const agent = createAgent({
      name: 'a',
      model: askedModel(asked, [{ text: 'done' }]),
      settings: { temperature: 0.1, topP: 0.1, seed: 1 },
      extensions: [onRequest('params', () => ({ params: { temperature: 0.9 } }))],
    })
    await agent.run('go', { settings: { temperature: 0.5, topP: 0.5 } })
    expect(asked[0]?.options).toMatchObject({ temperature: 0.9, topP: 0.5, seed: 1 })
  })

  it('stops the run before the model is asked', async () => {
    const { asked, events, result } = await asking(
      [{ text: 'done' }],
      [onRequest('budget', (_request, ctx) => ctx.stop('budget', 'All is spent.'))],
    )
    expect(failure(result)).toMatchObject({ code: 'budget', message: 'All is spent.' })
    expect(asked).toEqual([])
    expect(only(events, 'step.start')).toEqual([])
    expect(events.at(-1)).toMatchObject({ type: 'agent.end', status: 'failed', error: { code: 'budget' } })
  })

  it('fails the run where it throws, and is named', async () => {
    const after = vi.fn()
    const { asked, events, result } = await asking(
      [{ text: 'done' }],
      [onRequest('broken', () => Promise.reject(new Error('no config'))), onRequest('after', after)],
    )
    expect(failure(result)).toMatchObject({ code: 'hook-failed' })
    expect(failure(result).message).toContain('broken')
    expect(failure(result).cause).toMatchObject({ message: 'no config' })
    expect(reported(events)).toEqual(['hook broken: The model.request hook of broken threw: no config'])
    expect(asked).toEqual([])
    expect(after).not.toHaveBeenCalled()
  })
})

describe('hold', () => {
  /** The events that were out when the answer was judged. */
  async function outBeforeJudged(
    hold: 'links' | 'text' | 'all' | undefined,
    step: ScriptedStep,
    ...more: readonly Extension[]
  ) {
    const out: AgentEvent[] = []
    let before: AgentEvent[] = []
    const guard = extension('guard', {
      'model.request': () => (hold ? { hold } : undefined),
      'model.response': () => {
        if (before.length === 0) before = out.slice()
      },
      event: (event) => void out.push(event),
    })
    const { events, result } = await asking([step, { text: 'done' }], [guard, ...more])
    const said = only(before, 'text.delta').map(({ delta }) => delta)
    return { before: typesOf(before), said, events, result }
  }
  const words: ScriptedStep = { reasoning: 'hm', text: ['a', 'b'], toolCalls: [say('x')] }

  it('without it, words are out as they come', async () => {
    const { before } = await outBeforeJudged(undefined, words)
    expect(before).toEqual(expect.arrayContaining(['reasoning.delta', 'text.delta', 'tool.call.end']))
  })

  it('text: nothing that was said or thought is out before all of it has been judged', async () => {
    const { before, events } = await outBeforeJudged('text', words)
    expect(before).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(text|reasoning)\./)]))
    expect(before).toContain('tool.call.end')
    expect(only(events, 'text.delta').map(({ delta }) => delta)).toEqual(['a', 'b', 'done'])
    expect(only(events, 'reasoning.end')).toMatchObject([{ text: 'hm' }])
  })

  it.each([
    [['One ', 'two [th', 'ree](u) four'], 'One two '],
    [['One tw', 'o.thr', 'ee/four'], 'One '],
    [['One <', 'img src=x>'], 'One '],
    [['One ht', 'tp', ':/', '/two'], 'One '],
    [['One', ' &#104;ttp'], 'One '],
    [['一、二、', '[三](四)'], '一、二、'],
    [['One: two, 3.5 %, ', 'three. Four'], 'One: two, 3.5 %, three. Four'],
  ])(
    'links: the text before the first possible link is out, and the rest once it has been judged: %j',
    async (text, out) => {
      const { said, events } = await outBeforeJudged('links', { text, toolCalls: [say('x')] })
      expect(said.join('')).toBe(out)
      const deltas = only(events, 'text.delta').map(({ delta }) => delta)
      expect(deltas.join('')).toBe(`${text.join('')}done`)
    },
  )

  it('links: of a replaced message, the text behind what is out is emitted', async () => {
    const replaced = (content: string) => extension('replaces', { 'model.response': () => ({ message: { content } }) })
    const kept = await outBeforeJudged('links', { text: ['One [two](u)'] }, replaced('One [two](#)'))
    const text = only(kept.events, 'text.end').map((event) => event.text)
    expect([kept.said, text]).toEqual([['One '], ['One [two](#)']])
    const other = await outBeforeJudged('links', { text: ['One [two](u)'] }, replaced('Withheld.'))
    expect(only(other.events, 'text.delta').map(({ delta }) => delta)).toEqual(['One ', '\n\nWithheld.'])
  })

  it('links: an aborted or failed attempt keeps the link back', async () => {
    const half: ScriptedStep = { text: ['One ', '[two](hunter2)', ' three'], failAfterChunks: 2 }
    const { events, result } = await asking([half], [onRequest('hold', () => ({ hold: 'links' }))], {
      settings: { maxRetries: 0 },
    })
    expect(result.status).toBe('failed')
    expect(only(events, 'text.delta').map(({ delta }) => delta)).toEqual(['One '])
    expect(JSON.stringify([events, result.messages]).includes('hunter2')).toBe(false)
  })

  it('all: nor are its calls', async () => {
    const { before, events } = await outBeforeJudged('all', words)
    expect(before.filter((type) => /^(text|reasoning|tool|message)\./.test(type))).toEqual([
      'message.start',
      'message.end',
    ])
    expect(only(events, 'tool.call.end')).toMatchObject([{ input: { value: 'x' } }])
    expect(typesOf(events)).toEqual(typesOf((await outBeforeJudged(undefined, words)).events))
  })

  it('shows held text to no subscriber when the response is rejected', async () => {
    for (const verdict of ['stop', 'throw'] as const) {
      const guard = extension('guard', {
        'model.response': (_message, ctx) => {
          if (verdict === 'stop') return ctx.stop('leak', 'no')
          throw new Error('broken')
        },
      })
      const { events, result } = await asking(
        [{ text: 'hunter2' }],
        [onRequest('hold', () => ({ hold: 'text' })), guard],
      )
      expect(result.status).toBe('failed')
      expect(JSON.stringify([events, result.messages]).includes('hunter2')).toBe(false)
    }
  })

  it('keeps what was held back of an attempt that failed', async () => {
    const half: ScriptedStep = { text: 'hunter2', toolCalls: [say('x')], failAfterChunks: 2 }
    const again = extension('again', {
      'model.request': () => ({ hold: 'text' }),
      'model.error': ({ attempt }) => (attempt === 1 ? { retryAfterMs: 0 } : undefined),
    })
    const settings = { maxRetries: 0 }
    const { events, result } = await asking([half, half], [again], { settings })
    expect(result.status).toBe('failed')
    expect(only(events, 'message.end').filter(({ discarded }) => discarded)).toHaveLength(1)
    expect(JSON.stringify([events, result.messages]).includes('hunter2')).toBe(false)
  })

  it('keeps what was held back when the run is aborted', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ text: 'hunter2', toolCalls: [say('x')], stall: true }]),
      tools: [echo],
      extensions: [onRequest('hold', () => ({ hold: 'text' }))],
    })
    const stream = agent.stream('go')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'tool.call.end') void stream.abort({ graceMs: 0 })
    }
    expect((await stream.result).status).toBe('aborted')
    expect(JSON.stringify([events, (await stream.result).messages]).includes('hunter2')).toBe(false)
  })

  it('the stricter of several wishes counts', async () => {
    const { before } = await outBeforeJudged(
      'all',
      words,
      onRequest('lax', () => ({ hold: 'text' })),
    )
    expect(before).not.toContain('tool.call.end')
  })
})
