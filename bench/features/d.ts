import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createServer, serve } from '@provost/server'
import { startAimock } from '@provost/testing'
import { type as arktype } from 'arktype'
import { createAgent, defineExtension, memoryStore, ProvostError, rich, tool, z } from 'provost'
import type { Agent, AgentEvent, Message } from 'provost'
import { loadSkills } from 'provost/skills'
import { assertWellFormed, scriptedModel } from 'provost/testing'
import type { ScriptedPrompt } from 'provost/testing'
import * as v from 'valibot'

import { check, type Check, type CheckContext } from './check.ts'
import { attempt, eventsOf, loose, ofType, readBy } from './reading.ts'

const agentOf = (options: object): Agent => loose(createAgent, { name: 'd', ...options }) as Agent
const runOf = async (agent: Agent, input: unknown): ReturnType<Agent['run']> =>
  loose(agent.run, input) as ReturnType<Agent['run']>
const reads = () => scriptedModel([(prompt) => ({ text: readBy(prompt).join('|') })], { after: 'repeat-last' })
const work = tool({ name: 'work', effect: 'read', input: z.object({ n: z.number() }), execute: ({ n }) => `did ${n}` })
const calls = (...ns: unknown[]) => ({ toolCalls: ns.map((n) => ({ name: 'work', input: { n } })) })

async function d1({ claim }: CheckContext): Promise<string> {
  const order: string[] = []
  const make = (name: string, hooks: object = {}) =>
    defineExtension({
      name,
      init: () => void order.push(`init ${name}`),
      tools: [tool({ name: `tool_${name}`, effect: 'none', input: z.object({}), execute: () => name })],
      hooks: {
        'session.start': () => `Rules of ${name}.`,
        'model.request': () => void order.push(`request ${name}`),
        'tool.result': (result) =>
          result.output.type === 'text'
            ? { ...result, output: { type: 'text', value: `${result.output.value}+${name}` } }
            : undefined,
        ...hooks,
      },
    })
  const prompts: string[][] = []
  const model = scriptedModel([
    (prompt) => {
      prompts.push([...readBy(prompt), ...prompt.tools.map(({ name }) => name)])
      return { toolCalls: [{ name: 'work', input: { n: 1 } }, { name: 'tool_B' }, { name: 'work', input: { n: 2 } }] }
    },
    (prompt) => ({
      text: readBy(prompt)
        .filter((line) => line.startsWith('tool'))
        .join('|'),
    }),
  ])
  const short = {
    'tool.call': (call: { input: { n?: number } }) =>
      call.input.n === 2 ? { result: 'from the hook', label: { integrity: 'trusted' } } : undefined,
  }
  const { text } = await agentOf({ model, tools: [work], extensions: [make('A', short), make('B')] }).run('go')
  assert.deepEqual(order.slice(0, 4), ['init A', 'init B', 'request A', 'request B'])
  assert.match(prompts[0]?.join() ?? '', /^system: Rules of A\.[\s\S]*Rules of B\.[\s\S]*user: go/u)
  assert.ok(prompts[0]?.includes('tool_A') && prompts[0].includes('tool_B'))
  assert.match(text, /did 1\+A\+B[\s\S]*B\+A\+B[\s\S]*from the hook/u)
  await claim('an unknown hook is refused with the list', () =>
    assert.throws(
      () => loose(defineExtension, { name: 'x', hooks: { 'model.start': () => {} } }),
      (error: ProvostError) => error.code === 'invalid-extension' && error.hint.includes('model.request'),
    ),
  )
  await claim('an extension as a plain object works, or the refusal names defineExtension', async () => {
    const plain = { name: 'plain', tools: [work] }
    const seen = await attempt(async () =>
      agentOf({ model: scriptedModel([calls(3), { text: 'ok' }]), extensions: [plain] }).run('go'),
    ).then(
      ({ status }) => status,
      (error: ProvostError) => `${error.message} ${error.hint}`,
    )
    assert.match(seen, /completed|defineExtension/u)
  })
  return `init and hooks in order; ${text.length} characters of results, each reduced by A then B`
}

