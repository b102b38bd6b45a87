import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { AgentOptions } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { memoryStore, sqliteStore } from '@provost/sessions'
import { manualClock } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'
import { heard, world } from './session-world.ts'

const day = 86_400_000
const month = 30 * day

/** A tool that a human has to approve within a month. */
const order = tool({
  name: 'order',
  input: z.object({}),
  needsApproval: () => ({ reason: 'money', expiresInMs: month }),
  execute: () => 'ordered',
})

const waits: Omit<Partial<AgentOptions>, 'output'> = { tools: [order] }
const monthly = (months: number) =>
  Array.from({ length: months }, () => [{ toolCalls: [{ name: 'order', input: {} }] }, { text: 'Not ordered.' }]).flat()

describe('a session lives by the clock of its store', () => {
  test('a year of monthly approvals that time out takes as long as its work', async () => {
    const clock = manualClock()
    const begun = clock.now()
    const store = memoryStore({ clock })
    const { agent } = world(monthly(13), { ...waits, store })
    const session = await agent.createSession({ id: 's' })
    const events = heard(session)
    const results = []
    for (let nth = 0; nth < 13; nth++) {
      session.send(`month ${nth}`)
      expect((await session.waitForIdle())?.status).toBe('suspended')
      await clock.advance(month)
      await clock.advance(1)
      results.push((await session.waitForIdle())?.text)
    }
    expect(results).toEqual(Array.from({ length: 13 }, () => 'Not ordered.'))
    const asked = events.filter(({ type }) => type === 'tool.approval.requested').map(({ at }) => at)
    const months = asked.map((at) => Math.floor((at - begun) / month))
    expect(months).toEqual(Array.from({ length: 13 }, (_, nth) => nth))
    const decided = events.flatMap((event) => (event.type === 'tool.approval.resolved' ? [event.decision] : []))
    expect(new Set(decided)).toEqual(new Set(['expired']))
    const times = (await readLog(store, 's')).map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.every((at) => at >= begun && at <= clock.now())).toBe(true)
  })

  test('a process that was down for a year finds the deadline over', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'provost-clock-')), 'store.db')
    const clock = manualClock()
    const first = sqliteStore(path, { clock })
    const before = world(monthly(1), { ...waits, store: first })
    const session = await before.agent.createSession({ id: 's' })
    session.send('order')
    expect((await session.waitForIdle())?.status).toBe('suspended')
    await session.close()
    await first.close()

    const later = manualClock({ at: clock.now() + 365 * day })
    const store = sqliteStore(path, { clock: later })
    const after = world([{ text: 'Too late.' }], { ...waits, store })
    const reopened = await after.agent.resumeSession('s')
    reopened.resume()
    expect((await reopened.waitForIdle())?.text).toBe('Too late.')
    const log = await readLog(store, 's')
    expect((log.at(-1)?.at ?? 0) - (log[0]?.at ?? 0)).toBe(365 * day)
    await reopened.close()
    await store.close()
  })

  test('tools, hooks and messages have its time', async () => {
    const clock = manualClock()
    const seen: number[] = []
    const look = tool({ name: 'look', input: z.object({}), execute: (_, ctx) => seen.push(ctx.now()) })
    const hook = defineExtension({ name: 'hook', hooks: { 'run.start': (ctx) => void seen.push(ctx.now()) } })
    const { agent } = world([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'ok' }], {
      tools: [look],
      extensions: [hook],
      store: memoryStore({ clock }),
    })
    const { messages } = await agent.run('hi')
    expect(new Set([...seen, ...messages.map(({ createdAt }) => createdAt)])).toEqual(new Set([clock.now()]))
  })

  test('a retry of the model waits for it', async () => {
    const clock = manualClock()
    const { agent } = world([{ error: { status: 429, headers: { 'retry-after': '60' } } }, { text: 'ok' }], {
      store: memoryStore({ clock }),
      settings: { maxRetries: 1 },
    })
    const stream = agent.stream('hi')
    const events: string[] = []
    void (async () => {
      for await (const { type } of stream) events.push(type)
    })()
    await expect.poll(() => events).toContain('model.retry')
    await clock.advance(60_000)
    expect((await stream.result).text).toBe('ok')
  })
})
