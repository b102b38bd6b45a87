import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { manualClock, scriptedModel } from '@provost/testing'
import { expect, onTestFinished, test, vi } from 'vitest'

import { readLog } from '../run/run-check.ts'
import { pay, payTool } from '../session/session-world.ts'

/** An agent above others, the innermost of which asks for an approval. */
function nest(store: SessionStore, depth: number): Agent {
  let agent = createAgent({
    name: 'payer',
    store,
    leaseMs: 60_000,
    model: scriptedModel([{ toolCalls: [pay(5)] }]),
    tools: [payTool().tool],
  })
  for (let level = 0; level < depth; level++) {
    agent = createAgent({
      name: `boss${level}`,
      store,
      leaseMs: 60_000,
      model: scriptedModel([{ toolCalls: [{ name: 'go', input: { task: 'Pay.' } }] }]),
      tools: [agent.toTool({ name: 'go', description: 'Pays.' })],
    })
  }
  return agent
}

test.each([1, 2])(
  'a process that was taken over does not end the log of a suspended child (depth %i)',
  async (depth) => {
    const { ephemeral: _, ...store } = memoryStore()
    const logs: string[] = []
    const first: SessionStore = { ...store, append: (log, ...given) => (logs.push(log), store.append(log, ...given)) }
    const { status, pending } = await nest(first, depth).run('go', { sessionId: 's' })
    expect(status).toBe('suspended')
    const innermost = [...new Set(logs)].at(-1) ?? ''
    const before = await readLog(store, innermost)

    const reached = Promise.withResolvers<void>()
    let fence = 0
    let isHeld = false
    /** The first request for the lease of the innermost log gets no answer. */
    const second: SessionStore = {
      ...store,
      async lease(log, ...terms) {
        if (log === innermost && !isHeld) {
          isHeld = true
          reached.resolve()
          return new Promise(() => {})
        }
        const lease = await store.lease(log, ...terms)
        if (log === 's' && lease !== 'busy') fence = lease.fence
        return lease
      },
    }
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const session = await nest(second, depth).resumeSession('s')
    await session.resolve({ approvals: [{ id: pending.approvals[0]?.id ?? '', decision: 'approve' }] })
    await reached.promise
    // The process stands still for longer than its lease, and another one takes the session over.
    await store.release('s', fence)
    await store.lease('s', 'another process', 2 ** 40)
    const aborted = session.abort({ graceMs: 240_000 })
    await vi.advanceTimersByTimeAsync(3_600_000)
    const ends = await Promise.allSettled([aborted, session.waitForIdle()])
    expect(ends).toContainEqual({ status: 'rejected', reason: expect.objectContaining({ code: 'fenced' }) })
    expect(await readLog(store, innermost)).toEqual(before)
  },
)

test('leaseMs of the agent is the time of every lease of a session, between runs too', async () => {
  const { ephemeral: _, ...inner } = memoryStore()
  const times: [task: string, ms: number][] = []
  let task = 'create'
  const store: SessionStore = {
    ...inner,
    lease: (log, owner, ttlMs, terms) => (times.push([task, ttlMs]), inner.lease(log, owner, ttlMs, terms)),
  }
  const model = scriptedModel([{ text: 'ok' }])
  const extensions = [defineExtension({ name: 'shorten', hooks: { context: () => undefined } })]
  const agent = createAgent({ name: 'a', store, model, leaseMs: 1234, extensions })
  const session = await agent.createSession({ id: 's' })
  task = 'run'
  session.send('go')
  await session.waitForIdle()
  task = 'edit'
  session.messages.append({ content: 'x' })
  await session.waitForIdle()
  task = 'reset'
  await session.reset()
  task = 'compact'
  await session.compact()
  expect(new Set(times.map(([name]) => name))).toEqual(new Set(['create', 'run', 'edit', 'reset', 'compact']))
  expect(new Set(times.map(([, ms]) => ms))).toEqual(new Set([1234]))
})

test('a renewal that is under way when a lease is released does not take it again', async () => {
  const clock = manualClock()
  const { ephemeral: _, ...inner } = memoryStore({ clock })
  const answered = Promise.withResolvers<void>()
  const fences: unknown[] = []
  const store: SessionStore = {
    ...inner,
    async lease(...request) {
      if (fences.length > 0) await answered.promise
      const lease = await inner.lease(...request)
      fences.push(lease === 'busy' ? lease : lease.fence)
      return lease
    },
    async append(...given) {
      await clock.advance(20_000)
      setImmediate(answered.resolve)
      return inner.append(...given)
    },
  }
  const agent = createAgent({ name: 'desk', store, leaseMs: 60_000, model: scriptedModel([]) })
  await agent.createSession({ id: 's' })
  await expect.poll(() => fences).toHaveLength(2)
  expect(fences[1]).toBe(fences[0])
  expect(await inner.leaseState('s')).toMatchObject({ holder: 'none' })
})
