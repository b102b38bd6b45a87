import type { SessionStore } from '@provost/core'
import { postgresStore } from '@provost/sessions'
import { findPostgres, startPostgres } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { echo, say } from '../hooks/hook-scenario.ts'
import { bearsTheWorst } from './session-hostile.ts'
import { gate, pay, payTool, world } from './session-world.ts'

describe.skipIf(findPostgres() === undefined)('a session in PostgreSQL (needs the server)', () => {
  let server: PostgresServer
  const open = (schema: string): SessionStore => postgresStore(server.url, { schema, connections: 2, pollMs: 20 })

  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.stop())

  describe('bears', () => {
    bearsTheWorst(() => open('bears'))
  })

  test('that runs in one process receives what another sends, decides and delivers; others get nothing of it', async () => {
    const [near, far] = [open('two'), open('two')]
    const work = gate()
    const { tool: payment, done } = payTool()
    const courier = tool({ name: 'courier', input: z.object({}) })
    const tools = [work.tool, echo, payment, courier]
    const script = [
      { toolCalls: [{ name: 'work' }, say('never')] },
      { toolCalls: [pay(5), { name: 'courier' }] },
      { text: 'Done.' },
    ]
    const here = world(script, { tools, maxParallelTools: 1, store: near })
    const session = await here.agent.createSession({ id: 's' })
    const steered = Promise.withResolvers<void>()
    session.send('go')
    await work.entered
    const there = await world(script.slice(2), { tools, store: far }).agent.resumeSession('s')
    const stop = new AbortController()
    const news = near.watch('s', stop.signal)[Symbol.asyncIterator]().next()
    there.send('No, pay.', { mode: 'steer' })
    await there.waitForIdle()
    await news
    stop.abort()
    session.on('agent.steered', () => steered.resolve())
    work.open()
    await steered.promise
    expect((await session.waitForIdle())?.status).toBe('suspended')

    const again = await world(script.slice(2), { tools, store: far }).agent.resumeSession('s')
    const { approvals, remoteCalls } = again.pending
    await again.resolve({
      approvals: approvals.map(({ id }) => ({ id, decision: 'approve', by: 'bob' })),
      toolResults: remoteCalls.map(({ callId }) => ({ callId, output: 'from far' })),
    })
    expect((await again.waitForIdle())?.text).toBe('Done.')
    expect(done).toEqual([5])
    await Promise.all([session.close(), there.close(), again.close()])
    await Promise.all([near.close(), far.close()])
  })
})
