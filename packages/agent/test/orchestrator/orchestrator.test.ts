import type { Orchestrator, OrchestratorRun } from '@provost/agent'
import { agentic, createAgent, foldLog, nextAction, resumeLoop, runLoop, startLoop } from '@provost/agent'
import type { AgentEvent, Entry } from '@provost/core'
import { defineEvent, defineExtension, isEventOf, textOf, untrustedLabel } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectSound, only, readLog } from '../run/run-check.ts'

const look = tool({ name: 'look', input: z.object({ n: z.number() }), effect: 'read', execute: ({ n }) => `saw ${n}` })
const pay = tool({ name: 'pay', input: z.object({ n: z.number() }), execute: ({ n }) => `paid ${n}` })
const call = (name: string, n: number) => ({ name, input: { n } })

function agentOf(orchestrator: Orchestrator | undefined, steps: readonly ScriptedStep[]) {
  return createAgent({
    name: 'led',
    model: scriptedModel(steps, { after: 'error' }),
    tools: [look, pay],
    ...(orchestrator && { orchestrator }),
    settings: { maxRetries: 0 },
  })
}

/** What the texts of a history are, with who said them. */
function said(messages: readonly { role: string; content: Parameters<typeof textOf>[0]['content'] }[]): string[] {
  return messages.flatMap(({ role, content }) => (role === 'tool' ? [] : [`${role}: ${textOf({ content })}`]))
}

describe('agentic', () => {
  const steps = [
    { text: 'Let me see.', toolCalls: [call('look', 1), call('missing', 2)] },
    { reasoning: 'hm', toolCalls: [call('pay', 3)] },
    { text: 'Done.' },
    { text: 'And that.' },
  ]

  /** Events without what differs between any two runs. */
  function comparable(events: readonly AgentEvent[]): unknown {
    const ids = events[0]?.type === 'agent.start' ? [events[0].runId, events[0].sessionId] : []
    const plain = JSON.stringify(events.map((event) => ({ ...event, at: 0 })))
    return JSON.parse(
      ids
        .reduce((text, id, index) => text.replaceAll(id, `id-${index}`), plain)
        .replaceAll(/send\/[\da-f-]+/g, 'send/id')
        .replaceAll(/"(durationMs|createdAt)":[\d.e-]+/g, '"$1":0'),
    )
  }

  async function eventsOf(orchestrator: Orchestrator | undefined): Promise<unknown> {
    const stream = agentOf(orchestrator, steps).stream('Go.')
    stream.followUp('And?')
    const seen = await collect(stream)
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'And that.' })
    return comparable(seen.events)
  }

  test('is the default, and led by hand through the same primitives it gives the same events', async () => {
    const alone = await eventsOf(undefined)
    expect(await eventsOf(agentic())).toEqual(alone)
    expect(await eventsOf((run) => agentic()(run))).toEqual(alone)
  })
})

