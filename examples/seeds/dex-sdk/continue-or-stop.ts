// A run continues while the model calls tools, and stops at its answer or at the limit of steps.
// Changed: a run that reaches the limit has failed, since it has no answer; more steps resume it where it stopped.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const depths: number[] = []
const dig = tool({ name: 'dig', effect: 'write', input: z.object({}), execute: () => depths.push(9) })
const digs = { toolCalls: [{ name: 'dig' }] }
const model = scriptedModel([digs, digs, digs, { text: 'Water!' }])
const agent = createAgent({ name: 'digger', model, tools: [dig] })

const reasons: string[] = []
const stream = agent.stream('Dig until there is water.', { maxSteps: 2 })
for await (const event of stream) if (event.type === 'step.end') reasons.push(event.finishReason)
const stopped = await stream.result
assert.deepEqual(reasons, ['tool-calls', 'tool-calls'])
assert.equal(stopped.status === 'failed' && stopped.error.code, 'max-steps')
assert.deepEqual(depths, [9, 9])

const result = await agent.run(stopped.state, { maxSteps: 10 })
assert.equal(result.status, 'completed')
assert.deepEqual(depths, [9, 9, 9])
console.log(`${depths.length} times: ${result.text}`) // → 3 times: Water!
