// Calls of a step run together, up to a limit. The order of their events does not depend on which is done first: starts
// are in front, and ends are in the order of the calls.
// Changed: a sequential call starts a group of its own, since what is behind it has not begun while it runs.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

/** Ten calls that take some time each, one of them alone. Returns the order of events, and how many ran at once. */
async function order(ms: (index: number) => number) {
  let running = 0
  let most = 0
  let alone = 0
  const work = (name: string, executionMode: 'parallel' | 'sequential') =>
    tool({
      name,
      effect: 'read',
      executionMode,
      input: z.object({ index: z.number() }),
      async execute({ index }, ctx) {
        most = Math.max(most, ++running)
        ctx.progress({ index })
        await sleep(ms(index))
        if (executionMode === 'sequential') alone = running
        running--
        if (index === 2) throw new Error('broken')
        return index
      },
    })
  const calls = Array.from({ length: 10 }, (_, index) => ({ name: index === 5 ? 'alone' : 'work', input: { index } }))
  const agent = createAgent({
    name: 'crew',
    model: scriptedModel([{ toolCalls: calls }, { text: 'Done.' }]),
    tools: [work('work', 'parallel'), work('alone', 'sequential')],
    maxParallelTools: 3,
  })
  const events: string[] = []
  const places = new Map<string, number>()
  let progress = 0
  for await (const event of agent.stream('All hands.')) {
    if (event.type === 'tool.call.end') places.set(event.callId, places.size)
    if (event.type === 'tool.execute.start') events.push(`start ${places.get(event.callId)}`)
    if (event.type === 'tool.execute.end') events.push(`end ${places.get(event.callId)}`)
    if (event.type === 'tool.execute.error') events.push(`error ${places.get(event.callId)}`)
    if (event.type === 'tool.execute.progress') progress++
  }
  assert.deepEqual([most, alone, progress], [3, 1, 10])
  return events
}
const rising = await order((index) => index)
const falling = await order((index) => 10 - index)

const group = (...calls: number[]) => [
  ...calls.map((at) => `start ${at}`),
  ...calls.map((at) => (at === 2 ? 'error 2' : `end ${at}`)),
]
assert.deepEqual(rising, [...group(0, 1, 2, 3, 4), ...group(5), ...group(6, 7, 8, 9)])
assert.deepEqual(falling, rising)
console.log(`${rising.length} events in the same order, 3 calls at once`) // → 20 events in the same order, 3 calls at once