describe('an orchestrator', () => {
  test('offers tools, chooses model and settings, and adds a tail, step by step', async () => {
    const prompts: ScriptedPrompt[] = []
    const other = scriptedModel([(prompt) => (prompts.push(prompt), { text: 'Other.' })], { modelId: 'other' })
    const agent = createAgent({
      name: 'led',
      model: scriptedModel([(prompt) => (prompts.push(prompt), { text: 'Own.' })]),
      tools: [look, pay],
      async orchestrator(run) {
        expect(run.position).toBe('start-step')
        expect(run.tools.map(({ name }) => name)).toEqual(['look', 'pay'])
        const first = await run.model({
          tools: ['look'],
          model: other,
          settings: { temperature: 0.5 },
          tail: [{ content: 'Be brief.' }],
        })
        expect(textOf(first)).toBe('Other.')
        expect(run.position).toBe('finish')
        await run.say('Once more.')
        expect(run.position).toBe('start-step')
        await run.model()
      },
    })
    const { result, events } = await collect(agent.stream('Go.'))
    expect(result).toMatchObject({ status: 'completed', output: 'Own.' })
    expect(prompts[0]?.tools.map(({ name }) => name)).toEqual(['look'])
    expect(prompts[0]?.options.temperature).toBe(0.5)
    expect(JSON.stringify(prompts[0]?.messages.at(-1))).toContain('Be brief.')
    expect(prompts[1]?.tools).toHaveLength(2)
    expect(JSON.stringify(prompts[1]?.messages)).not.toContain('Be brief.')
    expect(said(result.messages)).toEqual(['user: Go.', 'assistant: Other.', 'user: Once more.', 'assistant: Own.'])
    expect(only(events, 'step.start').map(({ model }) => model)).toEqual(['scripted/other', 'scripted/scripted-model'])
    expect(Object.keys(result.usage.byModel)).toEqual(['scripted/other', 'scripted/scripted-model'])
  })

  test('is overruled by a model.request hook, which sees what it wants', async () => {
    const seen: unknown[] = []
    const agent = createAgent({
      name: 'led',
      model: scriptedModel([{ text: 'Own.' }], { modelId: 'own' }),
      tools: [look, pay],
      extensions: [
        defineExtension({
          name: 'gate',
          hooks: {
            'model.request': ({ model, tools, tail, params }) => {
              seen.push({ model, tools: tools.map(({ name }) => name), tail: tail.length, ...params })
              return { model: scriptedModel([{ text: 'Gate.' }], { modelId: 'gate' }) }
            },
          },
        }),
      ],
      orchestrator: async (run) => {
        const model = scriptedModel([{ text: 'Wish.' }], { modelId: 'wish' })
        await run.model({ model, tools: ['pay', 'missing'], tail: [{ content: 'x' }], settings: { seed: 1 } })
      },
    })
    expect((await agent.run('Go.')).text).toBe('Gate.')
    expect(seen).toEqual([{ model: 'scripted/wish', tools: ['pay'], tail: 1, seed: 1 }])
  })

  test('has the calls run that it picks; the others are skipped with its words', async () => {
    const results: unknown[] = []
    const agent = agentOf(
      async (run) => {
        await run.model()
        const [, second] = run.calls
        expect(run.calls.map(({ tool: { name }, input }) => [name, input])).toEqual([
          ['look', { n: 1 }],
          ['pay', { n: 2 }],
          ['look', { n: 3 }],
        ])
        const done = await run.execute({ only: [second?.callId ?? ''], reason: 'Only paying.' })
        results.push(...done.map(({ outcome, output }) => [outcome, output]))
        expect(run.calls).toEqual([])
        expect(await run.execute()).toEqual([])
        await run.model()
      },
      [{ toolCalls: [call('look', 1), call('pay', 2), call('look', 3)] }, { text: 'Done.' }],
    )
    const seen = await collect(agent.stream('Go.'))
    expectSound(seen)
    const skipped = ['skipped', { type: 'error-text', value: 'Only paying.' }]
    expect(results).toEqual([skipped, ['ok', { type: 'text', value: 'paid 2' }], skipped])
    expect(only(seen.events, 'tool.skipped').map(({ reason }) => reason)).toEqual(['Only paying.', 'Only paying.'])
    expect(only(seen.events, 'tool.execute.start')).toHaveLength(1)
  })

  test('gets data of a schema: what does not fit is asked for again once, then it throws', async () => {
    const shape = z.object({ n: z.number() })
    const got: unknown[] = []
    const orchestrator: Orchestrator = async (run) => {
      got.push(await run.object(shape, { tools: ['look'] }).catch((thrown: { code: string }) => thrown.code))
      await run.say('Now in words.')
      await run.model()
    }
    const mended = await agentOf(orchestrator, [
      { toolCalls: [call('look', 1)] },
      { text: '{"n": "one"}' },
      { text: '```json\n{"n": 1}\n```' },
      { text: 'One.' },
    ]).run('Go.')
    expect(mended).toMatchObject({ status: 'completed', text: 'One.' })
    expect(said(mended.messages)[3]).toMatch(/^user: The answer does not fit: n: /)
    await agentOf(orchestrator, [{ text: '{}' }, { text: 'no JSON' }, { text: 'One.' }]).run('Go.')
    expect(got).toEqual([{ n: 1 }, 'output-invalid'])
  })

  test('may let steps pass that are no answer yet; the one it returns on has to fit the output', async () => {
    const options = { name: 'led', output: z.object({ ok: z.boolean() }) }
    const script = [{ text: 'A draft.' }, { text: '{"ok": true}' }]
    const formats: unknown[] = []
    const model = scriptedModel(
      script.map((step) => ({ options: { responseFormat } }: ScriptedPrompt) => {
        formats.push(responseFormat?.type)
        return step
      }),
    )
    const well = createAgent({
      ...options,
      model,
      async orchestrator(run) {
        await run.model({ output: 'text' })
        await run.say('As JSON.')
        await run.model()
      },
    })
    expect(await well.run('Go.')).toMatchObject({ status: 'completed', output: { ok: true } })
    expect(formats).toEqual([undefined, 'json'])
    const early = createAgent({
      ...options,
      model: scriptedModel(script),
      orchestrator: async (run) => void (await run.model({ output: 'text' })),
    })
    const failed = await early.run('Go.')
    expect(failed.status === 'failed' && failed.error.code).toBe('orchestrator-unfinished')
  })

  test('says things with the label of what it has seen, never as the human', async () => {
    const intents: string[] = []
    const agent = createAgent({
      name: 'led',
      model: scriptedModel([{ toolCalls: [call('look', 1)] }, { text: 'Seen.' }, { text: 'Again.' }, { text: 'End.' }]),
      tools: [look],
      extensions: [
        defineExtension({
          name: 'watch',
          hooks: { 'model.request': (_, ctx) => void intents.push(ctx.intent.map(textOf).join()) },
        }),
      ],
      async orchestrator(run) {
        await agentic()(run)
        expect(run.view.label.integrity).toBe('untrusted')
        expect((await run.say('Think of it.')).label).toEqual(run.view.label)
        await run.model()
        const own = await run.say('A rule of ours.', { integrity: 'trusted', sources: ['rules'] })
        expect(own.label).toMatchObject({ integrity: 'trusted', sources: ['rules'] })
        await run.model()
      },
    })
    const { status, messages } = await agent.run('Go.')
    expect(status).toBe('completed')
    expect(messages.at(-1)?.label).toMatchObject({ integrity: 'untrusted' })
    expect(new Set(intents)).toEqual(new Set(['Go.']))
  })

  test('shows listeners its progress, and sees steers', async () => {
    const agent = agentOf(
      async (run) => {
        run.emit({ phase: 'first' })
        await run.model()
        await run.execute()
        await run.model()
        run.emit({ phase: 'second', steers: run.steers })
      },
      [{ toolCalls: [call('look', 1)] }, { text: 'Done.' }],
    )
    const stream = agent.stream('Go.')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'tool.execute.end') stream.steer('Mind the gap.')
    }
    expect(only(events, 'extension').map(({ name, data }) => [name, data])).toEqual([
      ['orchestrator', { phase: 'first' }],
      ['orchestrator', { phase: 'second', steers: 1 }],
    ])
  })

  test('emits typed events of its own: JSON, frozen, with the label of what it has read', async () => {
    const planMade = defineEvent<{ steps: string[]; at?: Date }>('plan.made')
    const steps = ['one']
    const agent = agentOf(
      async (run) => {
        run.emit(planMade, { steps, at: new Date(0) })
        steps.push('later')
        await run.model()
        await run.execute()
        run.emit('plan.done', { ok: true })
        await run.model()
      },
      [{ toolCalls: [call('look', 1)] }, { text: 'Done.' }],
    )
    const { events, result } = await collect(agent.stream('Go.'))
    expect(result.status).toBe('completed')
    const [first, second] = only(events, 'extension')
    expect(first).toMatchObject({
      name: 'orchestrator',
      event: 'plan.made',
      data: { steps: ['one'], at: '1970-01-01T00:00:00.000Z' },
      label: { integrity: 'trusted' },
    })
    expect(second).toMatchObject({ event: 'plan.done', data: { ok: true }, label: { integrity: 'untrusted' } })
    expect(first && isEventOf(first, planMade) && first.data.steps).toEqual(['one'])
    expect(second && isEventOf(second, planMade)).toBe(false)
    expect(() => Object.assign(first?.data ?? {}, { steps: [] })).toThrow(TypeError)
  })

  test.each<[string, unknown, unknown, string]>([
    ['the name of a built-in event', 'agent.end', {}, 'invalid-event'],
    ['a name with spaces', 'plan made', {}, 'invalid-event'],
    ['an object that is no declaration', { plan: 1 }, {}, 'invalid-event'],
    ['data that is no JSON', 'plan.made', 1n, 'not-json'],
  ])('cannot emit %s', async (_, event, data, expected) => {
    const agent = agentOf(
      async ({ emit }: { readonly emit: (...args: readonly unknown[]) => void }) => emit(event, data),
      [],
    )
    const { events, result } = await collect(agent.stream('Go.'))
    expect(result).toMatchObject({ status: 'failed', error: { code: expected, hint: expect.any(String) } })
    expect(only(events, 'extension')).toEqual([])
  })

  test('is called again for each input that was queued behind it', async () => {
    const calls: string[] = []
    const agent = agentOf(
      async (run) => {
        calls.push(await run.memo('seen', () => textOf(run.view.messages.at(-1) ?? { content: '' })))
        await run.model()
      },
      [{ text: 'One.' }, { text: 'Two.' }],
    )
    const stream = agent.stream('First.')
    stream.followUp('Second.')
    expect((await stream.result).text).toBe('Two.')
    expect(calls).toEqual(['First.', 'Second.'])
  })

  test('receives its mistakes and may continue', async () => {
    const codes: string[] = []
    const code = (thrown: { code: string }): void => void codes.push(thrown.code)
    const agent = agentOf(
      async (run) => {
        await run.model()
        await run.model().catch(code)
        await run.say('Wait.').catch(code)
        await run.execute()
        await run.model()
        await run.model().catch(code)
        await run.memo('bad', () => 1n as never).catch(code)
      },
      [{ toolCalls: [call('look', 1)] }, { text: 'Done.' }],
    )
    expect(await agent.run('Go.')).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(codes).toEqual(['tool-calls-pending', 'tool-calls-pending', 'nothing-to-answer', 'not-json'])
  })

  test('that talks without end, and never asks the model, is stopped', async () => {
    const agent = agentOf(
      async (run) => {
        for (;;) await run.say('And another thing.')
      },
      [{ text: 'Never.' }],
    )
    expect(await agent.run('Go.')).toMatchObject({ status: 'failed', error: { code: 'too-many-messages' } })
  })

  test.for<[string, Orchestrator, string]>([
    ['throws', async (run) => void (await run.model(), Reflect.get({}, 'x').y), 'orchestrator-failed'],
    ['returns at once', async () => {}, 'orchestrator-unfinished'],
    ['leaves its calls', async (run) => void (await run.model()), 'orchestrator-unfinished'],
    [
      'is no async function and throws',
      () => {
        throw new Error('at once')
      },
      'orchestrator-failed',
    ],
  ])('that %s fails the run, and its history is well formed', async ([, orchestrator, code]) => {
    const seen = await collect(agentOf(orchestrator, [{ toolCalls: [call('look', 1)] }]).stream('Go.'))
    expectSound(seen)
    expect(seen.result.status === 'failed' && seen.result.error.code).toBe(code)
    assertWellFormed(seen.result.messages)
  })

  test('is held to maxSteps, is notified that the run is over, and continues when it is resumed', async () => {
    const heard: string[] = []
    let calls = 0
    const agent = agentOf(
      async (run) => {
        calls++
        try {
          for (const word of ['one', 'two', 'three']) {
            await run.model({ tail: [{ content: word }] })
          }
        } catch (thrown) {
          if (thrown instanceof Error && 'code' in thrown) heard.push(String(thrown.code))
          throw thrown
        }
      },
      [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }],
    )
    const stopped = await agent.run('Go.', { maxSteps: 2 })
    expect(stopped.status === 'failed' && stopped.error.code).toBe('max-steps')
    expect(heard).toEqual(['run-over'])
    const done = await agent.run(stopped.state, { maxSteps: 3 })
    expect(done).toMatchObject({ status: 'completed', text: 'Three.' })
    expect(calls).toBe(2)
    expect(said(done.messages)).toEqual(['user: Go.', 'assistant: One.', 'assistant: Two.', 'assistant: Three.'])
  })

  test('that waits in its own code does not keep an abort', async () => {
    let aborted = false
    let over: string | undefined
    const agent = agentOf(async (run) => {
      run.signal.addEventListener('abort', () => void (aborted = true))
      await run.memo('never', () => new Promise<never>(() => {}))
    }, [])
    const stream = agent.stream('Go.')
    setImmediate(() => void stream.abort({ graceMs: 1 }))
    expect((await stream.result).status).toBe('aborted')
    expect(aborted).toBe(true)

    const model = scriptedModel([{ stall: 'connect' }])
    const hung = createAgent({
      name: 'led',
      model,
      orchestrator: async (run) => void (await run.model().catch((thrown: { code: string }) => (over = thrown.code))),
    }).stream('Go.')
    setImmediate(() => void hung.abort({ graceMs: 1 }))
    expect((await hung.result).status).toBe('aborted')
    await new Promise(setImmediate)
    expect(over).toBe('run-over')
  })

  test('that is another one than the log began with is refused', async () => {
    const store = memoryStore()
    const options = { name: 'led', tools: [look], store } as const
    const first = createAgent({
      ...options,
      model: scriptedModel([{ text: 'One.' }, { text: 'Two.' }]),
      async orchestrator(run) {
        await run.model()
        await run.say('More.')
        await run.model()
      },
    })
    const stopped = await first.run('Go.', { maxSteps: 1 })
    expect(stopped.status).toBe('failed')
    const second = createAgent({
      ...options,
      model: scriptedModel([{ text: 'Two.' }]),
      async orchestrator(run) {
        await run.model()
        await run.model({ tail: [{ content: 'More.' }] })
      },
    })
    const refused = await second.run(stopped.state)
    expect(refused.status === 'failed' && refused.error.code).toBe('orchestrator-diverged')
    // Nothing was done in its name: the one it began with still can.
    expect(await first.run(stopped.state)).toMatchObject({ status: 'completed', text: 'Two.' })
  })

  test('leads a loop that is driven by hand, which sees what it wants', async () => {
    const agent = createAgent({
      name: 'by-hand',
      model: 'test/absent',
      tools: [look],
      async orchestrator(run) {
        run.emit('hello')
        await run.model({ tools: [], tail: [{ content: 'Tail.', label: untrustedLabel('tail') }], model: 'some/other' })
        expect(await run.memo('key', () => 42)).toBe(42)
        await run.say('More.')
        await run.model()
      },
    })
    const log: Entry[] = []
    const asks: unknown[] = []
    let n = 0
    const loop = await startLoop(
      agent,
      {
        callModel({ request: { model, tools, tail }, options }) {
          asks.push([model, tools.length, tail.length, options.model])
          const id = `m${++n}`
          const content = [{ type: 'text', text: `Answer ${n}.` } as const]
          return { message: { id, role: 'assistant', content, createdAt: 0 }, usage: {}, finishReason: 'stop' }
        },
        authorize: () => [],
        execute: () => [],
        awaitDecisions: () => 'suspend',
        append: (entries) => log.push(...entries),
        emit: ({ data }) => void asks.push(data),
      },
      'Go.',
    )
    const status = await runLoop(loop)
    expect(status).toBe('completed')
    expect(asks).toEqual(['hello', ['some/other', 0, 1, 'some/other'], ['test/absent', 1, 0, undefined]])
    expect(said(foldLog(log).messages)).toEqual([
      'user: Go.',
      'assistant: Answer 1.',
      'user: More.',
      'assistant: Answer 2.',
    ])
    const idle = { callModel: never, authorize: never, execute: never, awaitDecisions: never, append: never }
    expect(await runLoop(resumeLoop(agent, idle, log))).toBe('completed')
  })

  test('the log alone states that a run continues after an answer, as soon as it has an entry of the next step', async () => {
    const store = memoryStore()
    let fails = true
    const agent = createAgent({
      name: 'led',
      store,
      model: scriptedModel([
        { text: 'One.' },
        () => {
          if (!fails) return { text: 'Two.' }
          fails = false
          throw new Error('overloaded')
        },
        { text: 'Two.' },
      ]),
      settings: { maxRetries: 1 },
      extensions: [defineExtension({ name: 'again', hooks: { 'model.error': () => ({ retryAfterMs: 0 }) } })],
      async orchestrator(run) {
        await run.model()
        await run.model({ tail: [{ content: 'More.' }] })
      },
    })
    const { sessionId, status } = await agent.run('Go.')
    expect(status).toBe('completed')
    const log = await readLog(store, sessionId)
    const second = log.slice(log.findIndex(({ step }) => step === 2))
    const first = log.slice(0, -second.length)
    const actions = second.map((entry, index) => [
      'outcome' in entry ? `${entry.type} ${entry.outcome}` : entry.type,
      nextAction(foldLog([...first, ...second.slice(0, index + 1)])),
    ])
    expect(nextAction(foldLog(first))).toBe('finish')
    expect(actions).toEqual([
      ['tail', 'start-step'],
      ['attempt discarded', 'retry-step'],
      ['attempt answered', 'retry-step'],
      ['message', 'finish'],
      ['run', 'finish'],
    ])
  })

  test('that is no function is no orchestrator', () => {
    expect(() => createAgent({ name: 'x', model: 'a/b', orchestrator: {} as Orchestrator })).toThrow(/orchestrator/)
  })
})