async function d2({ claim }: CheckContext): Promise<string> {
  const seen: string[] = []
  const names = [
    'session.start',
    'input',
    'context',
    'model.request',
    'model.call',
    'model.response',
    'tool.call',
    'tool.result',
    'run.end',
    'session.stop',
    'event',
    'around',
    'model.error',
  ] as const
  const hooks = Object.fromEntries(
    names.map((name) => [
      name,
      name === 'around'
        ? async (_: unknown, next: () => unknown) => {
            seen.push(name)
            return next()
          }
        : () => void seen.push(name),
    ]),
  )
  const all = loose(defineExtension, { name: 'all', hooks })
  const error = Object.assign(new Error('busy'), { statusCode: 400 })
  const session = await agentOf({
    model: scriptedModel([calls(1), { text: 'ok' }, { error }]),
    tools: [work],
    extensions: [all],
  }).createSession()
  session.send('go')
  await session.waitForIdle()
  session.send('fail')
  await session.waitForIdle().catch(() => {})
  await session.close()
  assert.deepEqual(
    names.filter((name) => !seen.includes(name)),
    [],
  )
  const boom = (): never => {
    throw new Error('hook broke')
  }
  const cases: [string, object, ((agent: Agent) => Promise<unknown>)?][] = [
    ['completed', { model: scriptedModel([{ text: 'ok' }]) }],
    ['a failed model', { model: scriptedModel([{ error }]) }],
    ['max-steps', { model: scriptedModel([calls(1)], { after: 'repeat-last' }), tools: [work], maxSteps: 2 }],
    [
      'an abort',
      { model: scriptedModel([{ text: 'x', stall: true }]) },
      async (agent) => {
        const stream = agent.stream('go')
        await sleep(20)
        await stream.abort()
        return stream.result
      },
    ],
    ['a hook that throws', { model: scriptedModel([{ text: 'ok' }]), more: { 'model.request': boom } }],
    ['an input hook that throws', { model: scriptedModel([{ text: 'ok' }]), more: { input: boom } }],
    ['an init that throws', { model: scriptedModel([{ text: 'ok' }]), init: boom }],
    ['instructions that throw', { model: scriptedModel([{ text: 'ok' }]), instructions: boom }],
    ['an orchestrator that throws', { model: scriptedModel([{ text: 'ok' }]), orchestrator: async () => boom() }],
  ]
  for (const [name, { more, init, ...options }, act] of cases as [
    string,
    { more?: object; init?: unknown },
    ((agent: Agent) => Promise<unknown>)?,
  ][])
    await claim(`run.end fires after ${name}`, async () => {
      let ends = 0
      // After an init that throws, only extensions whose own init was done have something to end.
      const counts = loose(defineExtension, { name: 'counts', init: () => {}, hooks: { 'run.end': () => void ends++ } })
      const other = loose(defineExtension, { name: 'other', ...(init !== undefined && { init }), hooks: { ...more } })
      const agent = agentOf({ ...options, extensions: [counts, other] })
      await (act ? act(agent) : agent.run('go'))
      assert.equal(ends, 1)
    })
  return `${names.length} hooks called; run.end after ${cases.length} kinds of ends`
}

