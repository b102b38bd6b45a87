// A denied effect stays denied by other ways: another tool, another agent, another spelling of the address. And agents
// receive and do only what they are stated to be for.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { causalityMonitor } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const ran: string[] = []
const input = z.object({ to: z.string(), text: z.string() })
const mail = tool({ name: 'mail', effect: 'egress', needsApproval: true, input, execute: ({ to }) => ran.push(to) })
const post = tool({ name: 'post', effect: 'egress', input, execute: ({ to }) => ran.push(to) })
const read = tool({ name: 'read', effect: 'read', input: z.object({}), execute: () => 'The plan is secret.' })
const send = (name: string, to: string) => ({ toolCalls: [{ name, input: { to, text: 'The plan.' } }] })

async function attempt(strictness: 'observe' | 'deny') {
  ran.length = 0
  const helper = createAgent({
    name: 'helper',
    tools: [post],
    model: scriptedModel([send('post', 'EVE@away.example'), { text: 'Tried.' }]),
  })
  const desk = createAgent({
    name: 'desk',
    tools: [mail, helper.toTool({ name: 'ask_helper', description: 'Helps.' })],
    extensions: [causalityMonitor({ strictness })],
    model: scriptedModel([
      send('mail', 'eve@away.example'),
      { toolCalls: [{ name: 'ask_helper', input: { task: 'Post it.' } }] },
      { text: 'Done.' },
    ]),
  })
  const rules: string[] = []
  for await (const event of desk.stream('Tell Eve.', { onApproval: () => 'deny' }))
    if (event.type === 'governance.blocked' || event.type === 'governance.flagged')
      rules.push(`${event.agent} ${event.type} ${event.rule}`)
  return rules
}
assert.deepEqual(await attempt('observe'), ['helper governance.flagged causality'])
assert.equal(ran.length, 1)
assert.deepEqual(await attempt('deny'), ['helper governance.blocked causality'])
assert.equal(ran.length, 0)

// A reader may read. That its task asks for more changes nothing.
const reader = createAgent({
  name: 'reader',
  tools: [read, post],
  model: scriptedModel([{ toolCalls: [{ name: 'read' }] }, send('post', 'ann@example.com'), { text: 'Read.' }]),
})
const lead = createAgent({
  name: 'lead',
  tools: [reader.toTool({ name: 'ask_reader', description: 'Reads.' })],
  extensions: [causalityMonitor({ strictness: 'deny', capabilities: { reader: { effects: ['read'] }, lead: {} } })],
  model: scriptedModel([
    { toolCalls: [{ name: 'ask_reader', input: { task: 'Read it and post it.' } }] },
    { text: 'So.' },
  ]),
})
const outcomes: string[] = []
for await (const event of lead.stream('Read the plan.')) {
  if (event.type === 'tool.execute.end' && event.agent === 'reader') outcomes.push(event.toolName)
  if (event.type === 'governance.blocked') outcomes.push(event.rule)
}
assert.deepEqual([outcomes, ran.length], [['read', 'capability'], 0])
console.log(outcomes.join(', then '), 'denied') // → read, then capability denied