function never(): never {
  throw new Error('not asked')
}

test('a tool that a step did not offer does not run after a crash either', async () => {
  const store = memoryStore()
  let ran = 0
  const danger = tool({ name: 'danger', input: z.object({}), execute: () => ++ran })
  const led = (lead: Orchestrator) =>
    createAgent({
      name: 'led',
      model: scriptedModel([{ toolCalls: [{ name: 'danger', input: {} }] }, { text: 'Done.' }], { after: 'error' }),
      tools: [danger],
      store,
      orchestrator: lead,
    })
  const work = async (run: OrchestratorRun): Promise<void> => {
    await run.model({ tools: [] })
    await run.execute()
    await run.model()
  }
  // The first process comes no further than its answer.
  const dies: Orchestrator = async (run) => {
    await run.model({ tools: [] })
    await new Promise(() => {})
  }
  const stream = led(dies).stream('Go.', { sessionId: 's' })
  for await (const event of stream) if (event.type === 'turn.mode') break
  const entries = await readLog(store, 's')
  const fresh = memoryStore()
  const { fence } = await leaseOf(fresh)
  await fresh.append('s', entries, { after: 0, fence })
  await fresh.release('s', fence)
  void stream.abort({ graceMs: 1 })
  const state = (await stream.result).state
  const again = createAgent({
    name: 'led',
    model: scriptedModel([{ text: 'Done.' }]),
    tools: [danger],
    store: fresh,
    orchestrator: work,
  })
  const { entries: _, ...cursor } = JSON.parse(JSON.stringify(state))
  const { RunState } = await import('@provost/agent')
  const result = await again.run(RunState.fromJSON(cursor, again))
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(ran).toBe(0)
})

async function leaseOf(store: ReturnType<typeof memoryStore>) {
  const lease = await store.lease('s', 'test', 1000)
  if (lease === 'busy') throw new Error('busy')
  return lease
}

test('a step that names its tools is offered these and no others, deferred ones too', async () => {
  const shown: string[][] = []
  const show = ({ tools }: ScriptedPrompt): ScriptedStep => {
    shown.push(tools.map(({ name }) => name))
    return { text: 'Said.' }
  }
  const input = z.object({})
  const far = tool({ name: 'far', input, deferLoading: true, execute: () => 'far' })
  const agent = createAgent({
    name: 'led',
    model: scriptedModel([show], { after: 'repeat-last' }),
    tools: [look, far],
    extensions: [defineExtension({ name: 'finder', hooks: { 'model.request': () => ({ promote: ['far'] }) } })],
    async orchestrator(run) {
      await run.model({ tools: [] })
      await run.model({ tools: ['far'], tail: [{ content: 'And?' }] })
      await run.model({ tail: [{ content: 'And?' }] })
    },
  })
  expect((await agent.run('Go.')).status).toBe('completed')
  expect(shown).toEqual([[], ['far'], ['look', 'tool_search', 'far']])
})
