// An open question of the design: can a tool call a model with remote tools of its own? An agent can be a tool, and the
// waits of its tools are pending in the session of the calling agent.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const camera = tool({ name: 'camera', input: z.object({ angle: z.number() }) })
const scout = createAgent({
  name: 'scout',
  model: scriptedModel([
    { toolCalls: [{ name: 'camera', input: { angle: 0 } }] },
    { toolCalls: [{ name: 'camera', input: { angle: 90 } }] },
    { text: 'A cat on the left.' },
  ]),
  tools: [camera],
})
const model = scriptedModel([{ toolCalls: [{ name: 'scout', input: { task: 'Look around' } }] }, { text: 'A cat.' }])
const chief = createAgent({
  name: 'chief',
  model,
  tools: [scout.toTool({ name: 'scout', description: 'Looks around.' })],
})
const session = await chief.createSession()
session.send('What is out there?')
const angles: unknown[] = []
for (let result = await session.waitForIdle(); result?.status === 'suspended'; result = await session.waitForIdle()) {
  const toolResults = result.pending.remoteCalls.map(({ callId, input }) => {
    angles.push(Object(input).angle)
    return { callId, output: angles.length === 1 ? 'nothing' : 'a cat' }
  })
  await session.resolve({ toolResults })
}
assert.deepEqual(angles, [0, 90])
assert.equal((await session.waitForIdle())?.text, 'A cat.')
console.log(`2 results for a child: ${(await session.waitForIdle())?.text}`) // → 2 results for a child: A cat.
