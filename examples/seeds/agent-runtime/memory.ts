// A memory brings tools to keep and find things, and reminds the model in later sessions of the same person.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { createMemory } from 'provost/memory'
import { sqliteMemory } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const memory = createMemory({ store: sqliteMemory(':memory:') })
const recipe = tool({
  name: 'recipe',
  effect: 'read',
  input: z.object({}),
  execute: () => 'Walnuts are good for Ann.',
})
const requests: string[] = []
const steps = [
  { toolCalls: [{ name: 'recipe' }] },
  { toolCalls: [{ name: 'memory_remember', input: { text: 'Ann is allergic to walnuts.' } }] },
  { text: 'Noted.' },
  { text: 'No walnuts, then.' },
  { text: 'I know of nothing.' },
]
const offered: string[] = []
const model = scriptedModel(
  steps.map((step) => ({ messages, tools }) => {
    requests.push(JSON.stringify(messages))
    offered.push(...tools.map(({ name }) => name))
    return step
  }),
)
const cook = createAgent({ name: 'cook', model, tools: [recipe], extensions: [memory] })
const ann = { id: 'ann' }
await cook.run('I am allergic to walnuts.', { principal: ann })
const cake = await cook.run('Can you bake me a walnut cake?', { principal: ann })
await cook.run('Can I have a walnut cake?', { principal: { id: 'bob' } })

assert.ok(offered.includes('memory_recall') && offered.includes('memory_forget'))
// The reminder is in the request of the second session, and in no history. Another person's session has none.
assert.match(requests[3] ?? '', /allergic to walnuts/)
assert.doesNotMatch(requests[4] ?? '', /allergic/)
assert.doesNotMatch(JSON.stringify(cake.messages), /allergic/)

// The note counts although a stranger's text was read before it: it is what the user said.
const [fact] = await memory.recall('walnuts', { principal: ann, kinds: ['fact'] })
assert.match(fact?.text ?? '', /allergic to walnuts/)
assert.equal(fact?.label.integrity, 'trusted')
await memory.forget({ principal: ann })
assert.deepEqual(await memory.recall('walnuts', { principal: ann }), [])
await memory.close()
console.log(fact.text) // → I am allergic to walnuts.
