// What a model says to itself does not leave with a session: thoughts, tags and system prompts stay inside.
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'

import { createAgent, memoryStore } from 'provost'
import { exportSession, sanitizeAnnotations } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([
  { reasoning: 'They never check.', text: '<think>They owe us.</think>Order 17 is on its way.' },
])
const store = memoryStore()
const desk = createAgent({ name: 'desk', instructions: 'Never mention the strike.', model, store })
await desk.run('Where is order 17?', { sessionId: 'ann' })

const inside = await text(exportSession(store, 'ann'))
const outside = await text(exportSession(store, 'ann', { for: 'outside' }))
for (const line of ['They never check', 'They owe us']) {
  assert.ok(inside.includes(line))
  assert.ok(!outside.includes(line))
}
assert.ok(!outside.includes('the strike'))
assert.ok(outside.includes('Order 17 is on its way.'))
const shown = sanitizeAnnotations('<think>They owe us.</think>Order 17 is on its way.')
assert.equal(shown, 'Order 17 is on its way.')
console.log(shown) // → Order 17 is on its way.
