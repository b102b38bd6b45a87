import type { Agent } from '@provost/agent'
import type { FanOut, SessionStore } from '@provost/core'
import { postgresStore } from '@provost/sessions'
import { findPostgres, startPostgres } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import {
  agentOf,
  begin,
  callsOnce,
  childrenOf,
  endOf,
  entriesOf,
  fileStore,
  grant,
  sharedStore,
  workerOf,
} from './elsewhere-scenario.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** An agent that fans out to others, each of which may run on any worker. */
function leadOf(store: SessionStore, fanOut: FanOut): Agent {
  const ask = tool({
    name: 'ask',
    effect: 'none',
    composite: true,
    input: z.object({}),
    async execute(_, ctx) {
      const { output, used } = await ctx.fanOut({ perBudget: grant, where: 'any', ...fanOut })
      return { output, used }
    },
  })
  return agentOf('lead', store, callsOnce('ask', {}), { tools: [ask] })
}

/** Agents that each say their name. */
const writersOf = (store: SessionStore, names: readonly string[]): readonly Agent[] =>
  names.map((name) => agentOf(name, store, [{ text: `I am ${name}.` }]))

const childrenFor = (agents: readonly Agent[]): FanOut['children'] =>
  agents.map((agent) => ({ agent, input: 'Say your name.', key: agent.name }))

const strategies: readonly (readonly [string, FanOut['mergeStrategy'], string])[] = [
  ['concat', { kind: 'concat', separator: ' ' }, 'I am ada. I am bob. I am eve.'],
  [
    'custom',
    { kind: 'custom', merge: (children) => children.map(({ key, status }) => `${key} ${status}`).join() },
    'ada completed,bob completed,eve completed',
  ],
]

test.for(strategies)('the results of children elsewhere are merged: %s', async ([, mergeStrategy, expected]) => {
  const store = sharedStore()
  const writers = writersOf(store, ['ada', 'bob', 'eve'])
  const lead = leadOf(store, { children: childrenFor(writers), mergeStrategy })
  await begin(store, lead)
  for (let n = 0; n < 2; n++) workerOf(store, [lead, ...writers], { concurrency: 2 })
  expect(await endOf(store)).toMatchObject({ status: 'completed', output: expect.stringContaining(expected) })
  expect((await childrenOf(store)).map(({ where }) => where)).toEqual(['any', 'any', 'any'])
})

test('a judge merges the results of children elsewhere, in the process of the parent', async () => {
  const store = sharedStore()
  const writers = writersOf(store, ['ada', 'bob'])
  const judge = agentOf('judge', store, [
    ({ messages }) => ({ text: `Judged: ${JSON.stringify(messages).includes('I am bob.')}` }),
  ])
  const lead = leadOf(store, { children: childrenFor(writers), mergeStrategy: { kind: 'judge-merge', judge } })
  await begin(store, lead)
  workerOf(store, [lead, ...writers])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('Judged: true') })
  expect((await childrenOf(store)).map(({ where }) => where)).toEqual(['any', 'any', undefined])
})

test('the first child elsewhere that completes ends the others', async () => {
  const store = sharedStore()
  const endless = tool({
    name: 'wait',
    effect: 'read',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  })
  const slow = agentOf('slow', store, callsOnce('wait', {}), { tools: [endless] })
  const [ada] = writersOf(store, ['ada'])
  if (!ada) throw new Error('no writer')
  const lead = leadOf(store, { children: childrenFor([slow, ada]), mergeStrategy: 'first-success' })
  await begin(store, lead)
  workerOf(store, [lead, slow, ada])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('I am ada.') })
  const [loser] = await childrenOf(store)
  expect(await endOf(store, loser?.log)).toMatchObject({ status: 'aborted' })
})

