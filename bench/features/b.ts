import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  agentic,
  createAgent,
  defineEvent,
  defineExtension,
  isEventOf,
  memoryStore,
  planAndExecute,
  planEvents,
  react,
  RunState,
  textOf,
  tool,
  z,
} from 'provost'
import type { AgentEvent, Orchestrator } from 'provost'
import { sqliteStore } from 'provost/sqlite'
import { assertWellFormed, scriptedModel } from 'provost/testing'

import { check, type Check, type CheckContext } from './check.ts'
import { eventsOf, loose, ofType, readBy } from './reading.ts'

const echo = () => scriptedModel([(prompt) => ({ text: readBy(prompt).join('|') })], { after: 'repeat-last' })
const note = (n: number) => ({ name: 'note', input: { n } })

async function b1({ claim, folder }: CheckContext): Promise<string> {
  const message = (role: string, text: string, more: object = {}) => ({
    role,
    content: [{ type: 'text', text }],
    ...more,
  })
  const agent = createAgent({
    name: 'desk',
    model: echo(),
    store: sqliteStore(join(folder(), 'b1.db')),
    convertToModel: (one) =>
      one.role === 'custom:alarm' ? { role: 'user', content: `ALARM ${textOf(one)}` } : undefined,
    extensions: [
      defineExtension({
        name: 'drop-secrets',
        hooks: {
          context: ({ messages }) => {
            const found = messages.find((one) => one.role === 'user' && textOf(one).includes('hush'))
            return found ? { from: found.id, to: found.id, with: [{ content: '[dropped]' }] } : undefined
          },
        },
      }),
    ],
  })
  const session = await agent.createSession({ id: 's' })
  const given = [
    message('user', 'hush hush'),
    message('custom:alarm', 'fire'),
    message('custom:ui', 'clicked'),
    message('user', 'go'),
  ]
  const { text } = await (agent.run as (...args: unknown[]) => ReturnType<typeof agent.run>)(given, { session })
  assert.match(text, /user: ALARM fire/u)
  assert.match(text, /\[dropped\]/u)
  assert.ok(!/clicked|hush/u.test(text), text)
  assert.deepEqual(
    session.messages.map(({ role }) => role).filter((role) => role.startsWith('custom')),
    ['custom:alarm', 'custom:ui'],
  )
  await claim('data of a custom message is kept and reaches the converter', async () => {
    const seen: unknown[] = []
    const store = sqliteStore(join(folder(), 'data.db'))
    const options = {
      name: 'desk',
      model: echo(),
      store,
      convertToModel: (one: { role: string; data?: unknown }) => {
        if (one.role !== 'custom:alarm') return undefined
        seen.push(one.data)
        return { role: 'user' as const, content: JSON.stringify(one.data) }
      },
    }
    const first = createAgent(options)
    const alarm = [message('custom:alarm', 'fire', { data: { floor: 3 } }), message('user', 'go')]
    const result = await (first.run as (...args: unknown[]) => ReturnType<typeof first.run>)(alarm, { sessionId: 'd' })
    assert.deepEqual(seen[0], { floor: 3 })
    assert.match(result.text, /\{"floor":3\}/u)
    const again = await createAgent(options).resumeSession('d')
    assert.deepEqual((again.messages.find(({ role }) => role === 'custom:alarm') as { data?: unknown }).data, {
      floor: 3,
    })
  })
  await claim('a converter that throws fails the run, and is named', async () => {
    const broken = createAgent({
      name: 'desk',
      model: echo(),
      convertToModel: () => {
        throw new Error('no such floor')
      },
    })
    const events = await eventsOf(broken.stream('go'))
    const errors = ofType(events, 'agent.error')
    assert.equal(errors.length, 1)
    assert.notEqual(errors[0]?.error.code, 'unexpected')
    assert.match(JSON.stringify(errors[0]), /convertToModel/u)
    assert.match(errors[0]?.error.hint ?? '', /./u)
  })
  for (const [name, answer] of [
    ['a promise', async () => ({ role: 'user', content: 'x' })],
    ['a number', () => 17],
    ['a message of an unknown role', () => ({ role: 'robot', content: 'x' })],
  ] as const)
    await claim(`a converter that answers with ${name} fails the run, and is named`, async () => {
      const broken = loose(createAgent, { name: 'desk', model: echo(), convertToModel: answer }) as ReturnType<
        typeof createAgent
      >
      const { status, error } = await broken.run('go')
      assert.equal(status, 'failed')
      assert.notEqual(error?.code, 'unexpected')
      assert.match(error?.message ?? '', /convertToModel/u)
    })
  return 'custom:alarm converted, custom:ui kept out of the prompt, a user message replaced by a context hook'
}

