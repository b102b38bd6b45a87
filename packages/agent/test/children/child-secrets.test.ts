import { createAgent, handoff, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import type { AgentEvent, Entry, RunResult, SecretRef, SessionStore, SpawnOptions, Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

type Granting = Pick<SpawnOptions, 'secrets' | 'inheritSecrets'>

/** A tool that reports which agent used the secret, and leaks the value wherever it can. */
function use(got: string[], secret: string, more: { readonly needsApproval?: boolean } = {}): Tool {
  return tool({
    name: `use_${secret}`,
    input: z.object({ with: z.string().optional() }),
    secrets: [secret],
    ...more,
    async execute({ with: given }, { secrets }) {
      const value = secrets[secret] ?? ''
      got.push(value, ...(given === undefined ? [] : [given]))
      return `${secret} is ${value}, as base64 ${Buffer.from(value).toString('base64')}`
    },
  })
}

function ref(name: string): SecretRef {
  return secretRef(() => passwordOf(name))
}

function passwordOf(name: string): string {
  return `password of ${name.toLowerCase()}`
}

/** Calls each once, and then says what came of it. */
function calling(names: readonly string[], input: object = {}): ReturnType<typeof scriptedModel> {
  const toolCalls = names.map((name) => ({ name, input: { ...input } }))
  const step = ({ messages }: ScriptedPrompt): ScriptedStep => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? { text: JSON.stringify(last.content) } : { toolCalls }
  }
  return scriptedModel([step], { after: 'repeat-last' })
}

async function play(agent: Agent, store: SessionStore) {
  const events: AgentEvent[] = []
  const stream = agent.stream('go')
  for await (const event of stream) events.push(event)
  const result = await stream.result
  return { result, events, ...(await told(store, result, events)) }
}

async function told(store: SessionStore, result: RunResult<unknown>, events: readonly AgentEvent[] = []) {
  const logs: Entry[] = []
  const open = [result.sessionId]
  for (let log = open.pop(); log !== undefined; log = open.pop()) {
    for (const entry of await readLog(store, log)) {
      logs.push(entry)
      if (entry.type === 'child' && entry.op === 'spawned') open.push(entry.log)
    }
  }
  const all = JSON.stringify([events, logs, result])
  expect(all).not.toMatch(/password of/)
  expect(all).not.toContain(Buffer.from('password of').toString('base64'))
  return { all, logs }
}

function desk(child: Agent, granting: Granting, store: SessionStore, got: string[] = []): Agent {
  return createAgent({
    name: 'desk',
    model: calling(['use_DESK', 'ask'], { task: 'go' }),
    tools: [use(got, 'DESK'), child.toTool({ name: 'ask', description: 'Ask.', ...granting })],
    secrets: { DESK: ref('DESK'), LENT: ref('LENT') },
    store,
  })
}

test.for([
  [{}, ['CLERK']],
  [{ inheritSecrets: ['LENT'] }, ['LENT', 'CLERK']],
  [{ secrets: 'explicit', inheritSecrets: ['LENT'] }, ['LENT']],
  [{ secrets: 'explicit' }, []],
  [{ secrets: 'isolated' }, ['CLERK']],
] as const)('a child has the secrets that it was lent and no others: %o', async ([granting, has]) => {
  const got: string[] = []
  const store = memoryStore()
  const clerk = createAgent({
    name: 'clerk',
    model: calling(['use_DESK', 'use_LENT', 'use_CLERK']),
    tools: ['DESK', 'LENT', 'CLERK'].map((name) => use(got, name)),
    secrets: { CLERK: ref('CLERK') },
  })
  const { result, all } = await play(desk(clerk, granting, store), store)
  expect(result.status).toBe('completed')
  expect(got).toEqual(has.map(passwordOf))
  for (const name of has) expect(all).toContain(`${name} is ⟦secret:${name}⟧`)
  expect(all.match(/secret-denied/g)?.length ?? 0).toBeGreaterThanOrEqual(3 - has.length)
})

test.for([
  { secrets: 'explicit', inheritSecrets: ['BANK'] },
  { secrets: 'allowlist', inheritSecrets: ['LENT', 'BANK'] },
  { inheritSecrets: ['BANK'] },
] as const)(
  'naming a secret that the caller does not have itself fails the call, and no child begins: %o',
  async (granting) => {
    const store = memoryStore()
    const clerk = createAgent({ name: 'clerk', model: calling([]) })
    const { all, logs } = await play(desk(clerk, granting, store), store)
    expect(all).toContain('The secret BANK may not be used')
    expect(logs.filter(({ type }) => type === 'child')).toEqual([])
  },
)

test('a token that comes to a child in its input, a result or an argument stays a token', async () => {
  const got: string[] = []
  const store = memoryStore()
  const said = tool({ name: 'said', input: z.object({}), execute: () => 'It is ⟦secret:DESK⟧, or ⟦redacted:DESK⟧.' })
  const echo = tool({
    name: 'echo',
    input: z.object({ with: z.string().optional() }),
    execute: ({ with: given = '' }) => void got.push(given),
  })
  const clerk = createAgent({
    name: 'clerk',
    model: calling(['said', 'echo', 'use_CLERK', 'use_DESK'], { with: '⟦secret:DESK⟧' }),
    tools: [said, echo, use(got, 'CLERK'), use(got, 'DESK')],
    secrets: { CLERK: ref('CLERK') },
  })
  // It resolves its secret before it asks, so every agent in this process knows the value.
  const first: string[] = []
  const root = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: [{ name: 'use_DESK', input: {} }] },
      { toolCalls: [{ name: 'ask', input: {} }] },
      { text: 'done' },
    ]),
    tools: [
      use(first, 'DESK'),
      clerk.toTool({ name: 'ask', description: 'Ask.', input: z.object({}), prompt: () => 'Use ⟦secret:DESK⟧.' }),
    ],
    secrets: { DESK: ref('DESK') },
    store,
  })
  const { result, all } = await play(root, store)
  expect(result.status).toBe('completed')
  expect(first).toEqual([passwordOf('DESK')])
  expect(got).toEqual([])
  expect(all).toContain('Use ⟦secret:DESK⟧.')
})