test('a failed child elsewhere is left out of the merge, and a fan-out in which all fail says why', async () => {
  const store = sharedStore()
  const [ada] = writersOf(store, ['ada'])
  const broken = agentOf('broken', store, [{ error: new Error('The model is down.') }], { leaseMs: 500 })
  if (!ada) throw new Error('no writer')
  const lead = leadOf(store, { children: childrenFor([broken, ada]), mergeStrategy: 'concat' })
  await begin(store, lead)
  const worker = workerOf(store, [lead, ada, broken])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('I am ada.') })
  await worker.close()
  const alone = leadOf(store, { children: childrenFor([broken]), mergeStrategy: 'concat' })
  await begin(store, alone, 'alone')
  workerOf(store, [alone, broken])
  expect(await endOf(store, 'alone')).toMatchObject({ output: expect.stringContaining('None of 1 children completed') })
})

test('siblings elsewhere share what their parent has left', async () => {
  const store = sharedStore()
  const writers = writersOf(store, ['ada', 'bob', 'eve'])
  const inner = leadOf(store, {
    children: childrenFor(writers),
    mergeStrategy: 'concat',
    perBudget: { toolCalls: 4 },
  })
  const chief = agentOf('chief', store, callsOnce('ask_lead', { task: 'Ask.' }), {
    tools: [inner.toTool({ name: 'ask_lead', description: 'Asks.', where: 'any', grant: { toolCalls: 8 } })],
  })
  await begin(store, chief)
  workerOf(store, [chief, inner, ...writers])
  expect(await endOf(store)).toMatchObject({ status: 'completed' })
  const [below] = await childrenOf(store)
  // One of the eight is the call of the fan-out itself.
  expect((await childrenOf(store, below?.log)).map((child) => child.grant)).toEqual([
    { toolCalls: 4 },
    { toolCalls: 3 },
    { toolCalls: 0 },
  ])
})

test('functions, and children without a budget, do not run elsewhere', async () => {
  const store = sharedStore()
  for (const fanOut of [
    { children: [{ agentId: 'f', invoke: async () => 1 }], mergeStrategy: 'concat' },
    { children: childrenFor(writersOf(store, ['ada'])), mergeStrategy: 'concat', perBudget: {} },
  ] satisfies readonly FanOut[]) {
    const lead = leadOf(store, fanOut)
    const { text } = await lead.run('Ask.')
    expect(text).toMatch(/a child that is a function|no perBudget with finite limits/u)
  }
})

test.for(['sqlite', 'postgres'] as const)(
  'the children of several parents run on two workers: %s',
  async (kind, { skip }) => {
    skip(kind === 'postgres' && !full, 'in full runs')
    skip(kind === 'postgres' && !findPostgres(), 'PostgreSQL is not installed')
    const database = kind === 'postgres' ? await startPostgres() : undefined
    const store = database ? postgresStore(database.url, { connections: 4 }) : fileStore()
    const paid: string[] = []
    const pay = tool({
      name: 'pay',
      effect: 'write',
      input: z.object({}),
      execute: (_, { idempotencyKey }) => {
        paid.push(idempotencyKey)
        return 'paid'
      },
    })
    const payers = Array.from({ length: full ? 8 : 3 }, (_, n) =>
      agentOf(`payer-${n}`, store, callsOnce('pay', {}), { tools: [pay] }),
    )
    const lead = leadOf(store, { children: childrenFor(payers), mergeStrategy: 'concat' })
    const ids = full ? ['a', 'b', 'c', 'd'] : ['a', 'b']
    for (const id of ids) await begin(store, lead, id)
    const workers = [1, 2].map(() => workerOf(store, [lead, ...payers], { concurrency: 8 }))
    if (database) {
      onTestFinished(async () => {
        await Promise.all(workers.map((worker) => worker.close({ graceMs: 0 })))
        await store.close()
        await database.stop()
      })
    }
    for (const id of ids) expect(await endOf(store, id)).toMatchObject({ status: 'completed' })
    expect([paid.length, new Set(paid).size]).toEqual([payers.length * ids.length, payers.length * ids.length])
    for (const id of ids) {
      const joined = (await entriesOf(store, id)).filter((entry) => entry.type === 'child' && entry.op === 'joined')
      expect(joined).toHaveLength(payers.length)
    }
  },
)
