// Each part of an answer begins, grows and ends by itself: thinking, text, and the arguments of a call. An event holds what
// is new, never the conversation, and survives JSON.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import type { AgentEvent } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({ at: z.string() }), execute: () => 'blue' })
const model = scriptedModel([
  { reasoning: 'The sky?', text: ['Let me ', 'look.'], toolCalls: [{ name: 'look', input: { at: 'sky' } }] },
  { text: 'Blue.' },
])
const agent = createAgent({ name: 'painter', model, tools: [look] })
const events: AgentEvent[] = []
for await (const event of agent.stream('Which colour?')) events.push(event)

const parts = events.flatMap((event) =>
  /^(text|reasoning|tool\.call|tool\.execute|message)\./.test(event.type) ? [event.type] : [],
)
assert.deepEqual(parts, [
  ...['message.start', 'message.end'], // the user's
  'message.start',
  ...['reasoning.start', 'reasoning.delta', 'reasoning.end'],
  ...['text.start', 'text.delta', 'text.delta', 'text.end'],
  ...['tool.call.start', 'tool.call.delta', 'tool.call.end'],
  'message.end',
  ...['tool.execute.start', 'tool.execute.end'],
  ...['message.start', 'message.end'], // the result
  ...['message.start', 'text.start', 'text.delta', 'text.end', 'message.end'],
])
const args = events.map((event) => (event.type === 'tool.call.delta' ? event.delta : '')).join('')
assert.deepEqual(JSON.parse(args), { at: 'sky' })
assert.equal(events[0]?.type, 'agent.start')
const end = events.at(-1)
assert.deepEqual(end?.type === 'agent.end' && end.messages.length, 4)
assert.deepEqual(JSON.parse(JSON.stringify(events)), events)
console.log(`${parts.length} events of parts`) // → 23 events of parts
