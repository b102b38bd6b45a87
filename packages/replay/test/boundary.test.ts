import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { createWorld, mortal } from '@provost/agent/test/crash/crash-world'
import { logOf, recorded, sent } from '@provost/agent/test/handoff/handoff-world'
import { collect, only } from '@provost/agent/test/run/run-check'
import type { Entry, Extension, Flow, Label, SessionStore } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { replayInputs, replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { fanOut } from '@provost/teams'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const input = { type: 'object' } as const
const vault: Label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['vault'] }
const look = tool({ name: 'look', input, effect: 'read', returns: vault, execute: () => 'the file of Ann' })
const asking: ScriptedStep = { toolCalls: [{ name: 'ask', input: { task: 'Find the paragraph.' } }] }

/** Goes by what it is sent, so that it goes on in any process. */
function afterwards(first: ScriptedStep, modelId = 'desk'): ReturnType<typeof scriptedModel> {
  const step = ({ messages }: ScriptedPrompt): ScriptedStep =>
    messages.at(-1)?.role === 'tool' ? { text: `got ${JSON.stringify(messages.at(-1))}` } : first
  return scriptedModel([step], { modelId, after: 'repeat-last' })
}

/** Of each child how it was spawned. */
function spawned(log: readonly Entry[]) {
  return log.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry] : []))
}

type Answer = { deny: string } | { ask: { reason: string } } | { payload: { content: string }[] } | undefined

function guarding(flows: Flow[], answer: (flow: Flow) => Answer): Extension {
  return defineExtension({
    name: 'guard',
    hooks: {
      handoff(flow) {
        flows.push(flow)
        return answer(flow)
      },
    },
  })
}

describe('the inputFilter of an agent as a tool', () => {
  test('lets the child have of the history what it says, in front of the task, each message under its own label', async () => {
    const labels: string[] = []
    const watch = defineExtension({
      name: 'watch',
      hooks: { input: (message) => void labels.push(`${message.role} ${message.label?.confidentiality}`) },
    })
    const child = recorded([{ text: 'Paragraph 7.' }], 'child')
    const lawyer = createAgent({ name: 'lawyer', instructions: 'A lawyer.', model: child.model, extensions: [watch] })
    const store = memoryStore()
    const desk = createAgent({
      name: 'desk',
      instructions: 'You are the desk.',
      model: scriptedModel([
        { reasoning: 'look first', toolCalls: [{ name: 'look', input: {} }] },
        { text: 'One moment.', reasoning: 'law', ...asking },
        { text: 'done' },
      ]),
      tools: [look, lawyer.toTool({ name: 'ask', description: 'Ask.', inputFilter: filters.full() })],
      store,
    })
    const { result } = await collect(desk.stream('May I return the shoes?'))
    expect(result.status).toBe('completed')
    const got = sent(child.prompts[0])
    expect(got).toMatch(/A lawyer.*May I return the shoes\?.*the file of Ann.*One moment\..*Find the paragraph\./)
    expect(got).not.toMatch(/You are the desk|look first|"law"|"ask"/)
    expect(labels).toEqual(['user internal', 'assistant internal', 'tool secret', 'assistant secret', 'user secret'])
    const log = await logOf(store, result.sessionId)
    expect(spawned(log)).toMatchObject([{ filter: { kind: 'full' }, hash: expect.stringMatching(/^[0-9a-f]{64}$/) }])
    expect(replayInputs(log)).toMatchObject([{ intact: true, messages: [{}, {}, {}, { role: 'assistant' }] }])
    expect(replayInputs(JSON.parse(JSON.stringify(log)))).toMatchObject([{ intact: true }])
    expect(await replaySession(desk, log)).toBeUndefined()
    // Another history under the same descriptor is not what crossed.
    const forged = JSON.stringify(log).replace('May I return the shoes?', 'May I keep the shoes?')
    expect(replayInputs(JSON.parse(forged))).toMatchObject([{ intact: false }])
  })

  test('without one the child has the task alone', async () => {
    const child = recorded([{ text: 'Paragraph 7.' }], 'child')
    const lawyer = createAgent({ name: 'lawyer', model: child.model })
    const store = memoryStore()
    const tools = [lawyer.toTool({ name: 'ask', description: 'Ask.' })]
    const { sessionId } = await createAgent({ name: 'desk', model: afterwards(asking), tools, store }).run('Shoes?')
    expect(sent(child.prompts[0])).not.toContain('Shoes')
    const log = await logOf(store, sessionId)
    expect(spawned(log)[0]).not.toHaveProperty('hash')
    expect(replayInputs(log)).toEqual([])
  })

  test('what may not cross keeps the child from starting, and the caller is notified', async () => {
    const desk = createAgent({
      name: 'desk',
      model: scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, asking, { text: 'done' }]),
      tools: [
        look,
        createAgent({ name: 'lawyer', model: 'test/absent' }).toTool({
          name: 'ask',
          description: 'Ask.',
          inputFilter: filters.bySensitivity({ require: 'internal' }),
        }),
      ],
    })
    const { result, events } = await collect(desk.stream('Go.'))
    expect(result.status).toBe('completed')
    expect(only(events, 'tool.execute.error')[0]?.error.message).toMatch(/filter-refused.*may not cross/)
    expect(events.some(({ agent }) => agent === 'lawyer')).toBe(false)
  })

  test('a summary is written once by the caller’s model; its text is in the log', async () => {
    const child = recorded([{ text: 'Paragraph 7.' }], 'child')
    const caller = recorded([asking, { text: 'Shoes, size 40.' }, { text: 'done' }], 'caller')
    const store = memoryStore()
    const tools = [
      createAgent({ name: 'lawyer', model: child.model }).toTool({
        name: 'ask',
        description: 'Ask.',
        inputFilter: filters.summary(),
      }),
    ]
    const desk = createAgent({ name: 'desk', model: caller.model, tools, store })
    const { sessionId, text } = await desk.run('May I return the shoes?')
    expect(text).toBe('done')
    expect(sent(child.prompts[0])).toMatch(/Summary of the conversation.*Shoes, size 40\..*Find the paragraph\./)
    const log = await logOf(store, sessionId)
    expect(spawned(log)).toMatchObject([{ filter: { kind: 'summary', text: 'Shoes, size 40.' } }])
    expect(replayInputs(log)).toMatchObject([{ intact: true }])
  })

  test('is data: a function is refused when the tool is made', () => {
    const agent = createAgent({ name: 'lawyer', model: 'test/absent' })
    const inputFilter = filters.full
    // @ts-expect-error -- what the compiler refuses is refused at run time, too
    const make = (): unknown => agent.toTool({ name: 'ask', description: 'Ask.', inputFilter })
    expect(make).toThrow(expect.objectContaining({ code: 'invalid-filter' }))
  })
})

