// The calls of an answer run one after the other. After each of them the run asks the application for new input.
// Changed: calls run side by side by default. `maxParallelTools: 1` puts all in turn, `executionMode` one tool.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const log: string[] = []
const pack = tool({
  name: 'pack',
  input: z.object({ thing: z.string() }),
  async execute({ thing }) {
    log.push(`+${thing}`)
    await Promise.resolve()
    log.push(`-${thing}`)
    return `packed the ${thing}`
  },
})
const things = ['tent', 'stove', 'rope', 'map']
const answer = { toolCalls: things.map((thing) => ({ name: 'pack', input: { thing } })) }

const model = scriptedModel([answer, { text: 'Packed.' }, answer, { text: 'Then only half.' }])
const agent = createAgent({ name: 'guide', model, tools: [pack], maxParallelTools: 1 })
await agent.run('Pack')
assert.deepEqual(log, ['+tent', '-tent', '+stove', '-stove', '+rope', '-rope', '+map', '-map'])

// After two things it rains.
log.length = 0
const getSteering = () => (log.length === 4 && !log.includes('rain') ? (log.push('rain'), ['It rains: stop.']) : [])
const { messages } = await agent.run('Pack', { getSteering })
assert.deepEqual(log, ['+tent', '-tent', '+stove', '-stove', 'rain'])
assert.deepEqual(
  messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'user', 'assistant'],
)
const results = messages[2]?.content.map((part) => part.type === 'tool-result' && part.output.type)
assert.equal(results?.length, 4)
assert.deepEqual(results.slice(0, 2), ['text', 'text'])
console.log(`2 packed, ${results.length - 2} skipped`) // → 2 packed, 2 skipped
