// A message that arrives while calls are judged: none of them has started, so none of them runs. A message that arrives during
// the last answer starts a turn of its own.
// Changed: calls that were judged already do not run either.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const ran: number[] = []
const step = tool({
  name: 'step',
  effect: 'write',
  input: z.object({ n: z.number() }),
  execute: ({ n }) => `step ${ran.push(n)}`,
})
const model = scriptedModel([
  { toolCalls: [1, 2, 3].map((n) => ({ name: 'step', input: { n } })) },
  { text: ['I ', 'stopped.'] },
  { text: 'Good night.' },
])
const session = await createAgent({ name: 'walker', model, tools: [step] }).createSession()
const events: string[] = []
session
  .on('tool.call', ({ input }) => (Object(input).n === 2 ? session.send('Stop here') : undefined))
  .on('text.delta', ({ delta }) => delta === 'stopped.' && session.send('Sleep well'))
  .on('*', ({ type }) => /^(tool.skipped|agent.steered|turn.start|text.end)$/.test(type) && events.push(type))
session.send('Walk')
const result = await session.waitForIdle()

assert.deepEqual(ran, [])
assert.deepEqual(events, [
  'turn.start',
  ...['tool.skipped', 'tool.skipped', 'tool.skipped'],
  ...['agent.steered', 'turn.start', 'text.end'],
  ...['agent.steered', 'turn.start', 'text.end'],
])
assert.equal(result?.text, 'Good night.')
console.log(`no step, then: ${result.text}`) // → no step, then: Good night.