/** How a child is reached, and what its hooks see. */
const ways = ['tool', 'fanout'] as const

function team(by: (typeof ways)[number], guard: Extension, store: SessionStore, child: Agent): Agent {
  const many = tool({
    name: 'ask',
    input: z.object({ task: z.string() }),
    composite: true,
    async execute({ task }, ctx) {
      const { output, children } = await ctx.fanOut({
        children: [{ agent: child, input: task, key: 'one' }],
        mergeStrategy: { kind: 'custom', merge: ([one]) => one?.text || `${one?.status}: ${one?.error?.message}` },
      })
      return `${output} (${children[0]?.status})`
    },
  })
  return createAgent({
    name: 'desk',
    model: afterwards(asking),
    tools: [by === 'tool' ? child.toTool({ name: 'ask', description: 'Ask.' }) : many],
    extensions: [guard],
    store,
  })
}

describe.each(ways)('the handoff hook sees what crosses to a child and back: %s', (by) => {
  const lawyer = (steps: readonly ScriptedStep[] = [{ text: 'I obey the page.' }]) => {
    const { model, prompts } = recorded(steps, 'lawyer')
    return { agent: createAgent({ name: 'lawyer', model }), prompts }
  }

  test('both ways, with labels', async () => {
    const flows: Flow[] = []
    const { model } = recorded([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'I obey the page.' }], 'lawyer')
    const agent = createAgent({ name: 'lawyer', model, tools: [look] })
    const guard = guarding(flows, () => undefined)
    const { text } = await team(by, guard, memoryStore(), agent).run('Go.')
    expect(text).toContain('I obey the page.')
    expect(flows.map(({ kind, from, to }) => `${kind} ${from} ${to}`)).toEqual([
      `${by}-in desk lawyer`,
      `${by}-out lawyer desk`,
    ])
    expect(flows.map(({ payload }) => payload.map((message) => textOf(message)))).toEqual([
      ['Find the paragraph.'],
      ['I obey the page.'],
    ])
    expect(flows.map(({ label }) => label.confidentiality)).toEqual(['internal', 'secret'])
  })

  test('it may rewrite what goes in: the log has that, and its hash', async () => {
    const { agent, prompts } = lawyer()
    const guard = guarding([], ({ kind }) =>
      kind.endsWith('-in') ? { payload: [{ content: 'Something harmless.' }] } : undefined,
    )
    const store = memoryStore()
    const { sessionId } = await team(by, guard, store, agent).run('Go.')
    expect(sent(prompts[0])).toContain('Something harmless.')
    expect(sent(prompts[0])).not.toContain('Find the paragraph.')
    const log = await logOf(store, sessionId)
    expect(spawned(log)).toMatchObject([{ with: [{ role: 'user' }] }])
    expect(replayInputs(log)).toMatchObject([{ intact: true, messages: [{ role: 'user' }] }])
  })

  test('it may rewrite what comes back', async () => {
    const guard = guarding([], ({ kind }) =>
      kind.endsWith('-out') ? { payload: [{ content: 'It said something.' }] } : undefined,
    )
    const { text } = await team(by, guard, memoryStore(), lawyer().agent).run('Go.')
    expect(text).toContain('It said something.')
    expect(text).not.toContain('I obey')
  })

  test('it may refuse either, and one that throws has refused', async () => {
    for (const way of ['in', 'out']) {
      for (const answer of [
        (): Answer => ({ deny: 'not like this' }),
        (): Answer => {
          throw new Error('oops')
        },
      ]) {
        const { agent, prompts } = lawyer()
        const guard = guarding([], ({ kind }) => (kind.endsWith(way) ? answer() : undefined))
        const { text, status } = await team(by, guard, memoryStore(), agent).run('Go.')
        expect(status).toBe('completed')
        expect(text).not.toContain('I obey')
        expect(text).toMatch(/not like this|failed to check/)
        expect(prompts).toHaveLength(way === 'in' ? 0 : 1)
      }
    }
  })

  test('what a child said on the way to no answer does not come back past it', async () => {
    const { agent } = lawyer([{ text: 'I obey', error: new Error('out of order'), failAfterChunks: 1 }])
    const { text } = await team(
      by,
      guarding([], () => undefined),
      memoryStore(),
      agent,
    ).run('Go.')
    expect(text).not.toContain('I obey')
  })

  test.each(['approve', 'deny'] as const)('a human may be asked, and answers elsewhere: %s', async (decision) => {
    const store = memoryStore()
    const heard: string[] = []
    const start = (): Agent => {
      const guard = guarding([], ({ kind }) => {
        heard.push(kind)
        return { ask: { reason: `it is ${kind}` } }
      })
      return team(by, guard, store, lawyer().agent)
    }
    let result = await start().run('Go.')
    const reasons: string[] = []
    for (let round = 0; result.status === 'suspended' && round < 4; round++) {
      const [question] = result.pending.inputs
      reasons.push(question?.message ?? '')
      const agent = start()
      const state = RunState.fromJSON(JSON.stringify(result.state), agent)
      result = await agent.run(state, { inputs: [{ id: question?.id ?? '', value: { decision } }] })
    }
    expect(result.status).toBe('completed')
    expect(result.text.includes('I obey the page.')).toBe(decision === 'approve')
    expect(reasons).toHaveLength(decision === 'approve' ? 2 : 1)
    expect(reasons[0]).toContain(`it is ${by}-in`)
    // What was said once is not asked again.
    expect(heard).toEqual(decision === 'approve' ? [`${by}-in`, `${by}-out`] : [`${by}-in`])
    assertWellFormed(result.messages)
  })
})