test.for([
  [{ inheritSecrets: ['LENT'] }, {}, ['DEEP']],
  [{ inheritSecrets: ['LENT'] }, { inheritSecrets: ['LENT', 'CLERK'] }, ['LENT', 'CLERK', 'DEEP']],
  [{}, { inheritSecrets: ['LENT'] }, []],
  [{ inheritSecrets: ['LENT'] }, { inheritSecrets: ['LENT', 'DESK'] }, []],
  [{ secrets: 'explicit', inheritSecrets: ['LENT'] }, { inheritSecrets: ['LENT'] }, ['LENT']],
  [{ secrets: 'explicit', inheritSecrets: ['LENT'] }, { inheritSecrets: ['LENT', 'CLERK'] }, []],
  [{ secrets: 'explicit' }, { secrets: 'isolated' }, []],
] as const)('a child of a child has what its own caller had to lend: %o', async ([outer, inner, has]) => {
  const got: string[] = []
  const store = memoryStore()
  const names = ['DESK', 'LENT', 'CLERK', 'DEEP']
  const deep = createAgent({
    name: 'deep',
    model: calling(names.map((name) => `use_${name}`)),
    tools: names.map((name) => use(got, name)),
    secrets: { DEEP: ref('DEEP') },
  })
  const clerk = createAgent({
    name: 'clerk',
    model: calling(['deeper'], { task: 'go' }),
    tools: [deep.toTool({ name: 'deeper', description: 'Deeper.', ...inner })],
    secrets: { CLERK: ref('CLERK') },
  })
  await play(desk(clerk, outer, store), store)
  expect(got).toEqual(has.map(passwordOf))
})

test('a composite of a child cannot lend what the child does not have', async () => {
  const got: string[] = []
  const store = memoryStore()
  const deep = createAgent({ name: 'deep', model: calling(['use_DESK']), tools: [use(got, 'DESK')] })
  const spawning = tool({
    name: 'spawning',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      const { value } = await ctx.call('use_DESK', {}, { key: 'call' })
      got.push(...(value === undefined ? [] : ['called']))
      await ctx.spawn(deep, 'go', { key: 'lent', inheritSecrets: ['DESK'] })
      return await ctx
        .spawn(deep, 'go', { key: 'explicit', secrets: 'explicit', inheritSecrets: ['DESK'] })
        .then(() => 'lent', String)
    },
  })
  const clerk = createAgent({ name: 'clerk', model: calling(['spawning']), tools: [spawning, use(got, 'DESK')] })
  const { all } = await play(desk(clerk, {}, store), store)
  expect(got).toEqual([])
  expect(all).toContain('The secret DESK may not be used')
})