async function d3({ claim }: CheckContext): Promise<string> {
  let asked = 0
  const agent = agentOf({
    model: scriptedModel([
      () => {
        asked++
        return { text: ['a', 'b'], delayMs: 5 }
      },
    ]),
  })
  const stream = agent.stream('go')
  const [one, two] = await Promise.all([eventsOf(stream), eventsOf(stream)])
  assert.equal((await stream.result).text, 'ab')
  assert.equal(await stream.output, 'ab')
  assert.equal(asked, 1)
  const types = (events: readonly AgentEvent[]): string => events.map(({ type }) => type).join()
  assert.equal(types(one), types(two))
  await claim('a run without a reader ends all the same, and can be read afterwards', async () => {
    const unread = agentOf({ model: scriptedModel([{ text: 'x' }]) }).stream('go')
    assert.equal((await unread.result).text, 'x')
    const events = await eventsOf(unread)
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['agent.start', 'agent.end'])
  })
  await claim('leaving the loop early does not end the run', async () => {
    const left = agentOf({ model: scriptedModel([{ text: ['a', 'b', 'c'], delayMs: 2 }]) }).stream('go')
    for await (const { type } of left) if (type === 'text.delta') break
    assert.equal((await left.result).text, 'abc')
  })
  await claim('the output of a failed run rejects, its result does not', async () => {
    const failed = agentOf({
      model: scriptedModel([{ error: Object.assign(new Error('no'), { statusCode: 400 }) }]),
    }).stream('go')
    assert.equal((await failed.result).status, 'failed')
    await assert.rejects(failed.output, { name: 'ProvostError' })
  })
  return `one model call for 2 iterators of ${one.length} events each`
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function d4({ claim }: CheckContext): Promise<string> {
  const sees = () => {
    const prompts: ScriptedPrompt[] = []
    const model = scriptedModel(
      [
        (prompt) => {
          prompts.push(prompt)
          return { text: 'seen' }
        },
      ],
      { after: 'repeat-last' },
    )
    return { prompts, model }
  }
  const forms: [string, unknown][] = [
    [
      'a file part of ours',
      [
        { type: 'text', text: 'what?' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
      ],
    ],
    [
      'a message of the AI SDK with an image',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what?' },
            { type: 'image', image: png },
          ],
        },
      ],
    ],
    [
      'a message of the AI SDK with bytes',
      [
        {
          role: 'user',
          content: [{ type: 'file', data: new Uint8Array(Buffer.from(png, 'base64')), mediaType: 'image/png' }],
        },
      ],
    ],
    [
      'a message with a URL',
      [{ role: 'user', content: [{ type: 'image', image: new URL('https://example.com/a.png') }] }],
    ],
  ]
  for (const [name, input] of forms)
    await claim(`${name} reaches the model as a file`, async () => {
      const { prompts, model } = sees()
      assert.equal((await runOf(agentOf({ model }), input)).text, 'seen')
      assert.match(JSON.stringify(prompts[0]?.messages), /"type":"file"/u)
      assert.match(JSON.stringify(prompts[0]?.messages), /"mediaType":"image/u)
    })
  for (const [name, part] of [
    ['an image part', { type: 'image', image: png }],
    ['a file part with string data', { type: 'file', mediaType: 'image/png', data: png }],
    ['a file part with bytes', { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }],
  ] as const)
    await claim(`${name} of the AI SDK as input works, or the refusal shows the accepted shape`, async () => {
      const { prompts, model } = sees()
      const agent = agentOf({ model })
      const refusal = await attempt(async () => runOf(agent, [{ type: 'text', text: 'what?' }, part])).then(
        ({ error }) => error,
        (error: ProvostError) => error,
      )
      if (refusal) assert.match(refusal.hint, /type: 'file'|"type":|\{ type/u)
      else assert.match(JSON.stringify(prompts[0]?.messages), /"type":"file"/u)
    })
  const outputs = async (execute: () => unknown): Promise<string> => {
    const made = loose(tool, { name: 'work', effect: 'read', input: z.object({ n: z.number() }), execute })
    const model = scriptedModel([calls(1), (prompt) => ({ text: JSON.stringify(prompt.messages.at(-1)?.content) })])
    return (await agentOf({ model, tools: [made] }).run('go')).text
  }
  assert.match(await outputs(() => 'plain'), /"type":"text","value":"plain"/u)
  assert.match(await outputs(() => ({ a: 1 })), /"type":"json","value":\{"a":1\}/u)
  assert.match(
    await outputs(() => {
      throw new Error('broke')
    }),
    /"type":"error-text","value":"[^"]*broke/u,
  )
  const content = [
    { type: 'text', text: 'a chart' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
  ]
  assert.match(await outputs(() => loose(rich, { points: 3 }, { content })), /"type":"content".*a chart.*image\/png/u)
  await claim('a tool gives error-json', async () => {
    assert.match(
      await outputs(() => loose(rich, { inStock: 2 }, { error: 'Only 2 are in stock.' })),
      /"type":"error-json","value":\{"inStock":2\}/u,
    )
  })
  await claim('a part of an unknown type is refused', async () => {
    const { model } = sees()
    const outcome = await attempt(async () => runOf(agentOf({ model }), [{ type: 'video', video: png }])).then(
      ({ error }) => error,
      (error: ProvostError) => error,
    )
    assert.equal(outcome?.code, 'invalid-input')
    assert.ok(outcome.hint)
  })
  return `${forms.length} forms of input; text, json, error-text and rich content as output`
}

async function d5({ claim }: CheckContext): Promise<string> {
  const schemas: [string, unknown][] = [
    ['zod', z.object({ n: z.number(), unit: z.enum(['C', 'F']).optional() })],
    ['valibot', v.object({ n: v.number(), unit: v.optional(v.picklist(['C', 'F'])) })],
    ['arktype', arktype({ n: 'number', 'unit?': "'C' | 'F'" })],
  ]
  const told: Record<string, unknown>[] = []
  for (const [name, input] of schemas)
    await claim(`${name}: wrong input is repaired by the model, right input runs`, async () => {
      const ran: unknown[] = []
      const made = loose(tool, {
        name: 'work',
        effect: 'read',
        input,
        execute: (given: unknown) => {
          ran.push(given)
          return 'ok'
        },
      })
      const model = scriptedModel([
        ({ tools }) => {
          told.push(Reflect.get(tools[0] ?? {}, 'inputSchema'))
          return calls('one')
        },
        (prompt) => {
          assert.match(readBy(prompt).at(-1) ?? '', /"type":"error-text".*\bn\b/u)
          return calls(1)
        },
        { text: 'ok' },
      ])
      assert.equal((await agentOf({ model, tools: [made] }).run('go')).status, 'completed')
      assert.deepEqual(ran, [{ n: 1 }])
    })
  await claim('all three tell the model the same', () => {
    const shape = (schema: Record<string, unknown>) => ({
      properties: JSON.stringify(
        Object.entries(schema['properties'] as Record<string, { type?: string; enum?: string[] }>).map(
          ([key, { type, enum: of }]) => [key, of?.toSorted() ?? type],
        ),
      ),
      required: schema['required'],
    })
    assert.deepEqual(
      told.map(shape),
      told.map(() => shape(told[0] ?? {})),
    )
  })
  await claim('something that is no schema is refused', () =>
    assert.throws(() => loose(tool, { name: 'x', input: 'string', execute: () => 1 }), { code: 'invalid-tool' }),
  )
  return JSON.stringify(told[0]).slice(0, 120)
}

async function d6({ claim, folder }: CheckContext): Promise<string> {
  const place = folder()
  mkdirSync(join(place, 'refunds'))
  writeFileSync(
    join(place, 'refunds', 'SKILL.md'),
    '---\nname: refunds\ndescription: Money back.\n---\nAsk for the order.\n',
  )
  writeFileSync(join(place, 'secret.txt'), 'top secret')
  const skills = await loadSkills(place)
  const run = async (options: object, load: object): Promise<string[]> => {
    const seen: string[] = []
    const model = scriptedModel([
      (prompt) => {
        seen.push(readBy(prompt)[0] ?? '')
        return { toolCalls: [{ name: 'load_skill', input: load }] }
      },
      (prompt) => {
        seen.push(readBy(prompt).at(-1) ?? '')
        return { text: 'ok' }
      },
    ])
    await agentOf({ instructions: 'Help.', model, ...options }).run('go')
    return seen
  }
  const late = { name: 'house', when: 'Opening hours.', content: () => `opens at ${6 + 3}` }
  const inExtension = { extensions: [defineExtension({ name: 's', skills: [...skills, late] })] }
  const [system, loaded] = await run(inExtension, { name: 'refunds' })
  assert.match(system ?? '', /Help\.[\s\S]*refunds: Money back\.[\s\S]*house: Opening hours/u)
  assert.ok(!system?.includes('Ask for the order'))
  assert.match(loaded ?? '', /Ask for the order/u)
  assert.match((await run(inExtension, { name: 'house' }))[1] ?? '', /opens at 9/u)
  for (const load of [{ name: 'unknown' }, { name: 'refunds', path: '../secret.txt' }])
    await claim(`${JSON.stringify(load)} is an error for the model`, async () => {
      const result = (await run(inExtension, load))[1] ?? ''
      assert.match(result, /error-text/u)
      assert.ok(!result.includes('top secret'))
    })
  await claim('skills are an option of an agent', async () => {
    assert.match((await run({ skills }, { name: 'refunds' }))[1] ?? '', /Ask for the order/u)
  })
  await claim('when may be a condition: a skill is there or not', async () => {
    const only = (is: boolean) => [
      { name: 'lead', when: () => is, description: 'Escalations.', content: 'Call the boss.' },
      late,
    ]
    const catalogue = async (is: boolean): Promise<string> =>
      (await run({ extensions: [loose(defineExtension, { name: 's', skills: only(is) })] }, { name: 'lead' })).join(
        '\n',
      )
    assert.match(await catalogue(true), /lead: Escalations\.[\s\S]*Call the boss/u)
    assert.ok(!/Escalations|boss/u.test(await catalogue(false)))
  })
  await claim('a resumed run keeps the answer of a condition', async () => {
    const store = memoryStore()
    const gate = tool({ name: 'gate', needsApproval: true, input: z.object({}), execute: () => 'open' })
    const desk = (is: boolean, steps: Parameters<typeof scriptedModel>[0]): Agent =>
      agentOf({
        store,
        model: scriptedModel(steps),
        tools: [gate],
        extensions: [
          loose(defineExtension, {
            name: 's',
            skills: [{ name: 'lead', when: () => is, description: 'Escalations.', content: 'Call the boss.' }, late],
          }),
        ],
      })
    const first = await desk(true, [{ toolCalls: [{ name: 'gate' }] }]).run('go')
    const second = desk(false, [
      { toolCalls: [{ name: 'load_skill', input: { name: 'lead' } }] },
      (prompt) => ({ text: readBy(prompt).at(-1) ?? '' }),
    ])
    const session = await second.resumeSession(first.sessionId)
    await session.resolve({ approvals: [{ id: first.pending.approvals[0]?.id ?? '', decision: 'approve', by: 'ann' }] })
    assert.match((await session.waitForIdle())?.text ?? '', /Call the boss/u)
  })
  await claim('a condition that throws does not pass as true', async () => {
    const broken = {
      name: 'lead',
      when: () => {
        throw new Error('no roles')
      },
      description: 'Escalations.',
      content: 'Call the boss.',
    }
    const seen = await attempt(async () =>
      run({ extensions: [loose(defineExtension, { name: 's', skills: [broken, late] })] }, { name: 'lead' }),
    ).catch(() => [])
    assert.ok(!seen.join().includes('boss'))
  })
  await claim('a folder without skills is refused', async () =>
    assert.rejects(loadSkills(join(place, 'nowhere')), { name: 'ProvostError' }),
  )
  return `catalogue in the system prompt, content on demand, none outside of the folder`
}

async function d7({ claim }: CheckContext): Promise<string> {
  const prompts: string[][] = []
  const extension = defineExtension({
    name: 'clock',
    hooks: {
      input: () => ({ tail: [{ content: 'It is noon.' }] }),
      'model.request': (_, ctx) => (ctx.run.step === 1 ? { tail: [{ content: 'First step only.' }] } : undefined),
    },
  })
  const model = scriptedModel([
    (prompt) => {
      prompts.push(readBy(prompt))
      return calls(1)
    },
    (prompt) => {
      prompts.push(readBy(prompt))
      return { text: 'ok' }
    },
    (prompt) => {
      prompts.push(readBy(prompt))
      return { text: 'ok' }
    },
  ])
  const store = memoryStore()
  const agent = agentOf({ model, tools: [work], extensions: [extension], store })
  const { sessionId, messages } = await agent.run('go')
  const has = (text: string): boolean[] => prompts.map((prompt) => prompt.join().includes(text))
  assert.deepEqual(has('First step only.'), [true, false])
  assert.deepEqual(has('It is noon.'), [true, true])
  await claim('it is persisted nowhere', async () => {
    const log = []
    for await (const entry of store.read(sessionId)) log.push(entry)
    assert.ok(
      !JSON.stringify([messages, log.filter(({ type }) => type === 'message' || type === 'view')]).includes(
        'First step only',
      ),
    )
    const session = await agent.resumeSession(sessionId)
    assert.ok(!JSON.stringify(session.messages).includes('noon'))
  })
  await claim('a hook that throws fails the run, and no request is made', async () => {
    const broken = defineExtension({
      name: 'broken',
      hooks: {
        'model.request': () => {
          throw new Error('x')
        },
      },
    })
    let asked = 0
    const result = await agentOf({
      model: scriptedModel([
        () => {
          asked++
          return { text: 'x' }
        },
      ]),
      extensions: [broken],
    }).run('go')
    assert.deepEqual([result.status, asked], ['failed', 0])
  })
  return `tail of a request: steps ${has('First step only.').join()}; tail of an input: ${has('It is noon.').join()}`
}

async function d8({ claim }: CheckContext): Promise<string> {
  const session = await agentOf({ model: scriptedModel([calls(1), { text: 'ok' }]), tools: [work] }).createSession()
  session.send('go')
  await session.waitForIdle()
  const { messages } = session
  const write = messages as unknown as Message[] & Record<string, (...args: unknown[]) => unknown>
  const direct: [string, () => unknown][] = [
    ['push', () => write.push(write[0] as Message)],
    ['pop', () => write.pop()],
    ['index', () => (write[0] = write[1] as Message)],
    ['length', () => (write.length = 0)],
    ['reverse', () => Reflect.apply(Array.prototype.reverse, write, [])],
    ['delete', () => Reflect.deleteProperty(write, 0) || assert.fail('deleted')],
    ['defineProperty', () => Object.defineProperty(write, 0, { value: 1 })],
    ['setPrototypeOf', () => Object.setPrototypeOf(write, null)],
  ]
  for (const [name, act] of direct) await claim(`${name} throws`, () => assert.throws(act))
  assert.equal(messages.length, 4)
  const invalid: [string, () => unknown][] = [
    ['an orphaned result', () => messages.splice(1, 1)],
    ['a call without its result', () => messages.splice(2, 1)],
    ['a history that the assistant opens', () => messages.splice(0, 1)],
    ['a system message', () => messages.append({ role: 'system', content: 'obey' })],
  ]
  for (const [name, act] of invalid)
    await claim(`${name} is refused with indices`, () => {
      assert.throws(act, (error: ProvostError) => error.code === 'invalid-messages' && /\d/u.test(error.message))
      assert.equal(messages.length, 4)
    })
  messages.append({ content: 'more' }, { role: 'assistant', content: 'sure' })
  messages.replace(messages[4]?.id ?? '', { content: 'less' })
  messages.replaceRange(messages[1]?.id ?? '', messages[2]?.id ?? '', { role: 'assistant', content: 'did it' })
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'assistant', 'user', 'assistant'],
  )
  await claim('a transaction is applied whole or not at all', () => {
    const before = messages.length
    assert.throws(() =>
      messages.transaction((draft) => {
        draft.append({ content: 'x' })
        throw new Error('changed my mind')
      }),
    )
    assert.equal(messages.length, before)
  })
  await claim('an asynchronous transaction is refused, and nothing is applied', async () => {
    const before = messages.length
    assert.throws(
      () =>
        loose(messages.transaction.bind(messages), async (draft: typeof messages) => {
          draft.append({ content: 'early' })
          await sleep(1)
          draft.append({ content: 'late' })
        }),
      { name: 'ProvostError' },
    )
    await sleep(5)
    assert.equal(messages.length, before)
  })
  await claim('a transaction that returns any promise is refused', async () => {
    const thenable = (draft: typeof messages) => {
      draft.append({ content: 'early' })
      return Promise.resolve()
    }
    const before = messages.length
    assert.throws(() => loose(messages.transaction.bind(messages), thenable), { name: 'ProvostError' })
    assert.throws(
      () =>
        loose(messages.transaction.bind(messages), async () => {
          throw new Error('later')
        }),
      { name: 'ProvostError' },
    )
    await sleep(5)
    assert.equal(messages.length, before)
  })
  await claim('batch and commit apply edits of several steps together', async () => {
    const draft = loose(Reflect.get(messages, 'batch').bind(messages)) as typeof messages & { commit(): void }
    const before = messages.length
    draft.splice(0, draft.length)
    await sleep(1)
    draft.append({ content: 'summary' })
    assert.equal(messages.length, before)
    draft.commit()
    assert.equal(messages.length, 1)
    const bad = loose(Reflect.get(messages, 'batch').bind(messages)) as typeof draft
    bad.append({ role: 'system', content: 'obey' })
    assert.throws(() => bad.commit(), { code: 'invalid-messages' })
    assert.equal(messages.length, 1)
  })
  await claim('views of hooks, requests and tools cannot be written', async () => {
    const failed: string[] = []
    const tryTo = (name: string, list: unknown): void => {
      try {
        ;(list as unknown[]).push('x')
        failed.push(name)
      } catch {
        /* right */
      }
    }
    const probe = tool({
      name: 'work',
      effect: 'read',
      input: z.object({ n: z.number() }),
      execute: (_, ctx) => {
        tryTo('tool', ctx.messages)
        return 1
      },
    })
    const hooks = defineExtension({
      name: 'h',
      hooks: {
        'model.request': (request, ctx) => {
          tryTo('view', ctx.view.messages)
          tryTo('tail', request.tail)
          tryTo('messages', request.messages)
          tryTo('tools', request.tools)
        },
        context: (view, ctx) => {
          tryTo('context', view.messages)
          tryTo('intent', ctx.intent)
        },
        'tool.call': (_, ctx) => tryTo('call', ctx.view.messages),
      },
    })
    const { status } = await agentOf({
      model: scriptedModel([calls(1), { text: 'ok' }]),
      tools: [probe],
      extensions: [hooks],
    }).run('go')
    assert.deepEqual([failed, status], [[], 'completed'])
    const deep = defineExtension({
      name: 'deep',
      hooks: {
        'model.request': (request) => {
          tryTo('content', request.messages[0]?.content)
          try {
            Object.assign(request.messages[0]?.content[0] ?? {}, { text: 'forged' })
            failed.push('part')
          } catch {
            /* right */
          }
          try {
            Object.assign(request.params, { temperature: 2 })
            failed.push('params')
          } catch {
            /* right */
          }
        },
      },
    })
    await agentOf({ model: scriptedModel([{ text: 'ok' }]), extensions: [deep] }).run('go')
    assert.deepEqual(failed, [])
  })
  await claim('three assistant messages in a row reach a provider that wants turns as one', async () => {
    const bodies = await wire([
      { role: 'user', content: 'a' },
      ...['b', 'c', 'd'].map((content) => ({ role: 'assistant', content })),
      { role: 'user', content: 'e' },
    ])
    assert.deepEqual(
      bodies[0]?.messages.map(({ role }) => role),
      ['user', 'assistant', 'user'],
    )
  })
  return `${direct.length} direct writes throw; ${invalid.length} invalid edits refused with indices; append, replace, replaceRange, splice hold`
}

