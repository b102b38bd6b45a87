import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { extension } from '../hooks/hook-scenario.ts'
import { pay, payTool } from '../session/session-world.ts'

test('a decision that arrives during a read of the inbox counts before the run suspends', async () => {
  const { ephemeral: _, ...store } = memoryStore()
  const began = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  /** The read that finds the unrelated item returns what the inbox held when it began, and ends when the test allows it. */
  const slow: SessionStore = {
    ...store,
    async *inbox(sessionId, after) {
      let isHeld = false
      for await (const item of store.inbox(sessionId, after)) {
        isHeld ||= item.token === 'unrelated'
        yield item
      }
      if (!isHeld) return
      began.resolve()
      await opened.promise
    },
  }
  const { tool: payment, done } = payTool()
  const agent = createAgent({
    name: 'payer',
    store: slow,
    model: scriptedModel([{ toolCalls: [pay(5)] }, { text: 'Paid.' }]),
    tools: [payment],
    extensions: [
      extension('deliver', {
        'tool.call': async () => {
          await store.deliver('s', 'unrelated', {}, 'ann')
          await began.promise
          return undefined
        },
      }),
    ],
  })
  const stream = agent.stream('pay', { sessionId: 's' })
  for await (const event of stream) {
    if (event.type !== 'tool.approval.requested') continue
    await store.deliver('s', event.id, { decision: 'approve' }, 'ann')
    opened.resolve()
  }
  expect((await stream.result).status).toBe('completed')
  expect(done).toEqual([5])
})
