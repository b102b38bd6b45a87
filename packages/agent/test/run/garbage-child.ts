/** Prints how many bytes of each run outlive the collection of what is young, beyond those that are needed. */
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

const { gc } = globalThis
if (!gc) throw new Error('This needs node --expose-gc.')
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
    if (n % 25 === 0) await gc?.({ type: 'minor', execution: 'async' })
  }
}

const counted = process.env['PROVOST_TEST_FULL'] === '1' ? 200 : 100
await runs(counted / 2)
await gc({ type: 'major', execution: 'async' })
const before = process.memoryUsage().heapUsed
await runs(counted)
for (let n = 0; n < 3; n++) await gc({ type: 'minor', execution: 'async' })
const kept = process.memoryUsage().heapUsed
await gc({ type: 'major', execution: 'async' })
const needed = Math.max(before, process.memoryUsage().heapUsed)
process.stdout.write(`${Math.round((kept - needed) / counted)}\n`)