interface AnthropicBody {
  system?: { cache_control?: unknown }[]
  messages: { role: string; content: { cache_control?: unknown }[] }[]
  cache_control?: unknown
}

/** What Anthropic's API receives for these messages. */
async function wire(
  messages: unknown,
  options: object = {},
  inputs: readonly unknown[] = [],
): Promise<AnthropicBody[]> {
  const server = await startAimock([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
  try {
    const model = createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5')
    const agent = agentOf({ model, instructions: 'Be brief.', tools: [work], ...options })
    const { sessionId } = await runOf(agent, messages)
    for (const input of inputs) await (loose(agent.run, input, { sessionId }) as Promise<unknown>)
    return server.requests.map(({ body }) => body as AnthropicBody)
  } finally {
    await server.close()
  }
}

async function d9({ claim }: CheckContext): Promise<string> {
  const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'work', input: { n: 1 } })
  const history = [
    { role: 'assistant', content: 'I open.' },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [call('c1'), call('c2'), call('c1')] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c2', toolName: 'work', output: { type: 'text', value: 'did' } }],
    },
    { role: 'user', content: 'and?' },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'gone', toolName: 'work', output: { type: 'text', value: 'orphan' } },
      ],
    },
  ]
  const agent = agentOf({ model: reads(), tools: [work] })
  const session = await (loose(agent.createSession, { messages: history }) as ReturnType<Agent['createSession']>)
  assertWellFormed(session.messages)
  assert.ok(session.repairs.length >= 3, session.repairs.join('; '))
  session.send('so?')
  assert.match((await session.waitForIdle())?.text ?? '', /so\?$/u)
  const deaf = tool({
    name: 'work',
    effect: 'read',
    input: z.object({ n: z.number() }),
    execute: async () => new Promise(() => {}),
  })
  const cases: [string, object, boolean?][] = [
    ['an abort in the middle of calls', { model: scriptedModel([calls(1, 2), { text: 'ok' }]), tools: [deaf] }, true],
    [
      'an unknown tool',
      { model: scriptedModel([{ toolCalls: [{ name: 'unknown' }] }, { text: 'ok' }]), tools: [work] },
    ],
    [
      'arguments that are no JSON',
      { model: scriptedModel([{ toolCalls: [{ name: 'work', input: '{"n": ' }] }, { text: 'ok' }]), tools: [work] },
    ],
    [
      'the same provider id twice, and an empty one',
      {
        model: scriptedModel([
          { toolCalls: ['x', 'x', ''].map((id) => ({ name: 'work', input: { n: 1 }, id })) },
          { text: 'ok' },
        ]),
        tools: [work],
      },
    ],
    [
      'a result that a hook withholds',
      {
        model: scriptedModel([calls(1), { text: 'ok' }]),
        tools: [work],
        extensions: [
          defineExtension({
            name: 'w',
            hooks: {
              'tool.result': () => {
                throw new Error('no')
              },
            },
          }),
        ],
      },
    ],
    [
      'a stream that breaks in a call',
      { model: scriptedModel([{ ...calls(1), failAfterChunks: 1 }, calls(1), { text: 'ok' }]), tools: [work] },
    ],
  ]
  for (const [name, options, aborts = false] of cases)
    await claim(`${name}: the history stays well formed`, async () => {
      const one = await agentOf(options).createSession()
      one.send('go')
      if (aborts) {
        await sleep(20)
        await one.abort()
      }
      const result = await one.waitForIdle().catch(() => undefined)
      assertWellFormed(one.messages)
      if (!aborts) assert.equal(result?.text, 'ok')
    })
  return `${session.repairs.length} repairs: ${session.repairs.join('; ')}`.slice(0, 300)
}

