// A session lasts and owns the messages; a run lasts for one input and owns the answer in the making.
// Changed: the lasting part is a session in a store, apart from the agent, so that one agent serves many conversations.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, memoryStore } from 'provost'
import { scriptedModel } from 'provost/testing'

const runs = new Set<string>()
const steps: number[] = []
const watch = defineExtension({
  name: 'watch',
  hooks: {
    'model.request'(request, ctx) {
      runs.add(ctx.run.id)
      steps.push(ctx.run.step)
    },
  },
})
const model = scriptedModel([({ messages }) => ({ text: `${messages.length} so far.` })], { after: 'repeat-last' })
const store = memoryStore()
const agent = createAgent({ name: 'counter', model, store, extensions: [watch] })

const session = await agent.createSession({ id: 'long' })
await session.stream('One.').result
const second = await session.stream('Two.').result

// The session has the messages of both runs. The second run has its own, and its steps count from 1 again.
assert.equal(session.messages.length, 4)
assert.equal(second.messages.length, 2)
assert.equal(second.text, '3 so far.')
assert.equal(runs.size, 2)
assert.deepEqual(steps, [1, 1])

// A closed session is over for this object. The conversation is still in the store.
await session.close()
assert.throws(() => session.send('Three.'), { code: 'session-closed' })
assert.equal((await agent.resumeSession('long')).messages.length, 4)
console.log(`${runs.size} runs, ${session.messages.length} messages, ${session.status}`) // → 2 runs, 4 messages, closed
