// Reasoning goes back to the model that wrote it, with its signature, in the next call. It never crosses a handoff.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'fog' })
const reasoning = { text: 'Look first.', providerMetadata: { scripted: { signature: 'sig-1' } } }

async function promptsWith(reasoningRetention: 'keep' | 'strip') {
  let second = ''
  let across = ''
  const pilot = createAgent({
    name: 'pilot',
    model: scriptedModel([
      ({ messages }) => {
        across = JSON.stringify(messages)
        return { text: 'Aye.' }
      },
    ]),
  })
  const lookout = createAgent({
    name: 'lookout',
    reasoningRetention,
    tools: [look],
    handoffs: [pilot],
    model: scriptedModel([
      { reasoning, toolCalls: [{ name: 'look' }] },
      ({ messages }) => {
        second = JSON.stringify(messages)
        return { toolCalls: [{ name: 'transfer_to_pilot', input: {} }] }
      },
    ]),
  })
  const { messages } = await lookout.run('What do you see?')
  assert.match(JSON.stringify(messages), /Look first/) // in the history in any case
  return { second, across }
}
const kept = await promptsWith('keep')
assert.match(kept.second, /Look first.*sig-1/)
assert.doesNotMatch(kept.across, /Look first|sig-1/)
assert.match(kept.across, /fog/)

const stripped = await promptsWith('strip')
assert.doesNotMatch(stripped.second, /Look first|sig-1/)
console.log('kept for its model, not for another agent') // → kept for its model, not for another agent