async function d10({ claim }: CheckContext): Promise<string> {
  const tail = defineExtension({ name: 'tail', hooks: { 'model.request': () => ({ tail: [{ content: 'noon' }] }) } })
  const [one, two, three] = await wire('a', { extensions: [tail] }, ['b', 'c'])
  assert.ok(one && two && three)
  assert.ok(one.system?.at(-1)?.cache_control)
  const bare = (value: unknown): string =>
    JSON.stringify(value, (key, inner: unknown) => (key === 'cache_control' ? undefined : inner))
  const marked = ({ messages }: AnthropicBody): string[] =>
    messages.flatMap(({ content }) => content.filter((part) => part.cache_control).map(bare))
  await claim('a breakpoint stands behind the history, before the tail', () => {
    assert.deepEqual(
      [one, two, three].map((body) => marked(body).map((part) => /"text":"(.)"/u.exec(part)?.[1])),
      [['a'], ['b'], ['c']],
    )
  })
  await claim('without a tail the provider sets the moving breakpoint', async () => {
    const [plain] = await wire('a')
    assert.ok(plain?.cache_control)
  })
  await claim('each request starts with the bytes of the one before', () => {
    const history = (body: AnthropicBody): string =>
      bare(body.messages)
        .replace(/,?\{"type":"text","text":"noon"\}/u, '')
        .replace(/\]\}\]$/u, '')
    assert.ok(
      bare(two.system) === bare(one.system) &&
        history(two).startsWith(history(one)) &&
        history(three).startsWith(history(two)),
    )
  })
  await claim('promptCaching: off sets none', async () => {
    const [off] = await wire('a', { settings: { promptCaching: 'off' } })
    assert.ok(!JSON.stringify(off).includes('cache_control'))
  })
  return `Anthropic's wire: system marked, history marked at ${marked(three).length} place(s)`
}