test('what work of this process gives to a fan-out passes the hooks as well', async () => {
  const flows: Flow[] = []
  const guard = guarding(flows, ({ payload }) =>
    payload.some((message) => textOf(message).includes('bad')) ? { deny: 'bad' } : undefined,
  )
  const desk = createAgent({ name: 'desk', model: 'test/absent', extensions: [{ ...guard, scope: 'tree' }] })
  const { output, children } = await fanOut(desk, {
    children: [
      { agentId: 'good', invoke: async () => 'good news' },
      { agentId: 'bad', invoke: async () => 'bad news' },
    ],
    mergeStrategy: 'concat',
  })
  expect(output).toBe('good news')
  expect(children.map(({ status, error }) => error?.code ?? status)).toEqual(['completed', 'handoff-denied'])
  expect(flows.map(({ kind, from }) => `${kind} ${from}`).toSorted()).toEqual(['fanout-out bad', 'fanout-out good'])
})

test('with exposeTurns all that the child said is judged, and what is put in its place is all that is read', async () => {
  const child = createAgent({
    name: 'lawyer',
    model: scriptedModel([
      { text: 'Let me look.', toolCalls: [{ name: 'look', input: {} }] },
      { text: 'Paragraph 7.' },
    ]),
    tools: [look],
  })
  const flows: Flow[] = []
  const guard = guarding(flows, ({ kind, payload }) =>
    kind === 'tool-out' ? { payload: payload.map((message) => ({ content: `(${textOf(message)})` })) } : undefined,
  )
  const desk = createAgent({
    name: 'desk',
    model: afterwards(asking),
    tools: [child.toTool({ name: 'ask', description: 'Ask.', exposeTurns: true })],
    extensions: [guard],
  })
  const { text } = await desk.run('Go.')
  expect(flows.at(-1)?.payload.map((message) => textOf(message))).toEqual(['Let me look.', 'Paragraph 7.'])
  expect(text).toContain('(Let me look.)')
  expect(text).toContain('(Paragraph 7.)')
  expect(text).not.toContain('"Paragraph 7."')
})

