import { createAgent } from '@provost/agent'
import { createWorker } from '@provost/server'
import { postgresStore } from '@provost/sessions'
import { findPostgres, scriptedModel, startPostgres, startTcpProxy } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { failing } from './postgres-control.ts'
import type { FailingPostgres } from './postgres-control.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
type Way = keyof FailingPostgres['ways']
type Case = readonly [way: Way, ms: number]
const sampled: readonly Case[] = [['refuse', 150]]
/** The second times are longer than the lease. A restart takes the time that it takes. */
const cases: readonly Case[] = full
  ? [
      ['refuse', 300],
      ['refuse', 6_000],
      ['swallow', 4_000],
      ['restart', 0],
      ['freeze', 4_000],
      ['exhaust', 3_000],
      ['read-only', 3_000],
    ]
  : sampled
const agents = full ? 50 : 5
const steps = full ? 10 : 4

describe.skipIf(findPostgres() === undefined)('a database that goes away (needs PostgreSQL)', () => {
  test.for(cases)(
    'under running agents, every run completes and no effect is repeated: %s for %i ms',
    async ([way, ms]) => {
      const server = await startPostgres()
      const database = await failing(server)
      onTestFinished(async () => {
        await database.close()
        await server.stop()
      })
      const effects: string[] = []
      const store = postgresStore(database.url, { queryTimeoutMs: 2_000, pollMs: 200 })
      const write = tool({
        name: 'write',
        effect: 'write',
        input: z.object({}),
        execute: async (_, { idempotencyKey }) => void effects.push(idempotencyKey),
      })
      const model = scriptedModel(
        [
          ({ messages }) =>
            messages.filter(({ role }) => role === 'tool').length < steps
              ? { delayMs: full ? 100 : 20, toolCalls: [{ name: 'write', input: {} }] }
              : { text: 'done' },
        ],
        { after: 'repeat-last' },
      )
      const agent = createAgent({ name: 'desk', model, tools: [write], store, leaseMs: 3_000 })
      const worker = createWorker({ agents: [agent], store, pollMs: 100, onError: () => {} })
      onTestFinished(async () => {
        await worker.close({ graceMs: 0 })
        await store.close()
      })
      const ids = Array.from({ length: agents }, (_, n) => `s${n}`)
      const sessions = await Promise.all(ids.map((id) => agent.createSession({ id })))
      const runs = sessions.map((session) => session.stream('go').result)
      await expect.poll(() => effects.length, { interval: 5 }).toBeGreaterThan(agents)
      await database.ways[way](ms)
      const results = await Promise.all(runs)
      const statuses = Map.groupBy(results, ({ status, error }) => `${status} ${error?.code ?? ''}`)
      expect(Object.fromEntries([...statuses].map(([status, all]) => [status, all.length]))).toEqual({
        'completed ': agents,
      })
      expect([effects.length, new Set(effects).size]).toEqual([agents * steps, agents * steps])
      for await (const { status } of store.list()) expect(status).toBe('idle')
    },
  )

  test('a run whose patience is over stops without an end, and a worker completes it', async () => {
    const server = await startPostgres()
    const database = await startTcpProxy([server.socket])
    onTestFinished(async () => {
      await database.close()
      await server.stop()
    })
    const effects: string[] = []
    const store = postgresStore(server.urlAt(database.port), { patienceMs: 50, pollMs: 100 })
    const write = tool({
      name: 'write',
      effect: 'write',
      idempotent: true,
      input: z.object({}),
      execute(_, { idempotencyKey }) {
        // Until the run has stopped.
        if (effects.push(idempotencyKey) === 1) database.refuse()
      },
    })
    const script = [{ toolCalls: [{ name: 'write', input: {} }] }, { text: 'done' }]
    const agent = createAgent({ name: 'desk', model: scriptedModel(script), tools: [write], store, leaseMs: 500 })
    const session = await agent.createSession({ id: 's' })
    const result = await session.stream('go').result
    expect([result.status, result.error?.code]).toEqual(['failed', 'store-unreachable'])
    database.carry()
    const entries = []
    for await (const entry of store.read('s')) entries.push(entry)
    expect(entries.filter(({ type }) => type === 'run')).toMatchObject([{ op: 'started' }])
    expect(entries.filter((entry) => entry.type === 'call' && entry.op === 'settled')).toEqual([])
    const worker = createWorker({ agents: [agent], store, pollMs: 20, onError: () => {} })
    onTestFinished(async () => {
      await worker.close({ graceMs: 0 })
      await store.close()
    })
    await expect.poll(async () => (await session.advance()).rest).toBe('done')
    expect(session.messages.at(-1)?.content).toMatchObject([{ text: 'done' }])
    expect(new Set(effects).size).toBe(1)
  })
})
