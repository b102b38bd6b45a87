import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { createAgent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

setFlagsFromString('--expose-gc')
const collect: (kind?: { readonly type: 'minor' }) => void = runInNewContext('gc')

// A getter in a literal, an object that another stands on, and a closure that is assigned to a field are old from birth:
// what they see is only freed with the whole heap, and each collection before copies it.
test('nothing of a run that is over outlives the collection of what is young', async () => {
  const store = memoryStore()
  const watching = defineExtension({
    name: 'watching',
    hooks: {
      event() {},
      around: (_, next) => next(),
      'tool.result': (result, ctx) => void (ctx.view.tokens && result),
    },
  })
  const agent = createAgent({
    name: 'looker',
    model: scriptedModel(
      [({ messages }) => (messages.length % 2 ? { toolCalls: [{ name: 'look', input: {} }] } : { text: 'Done.' })],
      { after: 'repeat-last' },
    ),
    tools: [tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'seen' })],
    maxSteps: 4,
    extensions: [watching],
    store,
  })
  async function runs(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const { sessionId } = await agent.run('Go.')
      await store.delete(sessionId)
      if (n % 10 === 0) await sleep(0)
      if (n % 25 === 0) collect({ type: 'minor' })
    }
  }
  await runs(50)
  collect()
  const before = process.memoryUsage().heapUsed
  await runs(100)
  for (let n = 0; n < 3; n++) {
    await sleep(1)
    collect({ type: 'minor' })
  }
  const kept = (process.memoryUsage().heapUsed - before) / 100
  collect()
  const needed = Math.max(0, process.memoryUsage().heapUsed - before) / 100
  // One run holds some 50,000 bytes.
  expect(kept - needed).toBeLessThan(15_000)
})