async function d11({ claim }: CheckContext): Promise<string> {
  let ran = 0
  const deaf = tool({
    name: 'work',
    effect: 'read',
    timeoutMs: 100,
    input: z.object({ n: z.number() }),
    execute: async () => new Promise(() => {}),
  })
  const cached = tool({
    name: 'work',
    effect: 'read',
    cache: { ttlMs: 60_000 },
    input: z.object({ n: z.number() }),
    execute: ({ n }) => {
      ran++
      if (n === 13) throw new Error('unlucky')
      return n
    },
  })
  const late = await eventsOf(agentOf({ model: scriptedModel([calls(1), { text: 'ok' }]), tools: [deaf] }).stream('go'))
  const [timeout] = ofType(late, 'tool.execute.error')
  assert.equal(timeout?.error.code, 'tool-timeout')
  assert.ok(timeout.durationMs >= 95 && timeout.durationMs < 3_000, `${timeout.durationMs}`)
  await claim('an abort ends a call before its time', async () => {
    const slow = tool({
      name: 'work',
      effect: 'read',
      timeoutMs: 60_000,
      input: z.object({ n: z.number() }),
      execute: async () => new Promise(() => {}),
    })
    const stream = agentOf({ model: scriptedModel([calls(1)]), tools: [slow] }).stream('go')
    await sleep(30)
    const start = performance.now()
    await stream.abort()
    assert.ok(performance.now() - start < 3_000)
  })
  const via: string[] = []
  const session = await agentOf({
    model: scriptedModel([calls(1), calls(1), calls(2), calls(13), calls(13), calls('x'), { text: 'ok' }]),
    tools: [cached],
  }).createSession()
  const codes: string[] = []
  session
    .on('tool.execute.end', (event) => void via.push(event.via))
    .on('tool.execute.error', ({ error }) => void codes.push(error.code))
    .send('go')
  await session.waitForIdle()
  assert.deepEqual([via, ran], [['executed', 'cache', 'executed'], 4])
  await claim('errors are not cached, wrong input does not run', () =>
    assert.deepEqual(codes, ['tool-failed', 'tool-failed', 'invalid-tool-input']),
  )
  await claim('another session and another principal do not get it', async () => {
    const agent = agentOf({
      model: scriptedModel([calls(1), { text: 'ok' }, calls(1), { text: 'ok' }]),
      tools: [cached],
      store: memoryStore(),
    })
    const before = ran
    await agent.run('go', { principal: { id: 'ann' } })
    await agent.run('go', { principal: { id: 'bob' } })
    assert.equal(ran, before + 2)
  })
  await claim('a cache on a tool that writes is refused', () =>
    assert.throws(
      () => loose(tool, { name: 'w', effect: 'write', cache: true, input: z.object({}), execute: () => 1 }),
      { code: 'invalid-tool' },
    ),
  )
  return `timeout after ${Math.round(timeout.durationMs)} ms; results ${via.join(', ')}; errors ${codes.join(', ')}`
}

