// All calls of an answer are judged first, then the allowed ones run side by side, and their results keep the order of the
// calls.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const log: string[] = []
const doors = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
const open = tool({
  name: 'open',
  effect: 'none',
  input: z.object({ door: z.number() }),
  async execute({ door }) {
    log.push(`starts ${door}`)
    doors[door + 1]?.resolve() // the one before waits for the one behind: one after the other would never end
    if (door < 2) await doors[door + 1]?.promise
    log.push(`ends ${door}`)
    return `door ${door}`
  },
})
const model = scriptedModel([
  { toolCalls: [0, 1, 2, 3].map((door) => ({ name: 'open', input: { door } })) },
  { text: 'All open but one.' },
])
const session = await createAgent({ name: 'porter', model, tools: [open] }).createSession()
session.on('tool.call', ({ input }) => {
  log.push('judged')
  return JSON.stringify(input).includes('3') ? { deny: 'That door stays shut.' } : undefined
})
const ends: string[] = []
session.on('tool.execute.end', ({ output }) => output.type === 'text' && ends.push(output.value))
session.send('Open the doors')
await session.waitForIdle()

assert.deepEqual(log.slice(0, 4), ['judged', 'judged', 'judged', 'judged'])
assert.deepEqual(ends, ['door 0', 'door 1', 'door 2'])
const results = session.messages[2]?.content.map((part) => (part.type === 'tool-result' ? part.output.type : part.type))
assert.deepEqual(results?.slice(0, 3), ['text', 'text', 'text'])
assert.equal(results?.length, 4)
console.log(`${log.indexOf('starts 2') < log.indexOf('ends 0') ? 'side by side' : 'in turn'}, in order`) // → side by side, in order
