// An agent as a tool: it gets the task, and what a filter lets across. Its caller reads
// the answer, or what was said on the way, too; thoughts stay with the model that had them.
import assert from 'node:assert/strict'

import type { ToToolOptions } from 'provost'
import { createAgent, filters, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

async function ask(options: Pick<ToToolOptions, 'exposeTurns' | 'inputFilter'>) {
  let given = ''
  let returned = ''
  const depth = tool({ name: 'depth', effect: 'read', input: z.object({}), execute: () => 'nine fathoms' })
  const diver = createAgent({
    name: 'diver',
    instructions: 'You dive.',
    tools: [depth],
    model: scriptedModel([
      ({ messages }) => {
        given = JSON.stringify(messages)
        return { reasoning: 'It is dark.', text: 'Going down.', toolCalls: [{ name: 'depth' }] }
      },
      { text: 'Deep enough.' },
    ]),
  })
  const captain = createAgent({
    name: 'captain',
    instructions: 'Never mention the treasure.',
    tools: [diver.toTool({ name: 'ask_diver', description: 'Asks the diver.', ...options })],
    model: scriptedModel([
      { toolCalls: [{ name: 'ask_diver', input: { task: 'Measure.' } }] },
      ({ messages }) => {
        returned = JSON.stringify(messages.at(-1))
        return { text: 'We anchor.' }
      },
    ]),
  })
  const { text } = await captain.run('Is the bay deep enough?')
  assert.equal(text, 'We anchor.')
  // The system prompt of the caller and the reasoning of the child cross in no case.
  assert.ok(!given.includes('treasure') && !returned.includes('It is dark'))
  return { history: given.includes('Is the bay'), turns: returned.includes('Going down'), given, returned }
}
const plain = await ask({})
assert.deepEqual([plain.history, plain.turns], [false, false])
assert.match(plain.given, /Measure\./)
assert.match(plain.returned, /Deep enough/)

const open = await ask({ inputFilter: filters.lastUser(), exposeTurns: true })
assert.deepEqual([open.history, open.turns], [true, true])
console.log(`history ${plain.history} → ${open.history}, turns ${plain.turns} → ${open.turns}`) // → history false → true, turns false → true
