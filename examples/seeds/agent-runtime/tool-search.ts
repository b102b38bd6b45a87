// A deferred tool is not offered until the model finds it; from the next step on it is.
// Changed: a tool that was found has its worked examples, since the model is about to call it.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const clock = tool({ name: 'clock', effect: 'read', input: z.object({}), execute: () => 'noon' })
const moon = tool({
  name: 'moon_phase',
  description: 'The phase of the moon.',
  effect: 'read',
  input: z.object({ day: z.string() }),
  deferLoading: true,
  examples: [{ input: { day: '2026-05-01' }, output: 'full' }],
  execute: () => 'waxing',
})
const tide = tool({
  name: 'tide_table',
  description: 'When high water is.',
  effect: 'read',
  input: z.object({}),
  deferLoading: true,
  execute: () => 'at six',
})
const offered: string[][] = []
const told: string[] = []
const steps = [
  { toolCalls: [{ name: 'moon_phase', input: { day: 'today' } }] }, // before it is found
  { toolCalls: [{ name: 'tool_search', input: { query: 'phase of the moon', limit: 1 } }] },
  { toolCalls: [{ name: 'moon_phase', input: { day: 'today' } }] },
  { text: 'Waxing.' },
]
const model = scriptedModel(
  steps.map((step) => ({ tools }) => {
    told.push(JSON.stringify(tools))
    offered.push(tools.map(({ name }) => name).toSorted())
    return step
  }),
)
const agent = createAgent({ name: 'sailor', model, tools: [clock, moon, tide] })
assert.deepEqual(
  agent.registry
    .listEager()
    .map(({ name }) => name)
    .toSorted(),
  ['clock', 'tool_search'],
)
const outcomes: string[] = []
for await (const event of agent.stream('What does the moon look like?')) {
  if (event.type === 'tool.execute.error') outcomes.push(`${event.toolName} refused`)
  if (event.type === 'tool.execute.end') outcomes.push(event.toolName)
}
assert.deepEqual(
  told.map((text) => text.includes('2026-05-01')),
  [false, false, true, true],
)
assert.deepEqual(outcomes, ['moon_phase refused', 'tool_search', 'moon_phase'])
assert.deepEqual(offered[0], ['clock', 'tool_search'])
assert.deepEqual(offered[1], ['clock', 'tool_search'])
assert.deepEqual(offered[2], ['clock', 'moon_phase', 'tool_search'])

// A set without deferred tools has no search.
assert.equal(createAgent({ name: 'clerk', model, tools: [clock] }).registry.tools.length, 1)
console.log(outcomes.join(', ')) // → moon_phase refused, tool_search, moon_phase
