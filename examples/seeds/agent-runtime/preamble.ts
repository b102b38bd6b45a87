// Once a request has anything untrusted, it ends with a short preamble, behind all that the provider caches.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { sanitizeInbound } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const clock = tool({
  name: 'clock',
  effect: 'read',
  input: z.object({}),
  returns: { integrity: 'trusted' },
  execute: () => 'noon',
})
const page = tool({ name: 'page', effect: 'read', input: z.object({}), execute: () => 'Closed on Sundays.' })

const requests: { last: string; cached: number; length: number; system: string }[] = []
const steps = [{ toolCalls: [{ name: 'clock' }] }, { toolCalls: [{ name: 'page' }] }, { text: 'Closed.' }]
const model = scriptedModel(
  steps.map((step) => ({ messages }) => {
    const cached = messages.findLastIndex(({ providerOptions }) => providerOptions?.['anthropic'] !== undefined)
    const [first] = messages
    requests.push({
      last: JSON.stringify(messages.at(-1)),
      cached,
      length: messages.length,
      system: first?.role === 'system' ? first.content : '',
    })
    return step
  }),
  { provider: 'anthropic.messages' },
)
const agent = createAgent({
  name: 'clerk',
  instructions: 'You know the hours.',
  model,
  tools: [clock, page],
  extensions: [sanitizeInbound({ policy: 'flag', locale: 'de' })],
})
await agent.run('Are they open?')

const told = requests.map(({ last }) => last.includes('stammt von außen'))
assert.deepEqual(told, [false, false, true])
const [, , third] = requests
// The breakpoint is in front of the preamble, and the system prompt stays as it was.
assert.equal(third?.cached, (third?.length ?? 0) - 2)
assert.equal(new Set(requests.map(({ system }) => system)).size, 1)
console.log(told.join(', ')) // → false, false, true
