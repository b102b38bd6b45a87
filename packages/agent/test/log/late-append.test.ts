import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { expect, onTestFinished, test, vi } from 'vitest'

import { readLog } from '../run/run-check.ts'
import { world } from '../session/session-world.ts'

test('an append that answers after the next run has read its entries is applied once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { ephemeral: _, ...store } = memoryStore()
  const stored = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let isHeld = false
  /** Stores the first answer of the model, and returns only when the test allows it. */
  const slow: SessionStore = {
    ...store,
    async append(log, entries, at) {
      const written = await store.append(log, entries, at)
      if (isHeld || !entries.some(({ type }) => type === 'attempt')) return written
      isHeld = true
      stored.resolve()
      await answered.promise
      return written
    },
  }
  const usage = { inputTokens: 20, outputTokens: 10 }
  const { agent } = world(
    [
      { text: 'One.', usage },
      { text: 'Two.', usage },
    ],
    { store: slow },
  )
  const session = await agent.createSession({ id: 's' })
  session.send('Hello.')
  await stored.promise
  void session.abort({ graceMs: 0 })
  // The run stops waiting for the store.
  await vi.advanceTimersByTimeAsync(5000)
  const next = session.resume().result
  await next
  answered.resolve()
  await vi.advanceTimersByTimeAsync(5000)
  await session.waitForIdle()
  const log = await readLog(store, 's')
  const ids = log.flatMap((entry) => (entry.type === 'message' ? [entry.message.id] : []))
  expect(session.messages.map(({ id }) => id)).toEqual(ids)
  expect(session.usage).toMatchObject(usage)
})
