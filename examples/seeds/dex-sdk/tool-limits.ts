// A call is held to its schema, its time and the signal of its run. A result can be reused for the same input.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const deaf = tool({
  name: 'deaf', // ignores its signal
  effect: 'read',
  input: z.object({}),
  timeoutMs: 20,
  execute: () => sleep(2000, 'too late', { ref: false }),
})
let looked = 0
const look = tool({
  name: 'look',
  effect: 'read',
  input: z.object({ at: z.enum(['sea', 'sky']) }),
  cache: { ttlMs: 60_000 },
  execute: ({ at }) => `${at} ${++looked}`,
})
const at = (where: string) => ({ toolCalls: [{ name: 'look', input: { at: where } }] })
const model = scriptedModel([
  { toolCalls: [{ name: 'deaf' }] },
  at('floor'),
  at('sea'),
  at('sea'),
  { toolCalls: [{ name: 'deaf' }] },
])
const stream = createAgent({ name: 'sailor', model, tools: [deaf, look] }).stream('Look around.')

const outcomes: string[] = []
for await (const event of stream) {
  if (event.type === 'tool.execute.error') outcomes.push(event.error.code)
  if (event.type === 'tool.execute.end') outcomes.push(event.via)
  // The last call is cut by an abort before its time is over.
  if (event.type === 'tool.execute.start' && outcomes.length === 4) void stream.abort()
}
const { status } = await stream.result

assert.deepEqual(outcomes.slice(0, 4), ['tool-timeout', 'invalid-tool-input', 'executed', 'cache'])
assert.equal(looked, 1)
assert.equal(status, 'aborted')
console.log(outcomes.slice(0, 4).join(', '), status) // → tool-timeout, invalid-tool-input, executed, cache aborted
