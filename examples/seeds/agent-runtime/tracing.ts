// Runs, model calls, tools, children and handoffs are spans of one trace, without what was said unless that is asked for.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { collectSpans, telemetry } from 'provost/telemetry'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'thick fog' })
const scout = createAgent({
  name: 'scout',
  tools: [look],
  model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, { text: 'Fog.' }]),
})
const pilot = createAgent({ name: 'pilot', model: scriptedModel([{ text: 'We wait.' }]) })
const { tracer, take } = collectSpans()
const captain = createAgent({
  name: 'captain',
  tools: [scout.toTool({ name: 'ask_scout', description: 'Looks.' })],
  handoffs: [pilot],
  extensions: [telemetry({ tracer })],
  model: scriptedModel([
    { toolCalls: [{ name: 'ask_scout', input: { task: 'Look.' } }], usage: { inputTokens: 120, outputTokens: 15 } },
    { toolCalls: [{ name: 'transfer_to_pilot', input: {} }] },
  ]),
})
await captain.run('Can we sail at dawn?')

const spans = take()
const names = spans.map(({ name }) => name)
for (const name of ['invoke_agent captain', 'invoke_agent scout', 'execute_tool ask_scout', 'execute_tool look'])
  assert.ok(names.includes(name), `${name} in ${names.join(', ')}`)
assert.equal(names.filter((name) => name.startsWith('chat ')).length, 5)
assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1)
assert.match(JSON.stringify(spans), /120/)
assert.match(JSON.stringify(spans), /pilot/)
assert.doesNotMatch(JSON.stringify(spans), /sail at dawn|thick fog|We wait/)
console.log(`${spans.length} spans of one trace`) // → 11 spans of one trace