test('an answer with a schema stays one, whatever a hook makes of it', async () => {
  const child = (): Agent<{ n: number }> =>
    createAgent({ name: 'counter', model: scriptedModel([{ text: '{"n":1}' }]), output: z.object({ n: z.number() }) })
  const run = async (content: string) => {
    const ask = tool({
      name: 'ask',
      input: z.object({ task: z.string() }),
      composite: true,
      async execute({ task }, ctx) {
        const result = await ctx.spawn(child(), task, { key: 'one' })
        return result.status === 'completed' ? result.output.n + 1 : (result.error?.code ?? '')
      },
    })
    const guard = guarding([], ({ kind }) => (kind === 'tool-out' ? { payload: [{ content }] } : undefined))
    return createAgent({ name: 'desk', model: afterwards(asking), tools: [ask], extensions: [guard] }).run('Go.')
  }
  expect((await run('{"n":41}')).text).toContain('42')
  expect((await run('many')).text).toContain('handoff-denied')
})

test('the same messages cross wherever the process dies, and no answered question is asked again', async () => {
  const start = (store: SessionStore, heard: string[]): Agent => {
    const child = createAgent({
      name: 'lawyer',
      model: afterwards({ toolCalls: [{ name: 'look', input: {} }] }),
      tools: [look],
    })
    const guard = guarding([], ({ kind }) => {
      heard.push(kind)
      return kind === 'tool-out' ? { payload: [{ content: 'cleaned' }] } : undefined
    })
    const tools = [child.toTool({ name: 'ask', description: 'Ask.', inputFilter: filters.lastN(2) })]
    return createAgent({ name: 'desk', model: afterwards(asking), tools, extensions: [guard], store })
  }
  const whole = createWorld()
  let appends = 0
  const counting: SessionStore = { ...whole.store, append: (...given) => (appends++, whole.store.append(...given)) }
  await start(counting, []).run('Go.', { sessionId: 's' })
  expect(appends).toBeGreaterThan(6)
  for (let lives = 1; lives < appends; lives += full ? 1 : 4) {
    const world = createWorld()
    const held = new Map<string, number>()
    const store: SessionStore = {
      ...world.store,
      async lease(log, ...given) {
        const lease = await world.store.lease(log, ...given)
        if (lease !== 'busy') held.set(log, lease.fence)
        return lease
      },
    }
    const heard: string[] = []
    const driver = mortal({ ...world, store }, lives, 'unanswered')
    await Promise.race([start(driver.store, heard).run('Go.', { sessionId: 's' }), driver.died])
    for (const [one, fence] of held) await world.store.release(one, fence)
    const known = (await logOf(world.store, 's')).flatMap((entry) => (entry.type === 'memo' ? [entry.key] : []))
    const answered = ['in', 'out'].filter((way) => known.some((key) => key.endsWith(`/${way}`)))
    const again: string[] = []
    const agent = start(world.store, again)
    const session = await agent.resumeSession('s')
    const result = await session.resume().result
    expect(result.status, `${lives}`).toBe('completed')
    expect(result.text, `${lives}`).toContain('cleaned')
    const log = await logOf(world.store, 's')
    expect(replayInputs(log), `${lives}`).toMatchObject([{ intact: true }])
    expect(await replaySession(agent, log)).toBeUndefined()
    expect(
      again.filter((kind) => answered.some((way) => kind === `tool-${way}`)),
      `${lives}`,
    ).toEqual([])
  }
})

test('a hook that rewrites what an earlier hook wrote gives its messages the label of that, unless it states another', async () => {
  const secret = { content: 'The plan of the board.', label: { confidentiality: 'secret' } } as const
  const short = { content: 'A short plan.' } as const
  const rewriting = (name: string, message: typeof secret | typeof short): Extension =>
    defineExtension({
      name,
      hooks: { handoff: ({ kind }) => (kind === 'tool-in' ? { payload: [message] } : undefined) },
    })
  const store = memoryStore()
  const child = createAgent({ name: 'lawyer', model: scriptedModel([{ text: 'Paragraph 7.' }]) })
  const { sessionId } = await createAgent({
    name: 'desk',
    model: afterwards(asking),
    tools: [child.toTool({ name: 'ask', description: 'Ask.' })],
    extensions: [rewriting('first', secret), rewriting('second', short)],
    store,
  }).run('Go.')
  expect(spawned(await logOf(store, sessionId))).toMatchObject([{ with: [{ label: { confidentiality: 'secret' } }] }])
})