async function b2({ claim }: CheckContext): Promise<string> {
  for (const how of ['sequential', 'maxParallelTools'] as const)
    await claim(`${how}: a steer after a tool skips the rest`, async () => {
      const ran: number[] = []
      const work = tool({
        name: 'note',
        effect: 'none',
        input: z.object({ n: z.number() }),
        ...(how === 'sequential' && { executionMode: 'sequential' as const }),
        execute: async ({ n }) => {
          await sleep(5)
          ran.push(n)
          return n
        },
      })
      const model = scriptedModel([
        { toolCalls: [1, 2, 3, 4].map(note) },
        (prompt) => ({ text: readBy(prompt).at(-1) ?? '' }),
      ])
      const agent = createAgent({
        name: 'desk',
        model,
        tools: [work],
        ...(how !== 'sequential' && { maxParallelTools: 1 }),
      })
      let steered = false
      const result = await agent.run('go', {
        getSteering: () => {
          if (ran.length < 2 || steered) return []
          steered = true
          return ['stop there']
        },
      })
      assert.deepEqual(ran, [1, 2])
      assert.equal(result.text, 'user: stop there')
      const outputs = result.messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => content)
      assert.equal(outputs.length, 4)
      assert.equal(
        outputs.filter((part) => /skip|did not run|not run|not start/iu.test(JSON.stringify(part))).length,
        2,
      )
      assertWellFormed(result.messages)
    })
  return '4 calls one at a time: 2 ran, 2 have skip results, the history is well formed'
}

async function b3({ claim }: CheckContext): Promise<string> {
  const reply = () =>
    scriptedModel([(prompt) => ({ text: `re ${readBy(prompt).at(-1)?.slice(6)}` })], { after: 'repeat-last' })
  const once = (...texts: string[]) => {
    let left = [...texts]
    return () => {
      const given = left
      left = []
      return given
    }
  }
  const turns = (events: readonly AgentEvent[]): string[] => ofType(events, 'turn.end').map(({ text }) => text)
  const perRun = await eventsOf(createAgent({ name: 'd', model: reply() }).stream('a', { getFollowUp: once('b', 'c') }))
  await claim('two follow-ups returned together are two turns', () =>
    assert.deepEqual(turns(perRun), ['re a', 're b', 're c']),
  )
  await claim('both are options of an agent', async () => {
    const agent = loose(createAgent, { name: 'd', model: reply(), getFollowUp: once('b'), getSteering: once('s') })
    const events = await eventsOf((agent as ReturnType<typeof createAgent>).stream('a'))
    assert.deepEqual(turns(events).at(-1), 're b')
    assert.deepEqual(
      ofType(events, 'agent.steered').map(({ text }) => text),
      ['s'],
    )
  })
  for (const key of ['getSteering', 'getFollowUp'] as const)
    await claim(`a ${key} that throws is one agent.error that names it`, async () => {
      const events = await eventsOf(
        createAgent({ name: 'd', model: reply() }).stream('a', {
          [key]: () => {
            throw new Error('queue is away')
          },
        }),
      )
      const errors = ofType(events, 'agent.error')
      assert.equal(errors.length, 1)
      assert.match(JSON.stringify(errors[0]), new RegExp(key, 'u'))
      assert.notEqual(errors[0]?.error.code, 'unexpected')
    })
  await claim('a getFollowUp that never ends is stopped by maxSteps', async () => {
    const result = await createAgent({ name: 'd', model: reply() }).run('a', {
      getFollowUp: () => ['again'],
      maxSteps: 7,
    })
    assert.equal(result.error?.code, 'max-steps')
  })
  return `follow-ups: ${turns(perRun).join(', ')}`
}

const lookOptions = {
  name: 'look',
  effect: 'none',
  input: z.object({ at: z.string() }),
  execute: ({ at }: { at: string }) => `${at}: 3`,
} as const
const look = tool(lookOptions)