test.for([
  [{ inheritSecrets: ['LENT'] }, ['BANK', 'LENT', 'CLERK']],
  [{ secrets: 'explicit', inheritSecrets: ['LENT'] }, ['LENT']],
] as const)(
  'the handoff target of a child has its own secrets, unless all are explicit: %o',
  async ([granting, has]) => {
    const got: string[] = []
    const store = memoryStore()
    const names = ['DESK', 'LENT', 'BANK', 'CLERK']
    const tools = names.map((name) => use(got, name))
    const calls = names.map((name) => ({ name: `use_${name}`, input: {} }))
    const clerk: Agent = createAgent({
      name: 'clerk',
      model: scriptedModel([
        { toolCalls: [{ name: 'transfer_to_bank', input: {} }] },
        { toolCalls: calls },
        { text: 'done' },
      ]),
      tools,
      handoffs: () => [handoff(bank)],
      secrets: { CLERK: ref('CLERK') },
    })
    // What it sees of the tree makes the clerk another plan when the conversation comes back.
    const watch = defineExtension({ name: 'watch', scope: 'tree' })
    const bank: Agent = createAgent({
      name: 'bank',
      model: scriptedModel([{ toolCalls: calls }, { toolCalls: [{ name: 'transfer_to_clerk', input: {} }] }]),
      tools,
      handoffs: () => [handoff(clerk)],
      extensions: [watch],
      secrets: { BANK: ref('BANK') },
    })
    const { result } = await play(desk(clerk, granting, store), store)
    expect(result.status).toBe('completed')
    expect(got).toEqual(has.map(passwordOf))
  },
)

test('in another process a child has what it was lent and nothing else', async () => {
  const got: string[] = []
  const store = memoryStore()
  const start = (): Agent => {
    const names = ['LENT', 'DESK', 'CLERK']
    const clerk = createAgent({
      name: 'clerk',
      model: calling(names.map((name) => `use_${name}`)),
      tools: names.map((name) => use(got, name, { needsApproval: true })),
      secrets: { CLERK: ref('CLERK') },
    })
    return desk(clerk, { inheritSecrets: ['LENT'] }, store)
  }
  const { result } = await play(start(), store)
  expect(result.status).toBe('suspended')
  expect(got).toEqual([])
  const [lent, ...others] = result.pending.approvals
  const agent = start()
  const approve = (one: { id: string } | undefined) => ({ id: one?.id ?? '', decision: 'approve' as const })
  const state = RunState.fromJSON(JSON.stringify(result.state), agent)
  const second = await agent.run(state, { approvals: [approve(lent)] })
  expect(second.status).toBe('suspended')
  expect(got).toEqual([passwordOf('LENT')])
  const third = start()
  const last = await third.run(RunState.fromJSON(JSON.stringify(second.state), third), {
    approvals: others.map(approve),
  })
  expect(last.status).toBe('completed')
  expect(got).toEqual([passwordOf('LENT'), passwordOf('CLERK')])
  const { all } = await told(store, last)
  expect(all).toContain('LENT is ⟦secret:LENT⟧')
})

test('what a child fails with hides what it was lent, in its log and in those above', async () => {
  const store = memoryStore()
  const careless = defineExtension({
    name: 'careless',
    hooks: { 'tool.result': (_, ctx) => ctx.stop('careless', `It was ${passwordOf('LENT')}.`) },
  })
  const clerk = createAgent({
    name: 'clerk',
    model: calling(['use_LENT']),
    tools: [use([], 'LENT')],
    extensions: [careless],
  })
  const { all } = await play(desk(clerk, { inheritSecrets: ['LENT'] }, store), store)
  expect(all).toContain('It was ⟦secret:LENT⟧.')
})
