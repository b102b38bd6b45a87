// A step whose model is at its limit is done again with the next model. Usage belongs to the model that answered.
// Changed: fallback is an extension, so that its order beside others, such as a compaction, can be chosen.
import assert from 'node:assert/strict'

import { createAgent, modelFallback, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const failure = (message: string, status: number) => Object.assign(new Error(message), { status })
const usage = { inputTokens: 100, outputTokens: 10 }
const named = (modelId: string, ...steps: Parameters<typeof scriptedModel>[0]) => scriptedModel(steps, { modelId })

let ran = 0
const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => ++ran })
const large = named(
  'large',
  { toolCalls: [{ name: 'look' }], usage },
  { text: ['Half ', 'an answer'], error: failure('Too many requests', 429), failAfterChunks: 1 },
)
const small = named('small', { error: failure('Overloaded', 529) })
const local = named('local', { text: 'Fog.', usage })
const agent = createAgent({
  name: 'lookout',
  model: large,
  tools: [look],
  extensions: [modelFallback([small, local])],
})

const transitions: string[] = []
const stream = agent.stream('What do you see?')
for await (const event of stream)
  if (event.type === 'model.fallback') transitions.push(`${event.from} → ${event.to}: ${event.class}`)
const { status, text, usage: spent } = await stream.result

assert.deepEqual(transitions, [
  'scripted/large → scripted/small: rate-limit',
  'scripted/small → scripted/local: capacity',
])
assert.deepEqual([status, text, ran], ['completed', 'Fog.', 1])
// What the cut answer cost counts for the model that wrote it.
assert.ok((spent.byModel['scripted/large']?.inputTokens ?? 0) > 100)
assert.equal(spent.byModel['scripted/local']?.inputTokens, 100)

// A failure that another model would share ends the run.
const other = createAgent({
  name: 'other',
  model: named('wrong-key', { error: failure('Wrong key', 401) }),
  extensions: [modelFallback([local])],
})
const failed = await other.run('Hello?')
assert.equal(failed.status === 'failed' && failed.error.code, 'auth')
console.log(transitions.length, 'transitions:', text) // → 2 transitions: Fog.