async function b4({ claim, folder }: CheckContext): Promise<string> {
  const calls = (at: string) => ({ name: 'look', input: { at } })
  const both = { text: 'I look at both.', toolCalls: [calls('a'), calls('b')] }
  const tried: Record<string, string> = {}
  for (const [name, orchestrator, steps] of [
    ['agentic', agentic(), [both, { text: 'six' }]],
    ['react', react(), [both, { text: 'Then b.', toolCalls: [calls('b')] }, { text: 'six' }]],
    [
      'planAndExecute',
      planAndExecute(),
      [
        { text: '{"steps":["look at a","look at b"]}' },
        { toolCalls: [calls('a')] },
        { text: 'a is 3' },
        { toolCalls: [calls('b')] },
        { text: 'b is 3' },
        { text: 'six' },
      ],
    ],
  ] as const)
    await claim(name, async () => {
      const events = await eventsOf(
        createAgent({ name: 'd', model: scriptedModel([...steps]), tools: [look], orchestrator }).stream('sum?'),
      )
      const end = ofType(events, 'agent.end')[0]
      assert.equal(end?.text, 'six')
      tried[name] = `${ofType(events, 'step.start').length} steps, ${ofType(events, 'tool.execute.end').length} tools`
    })
  const own: Orchestrator = async (run) => {
    await run.model()
    run.emit({ calls: run.calls.length })
    await run.execute({ only: run.calls.slice(0, 1).map(({ callId }) => callId), reason: 'one is enough' })
    await run.say('Answer now.')
    await run.model({ tools: [] })
  }
  await claim('a function of its own decides which calls run, speaks, and emits events', async () => {
    const events = await eventsOf(
      createAgent({
        name: 'd',
        model: scriptedModel([both, { text: 'three' }]),
        tools: [look],
        orchestrator: own,
      }).stream('go'),
    )
    assert.equal(ofType(events, 'agent.end')[0]?.text, 'three')
    assert.equal(ofType(events, 'tool.execute.end').length, 1)
    assert.match(
      JSON.stringify(events.filter(({ type }) => !/^(message|tool|agent|turn|text|step)/u.test(type))),
      /"calls":2/u,
    )
  })
  await claim('events of its own have a name, typed and frozen data, and the label of what it read', async () => {
    const drafted = defineEvent<{ words: number }>('draft.made')
    const fetched = tool({ ...lookOptions, returns: { integrity: 'untrusted' } })
    const twice: Orchestrator = async (run) => {
      await run.model()
      await run.execute()
      run.emit(drafted, { words: 3 })
      await run.model()
    }
    const model = scriptedModel([{ toolCalls: [calls('a')] }, { text: 'three' }])
    const events = await eventsOf(createAgent({ name: 'd', model, tools: [fetched], orchestrator: twice }).stream('go'))
    const event = events.find((one) => isEventOf(one, drafted))
    assert.equal(event?.data.words, 3)
    assert.ok(Object.isFrozen(event.data))
    assert.equal(event.label?.integrity, 'untrusted')
    for (const name of ['agent.end', '', 'a b', 'x'.repeat(101)])
      assert.throws(() => defineEvent(name), { code: 'invalid-event' })
  })
  await claim('calls a tool itself: typed, approved and recorded as calls of the model are', async () => {
    const paid: number[] = []
    const pay = tool({
      name: 'pay',
      input: z.object({ euros: z.number() }),
      needsApproval: true,
      execute: ({ euros }) => ({ receipt: paid.push(euros) }),
    })
    const agent = createAgent({
      name: 'd',
      model: scriptedModel([{ text: 'paid' }]),
      tools: [pay],
      orchestrator: async (run) => {
        const { value } = await run.callTool(pay, { euros: 5 })
        run.emit({ receipt: value?.receipt })
        await run.model()
      },
    })
    const asked = await agent.run('go')
    const [approval] = asked.pending.approvals
    assert.equal(approval?.toolName, 'pay')
    const decisions = { approvals: [{ id: approval.id, decision: 'approve' as const }] }
    const events = await eventsOf(agent.stream(asked.state, decisions))
    assert.equal(ofType(events, 'agent.end')[0]?.text, 'paid')
    assert.match(JSON.stringify(ofType(events, 'extension')), /"receipt":1/u)
    assert.deepEqual(paid, [5])
  })
  await claim('planAndExecute tells of its plan and its steps', async () => {
    const steps = [
      { text: '{"steps":["look at a"]}' },
      { toolCalls: [calls('a')] },
      { text: 'a is 3' },
      { text: 'three' },
    ]
    const events = await eventsOf(
      createAgent({ name: 'd', model: scriptedModel(steps), tools: [look], orchestrator: planAndExecute() }).stream(
        'go',
      ),
    )
    const { made, stepStart, stepEnd } = planEvents
    const counts = [made, stepStart, stepEnd].map(
      ({ name }) => events.filter((one) => 'event' in one && one.event === name).length,
    )
    assert.deepEqual(counts, [1, 1, 1])
  })
  await claim('a run of planAndExecute is suspended, and resumed from JSON by another agent', async () => {
    const store = sqliteStore(join(folder(), 'b4.db'))
    const gate = tool({
      name: 'look',
      effect: 'write',
      needsApproval: true,
      input: z.object({ at: z.string() }),
      execute: ({ at }) => `${at}: 3`,
    })
    const agent = (steps: Parameters<typeof scriptedModel>[0]) =>
      createAgent({ name: 'd', model: scriptedModel(steps), tools: [gate], orchestrator: planAndExecute(), store })
    const first = agent([{ text: '{"steps":["look at a"]}' }, { toolCalls: [calls('a')] }])
    const suspended = await first.run('go')
    assert.equal(suspended.status, 'suspended')
    const second = agent([{ text: 'a is 3' }, { text: 'three' }])
    const state = RunState.fromJSON(JSON.parse(JSON.stringify(suspended.state)), second)
    const id = suspended.pending.approvals[0]?.id ?? ''
    const done = await second.run(state, { approvals: [{ id, decision: 'approve', by: 'ann' }] })
    assert.equal(done.text, 'three')
  })
  for (const [name, orchestrator, code] of [
    ['an early return', async () => {}, 'orchestrator-stopped'],
    [
      'a throw',
      async () => {
        throw new Error('no plan')
      },
      '',
    ],
  ] as [string, Orchestrator, string][])
    await claim(`${name} of an orchestrator fails the run with one agent.error that says so`, async () => {
      const events = await eventsOf(createAgent({ name: 'd', model: echo(), orchestrator }).stream('go'))
      const errors = ofType(events, 'agent.error')
      assert.equal(ofType(events, 'agent.end')[0]?.status, 'failed')
      assert.equal(errors.length, 1)
      assert.match(JSON.stringify(errors[0]), /orchestrator/iu)
      assert.notEqual(errors[0]?.error.code, 'unexpected', code)
      assert.ok(errors[0]?.error.hint)
    })
  return Object.entries(tried)
    .map((pair) => pair.join(': '))
    .join('; ')
}