async function d12({ claim, after }: CheckContext): Promise<string> {
  const boom = (): never => {
    throw new Error('it broke')
  }
  const asyncBoom = async (): Promise<never> => boom()
  const ok = () => scriptedModel([calls(1), { text: 'ok' }])
  const hook = (hooks: object) => ({ extensions: [loose(defineExtension, { name: 'guard', hooks })] })
  const away = memoryStore()
  const append = away.append.bind(away)
  let appends = 0
  const flaky = {
    ...away,
    append: async (...args: Parameters<typeof append>) => {
      if (++appends === 2) throw new Error('disk full')
      return append(...args)
    },
  }
  const leaseless = { ...memoryStore(), lease: asyncBoom }
  const tools = [work]
  const cases: [string, object, RegExp][] = [
    [
      'model refused',
      { model: scriptedModel([{ error: Object.assign(new Error('no'), { statusCode: 401 }) }]) },
      /^model /u,
    ],
    ['model unknown', { model: 'unknown/unknown' }, /^model /u],
    ['max-steps', { model: scriptedModel([calls(1)], { after: 'repeat-last' }), tools, maxSteps: 1 }, /./u],
    [
      'invalid output',
      { model: scriptedModel([{ text: 'x' }, { text: 'y' }]), output: z.object({ a: z.number() }) },
      /./u,
    ],
    ['orchestrator', { model: ok(), tools, orchestrator: asyncBoom }, /orchestrator/iu],
    ['convertToModel', { model: ok(), tools, convertToModel: boom }, /convertToModel/u],
    ['instructions', { model: ok(), tools, instructions: boom }, /instructions/u],
    [
      'init of an extension',
      { model: ok(), tools, extensions: [loose(defineExtension, { name: 'guard', init: boom })] },
      /guard/u,
    ],
    ['input hook', { model: ok(), tools, ...hook({ input: boom }) }, /^hook guard/u],
    ['model.request hook', { model: ok(), tools, ...hook({ 'model.request': boom }) }, /^hook guard/u],
    ['model.response hook', { model: ok(), tools, ...hook({ 'model.response': boom }) }, /^hook guard/u],
    ['session.start hook', { model: ok(), tools, ...hook({ 'session.start': boom }) }, /^hook guard/u],
    ['store append', { model: ok(), tools, store: flaky }, /^store/u],
    ['store lease', { model: ok(), tools, store: leaseless }, /^store/u],
  ]
  const seen: string[] = []
  for (const [name, options, source] of cases)
    await claim(`${name}: one agent.error with its source, code and hint`, async () => {
      const events = await eventsOf(agentOf(options).stream('go'))
      const errors = ofType(events, 'agent.error')
      const [end] = ofType(events, 'agent.end')
      assert.equal(end?.status, 'failed')
      assert.equal(errors.length, 1, `${errors.length} events`)
      const [{ source: from, error } = { source: { kind: '', name: '' }, error: { code: '', message: '', hint: '' } }] =
        errors
      seen.push(`${name}: ${from.kind} ${error.code}`)
      assert.match(`${from.kind} ${from.name} ${error.message} ${error.hint}`, source)
      assert.notEqual(error.code, 'unexpected')
      assert.ok(error.hint, `no hint: ${error.code} ${error.message}`)
      assert.equal(end.error?.code, error.code)
    })
  const going: [string, object, RegExp][] = [
    ['tool.call hook', { model: ok(), tools, ...hook({ 'tool.call': boom }) }, /^hook guard/u],
    ['tool.result hook', { model: ok(), tools, ...hook({ 'tool.result': boom }) }, /^hook guard/u],
    [
      'event hook',
      {
        model: scriptedModel([{ text: 'x' }]),
        ...hook({ event: (event: AgentEvent) => (event.type === 'turn.end' ? boom() : undefined) }),
      },
      /^hook guard/u,
    ],
    ['run.end hook', { model: scriptedModel([{ text: 'x' }]), ...hook({ 'run.end': boom }) }, /^hook guard/u],
  ]
  for (const [name, options, source] of going)
    await claim(`${name}: one agent.error, and the run goes on`, async () => {
      const events = await eventsOf(agentOf(options).stream('go'))
      const errors = ofType(events, 'agent.error')
      assert.equal(ofType(events, 'agent.end')[0]?.status, 'completed')
      assert.deepEqual(
        errors.map((one) => source.test(`${one.source.kind} ${one.source.name}`)),
        [true],
      )
    })
  await claim(
    'a tool that throws is tool.execute.error, and agent.error does not repeat it more than once',
    async () => {
      const broken = tool({ name: 'work', effect: 'read', input: z.object({ n: z.number() }), execute: boom })
      const events = await eventsOf(agentOf({ model: ok(), tools: [broken] }).stream('go'))
      assert.deepEqual(
        ofType(events, 'tool.execute.error').map(({ error }) => error.code),
        ['tool-failed'],
      )
      assert.ok(ofType(events, 'agent.error').length <= 1)
    },
  )
  await claim('clients over HTTP do not receive what code of the application threw', async () => {
    const leak = (): never => {
      throw new Error('postgres://admin:hunter2@db')
    }
    const leaks: [string, object][] = [
      ['orchestrator', { model: ok(), tools, orchestrator: async () => leak() }],
      ['convertToModel', { model: ok(), tools, convertToModel: leak }],
      ['instructions', { model: ok(), tools, instructions: leak }],
      ['init', { model: ok(), tools, extensions: [loose(defineExtension, { name: 'guard', init: leak })] }],
      ['input hook', { model: ok(), tools, ...hook({ input: leak }) }],
      ['run.end hook', { model: ok(), tools, ...hook({ 'run.end': leak }) }],
      [
        'skill condition',
        { model: ok(), tools, skills: [{ name: 'lead', when: leak, description: 'x', content: 'y' }] },
      ],
      ['store append', { model: ok(), tools, append: leak }],
    ]
    const leaked: string[] = []
    for (const [name, { append: broken, ...options }] of leaks as [string, { append?: () => never }][]) {
      const inner = memoryStore()
      let writes = 0
      const store = broken
        ? {
            ...inner,
            append: async (...args: Parameters<typeof inner.append>) =>
              ++writes > 2 ? broken() : inner.append(...args),
          }
        : inner
      const { url, close } = await serve(
        createServer({ agents: [agentOf({ ...options, store })], store, onError: () => {} }),
        { port: 0 },
      )
      after(close)
      const body = JSON.stringify({ input: 'go' })
      const response = await fetch(`${url}/api/agent/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      const id = response.headers.get('x-session-id')
      const all = [await response.text()]
      for (const path of id
        ? [`session/${id}`, `session/${id}/export`, ...(broken ? [] : [`session/${id}/events?verbose=1`])]
        : [])
        all.push(await (await fetch(`${url}/api/agent/${path}`)).text())
      if (all.join().includes('hunter2')) leaked.push(`${name} in ${all.findIndex((text) => text.includes('hunter2'))}`)
    }
    assert.deepEqual(leaked, [])
  })
  return seen.join('; ')
}

export const rows: readonly Check[] = [
  check('D1', 'extensions: init, tools, hooks in order; reducer, injection, short-circuit', d1),
  check('D2', 'hooks of session, input, model, tool, run; run.end always', d2),
  check('D3', 'one run drives a stream and its result', d3),
  check('D4', 'content: text, images, files; typed outputs of tools', d4),
  check('D5', 'schemas of zod, valibot and arktype', d5),
  check('D6', 'skills: condition, content, catalogue', d6),
  check('D7', 'turn context that is never persisted', d7),
  check('D8', 'guarded messages: edits, batch, transaction, invariants', d8),
  check('D9', 'repair of orphaned calls', d9),
  check('D10', 'cache breakpoints', d10),
  check('D11', 'tool time-out and abort, validation, cached results', d11),
  check('D12', 'failures with their source', d12),
]
