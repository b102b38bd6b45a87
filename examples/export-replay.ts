// Export and replay: a signed session as JSON lines; imported into another store; replayed; and a redacted export for
// outsiders.
import { text } from 'node:stream/consumers'

import { createAgent, memoryStore, tool, z } from 'provost'
import { replaySession } from 'provost/replay'
import { attributionOf, exportSession, importSession } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ order: z.string(), euros: z.number() }),
  execute: ({ order, euros }) => `refunded ${euros} on ${order}`,
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    {
      reasoning: 'Is it ours?',
      text: 'One moment.',
      toolCalls: [{ name: 'refund', input: { order: '17', euros: 80 } }],
    },
    { text: '<think>They never check.</think>Order 17 is refunded.' },
  ])
const store = memoryStore()
const desk = createAgent({ name: 'desk', instructions: 'Help with orders.', model, tools: [refund], store })
await desk.run('Refund order 17.', { sessionId: 'ann-17' })

// A file in the end: await pipeline(exportSession(store, 'ann-17', { key }), createWriteStream('ann-17.jsonl'))
const key = process.env.EXPORT_KEY ?? 'only an example of a key'
const lines = await text(exportSession(store, 'ann-17', { key }))
const other = memoryStore()
console.log((await importSession(other, lines, { key })).trusted) // → true
console.log((await text(exportSession(other, 'ann-17', { key }))) === lines) // → true

// Without a signature, the import is a record of what was sent, all of it untrusted.
const unsigned = await importSession(other, lines, { id: 'a copy' })
console.log(unsigned.trusted) // → false

for await (const { role, agent, via } of attributionOf(other.read('ann-17'))) console.log(role, agent, via)
// → user desk input
// → assistant desk model
// → tool desk tool
// → assistant desk model

console.log(await replaySession(desk, other.read('ann-17'))) // → undefined
const remote = createAgent({ name: 'desk', model, tools: [tool({ name: 'refund', input: z.object({}) })] })
const difference = await replaySession(remote, other.read('ann-17'))
console.log(difference?.offset, typeof difference?.got === 'object' && difference.got.type) // → 6 wait

const outside = await text(exportSession(store, 'ann-17', { for: 'outside' }))
console.log(outside.includes('never check'), outside.includes('Is it ours'), outside.includes('is refunded')) // → false false true