async function b5({ claim }: CheckContext): Promise<string> {
  const never = async (): Promise<never> => new Promise(() => {})
  const deaf = tool({ name: 'deaf', effect: 'none', input: z.object({}), execute: never })
  const hook = (hooks: Parameters<typeof defineExtension>[0]['hooks']) => [
    defineExtension({ name: 'hangs', hooks: hooks ?? {} }),
  ]
  const call = { toolCalls: [{ name: 'deaf' }] }
  const quickCall = { toolCalls: [{ name: 'quick' }] }
  const quick = tool({ name: 'quick', effect: 'none', input: z.object({}), execute: () => 1 })
  const asks = tool({ name: 'asks', needsApproval: true, input: z.object({}), execute: () => 1 })
  const cases: [string, { run?: object; [option: string]: unknown }][] = [
    ['a model that stalls', { model: scriptedModel([{ text: ['half'], stall: true }]) }],
    ['a model that never starts', { model: scriptedModel([{ stall: 'connect' }]) }],
    ['a tool that ignores its signal', { model: scriptedModel([call]) }],
    ['a tool.call hook', { model: scriptedModel([call]), extensions: hook({ 'tool.call': never }) }],
    ['a model.request hook', { model: scriptedModel([call]), extensions: hook({ 'model.request': never }) }],
    ['an input hook', { model: scriptedModel([call]), extensions: hook({ input: never }) }],
    ['a session.start hook', { model: scriptedModel([call]), extensions: hook({ 'session.start': never }) }],
    ['a tool.result hook', { model: scriptedModel([quickCall]), extensions: hook({ 'tool.result': never }) }],
    ['a model.response hook', { model: scriptedModel([call]), extensions: hook({ 'model.response': never }) }],
    ['a context hook', { model: scriptedModel([call]), extensions: hook({ context: never }) }],
    ['a run.end hook', { model: scriptedModel([{ text: 'x' }]), extensions: hook({ 'run.end': never }) }],
    [
      'needsApproval',
      {
        model: scriptedModel([call]),
        tools: [tool({ name: 'deaf', needsApproval: never, input: z.object({}), execute: never })],
      },
    ],
    ['a store that hangs', { model: scriptedModel([call]), store: { ...memoryStore(), append: never } }],
    ['getSteering', { model: scriptedModel([{ text: 'x' }]), run: { getSteering: never } }],
    ['getFollowUp', { model: scriptedModel([{ text: 'x' }]), run: { getFollowUp: never } }],
    ['onApproval', { model: scriptedModel([{ toolCalls: [{ name: 'asks' }] }]), run: { onApproval: never } }],
    ['instructions', { model: scriptedModel([call]), instructions: never }],
    ['an orchestrator', { model: scriptedModel([call]), orchestrator: never }],
  ]
  let slowest = 0
  for (const [name, { run, ...options }] of cases)
    await claim(`abort ends ${name}`, async () => {
      const agent = loose(createAgent, { name: 'd', tools: [deaf, quick, asks], ...options }) as ReturnType<
        typeof createAgent
      >
      const stream = agent.stream('go', run)
      await sleep(20)
      const start = performance.now()
      await stream.abort()
      const { status, messages } = await stream.result
      slowest = Math.max(slowest, performance.now() - start)
      assert.ok(status === 'aborted' || (name === 'a run.end hook' && status === 'completed'), status)
      assertWellFormed(messages)
    })
  assert.ok(slowest < 5_000)
  const session = await createAgent({ name: 'd', model: echo() }).createSession()
  session.send('remember')
  await session.waitForIdle()
  assert.deepEqual(
    session.messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
  await session.reset()
  assert.equal(session.messages.length, 0)
  session.send('what?')
  assert.equal((await session.waitForIdle())?.text, 'user: what?')
  await claim('a session in use refuses a reset', async () => {
    session.send('busy')
    await assert.rejects(session.reset(), { code: 'session-open' })
    await session.waitForIdle()
  })
  await claim('an aborted signal from the start aborts at once', async () => {
    const { status } = await createAgent({ name: 'd', model: echo() }).run('go', { signal: AbortSignal.abort() })
    assert.equal(status, 'aborted')
  })
  return `${cases.length} kinds of hanging code; slowest end ${slowest.toFixed(0)} ms; reset empties the view`
}

async function b6({ claim }: CheckContext): Promise<string> {
  const model = scriptedModel([
    { reasoning: 'two sums', toolCalls: [note(1), note(2)] },
    { text: ['45', ' and 15'] },
    { text: 'bye' },
  ])
  const work = tool({ name: 'note', effect: 'none', input: z.object({ n: z.number() }), execute: ({ n }) => n })
  const stream = createAgent({ name: 'd', model, tools: [work] }).stream('sum')
  stream.followUp('thanks')
  const events = await eventsOf(stream)
  const seen = events
    .filter(({ type }) => /^(turn\.|reasoning.end|tool.execute.(start|end)|text.delta)/u.test(type))
    .map((event) => (event.type === 'turn.mode' ? `${event.mode} ${event.queueSize}` : event.type))
  assert.deepEqual(seen, [
    ...['turn.start', 'reasoning.end', 'steer 2'],
    ...['tool.execute.start', 'tool.execute.start', 'tool.execute.end', 'tool.execute.end'],
    ...['text.delta', 'text.delta', 'respond 0', 'turn.end', 'turn.start', 'text.delta', 'respond 0', 'turn.end'],
  ])
  await claim('a turn that fails ends before the run does', async () => {
    const failed = await eventsOf(
      createAgent({ name: 'd', model: scriptedModel([{ error: new Error('x') }]) }).stream('go'),
    )
    const types = failed.map(({ type }) => type)
    assert.equal(types.at(-1), 'agent.end')
    assert.equal(types.filter((type) => type === 'turn.start').length, 1)
    assert.ok(types.filter((type) => type === 'turn.end').length <= 1)
  })
  return seen.join(', ')
}

export const rows: readonly Check[] = [
  check('B1', 'custom messages, filtered and converted before each model call', b1),
  check('B2', 'sequential tools with a steering check after each; skip results', b2),
  check('B3', 'getSteering and getFollowUp', b3),
  check('B4', 'orchestrators: agentic, react, plan and execute, a function of its own', b4),
  check('B5', 'cancellation everywhere; history; reset', b5),
  check('B6', 'events of turns: start, mode, reasoning, tools, text, end', b6),
]
