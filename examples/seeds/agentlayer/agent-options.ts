// The options of an agent, and their defaults.
// Changed: an agent has a name, since logs, events and other agents speak of it; the prompt is called `instructions`.
import assert from 'node:assert/strict'

import { createAgent, memoryStore, tool, z } from 'provost'
import { nodeRuntime } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const again = { toolCalls: [{ name: 'tick' }] }
const endless = () => scriptedModel([again], { after: 'repeat-last' })
const tick = tool({ name: 'tick', effect: 'none', input: z.object({}), execute: () => 'tock' })

const full = createAgent({
  name: 'clock',
  model: endless(),
  instructions: 'Watch the time.',
  tools: [tick],
  runtime: nodeRuntime(),
  store: memoryStore(),
  maxSteps: 2,
  sendMode: 'queue',
})
const stopped = await full.run('Go')
assert.equal(stopped.status, 'failed')
assert.equal(stopped.error.code, 'max-steps')
assert.match(stopped.error.hint, /maxSteps/)

// Only name and model are required. Without a limit, the hundredth call of the model is the last one.
let steps = 0
const stream = createAgent({ name: 'plain', model: endless(), tools: [tick] }).stream('Go')
for await (const event of stream) if (event.type === 'step.start') steps++
assert.equal(steps, 100)
assert.equal((await stream.result).status, 'failed')

// An option that does not exist is an error, in plain JavaScript too.
assert.throws(
  // @ts-expect-error -- its name elsewhere
  () => createAgent({ name: 'plain', model: endless(), systemPrompt: 'Watch the time.' }),
  { code: 'unknown-option', hint: /instructions/ },
)
console.log(`stopped after ${steps} steps`) // → stopped after 100 steps
