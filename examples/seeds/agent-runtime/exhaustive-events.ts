// The events are one union, so a switch over them can be exhaustive: a new type is a compile error here, until it has a
// case. `run` collects what `stream` yields.
import assert from 'node:assert/strict'

import type { AgentEvent } from 'provost'
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

type Family = 'text' | 'tool' | 'other'

function familyOf(event: Extract<AgentEvent, { type: `t${string}` }>): Family {
  switch (event.type) {
    case 'text.start':
    case 'text.delta':
    case 'text.end':
      return 'text'
    case 'tool.call.start':
    case 'tool.call.delta':
    case 'tool.call.end':
    case 'tool.approval.requested':
    case 'tool.approval.resolved':
    case 'tool.batch.settled':
    case 'tool.execute.start':
    case 'tool.execute.progress':
    case 'tool.execute.partial':
    case 'tool.execute.end':
    case 'tool.execute.error':
    case 'tool.skipped':
    case 'tool.remote.requested':
    case 'tool.remote.resolved':
    case 'tool.uncertain':
      return 'tool'
    case 'turn.start':
    case 'turn.mode':
    case 'turn.end':
      return 'other'
    default:
      return unhandled(event)
  }
}
function unhandled(event: never): never {
  throw new Error(`unhandled: ${JSON.stringify(event)}`)
}
const isShown = (event: AgentEvent): event is Parameters<typeof familyOf>[0] => event.type.startsWith('t')

const flip = tool({ name: 'flip', effect: 'none', input: z.object({}), execute: () => 'heads' })
const steps = [{ toolCalls: [{ name: 'flip' }] }, { text: ['It is ', 'heads.'] }]
const agent = createAgent({ name: 'croupier', model: scriptedModel([...steps, ...steps]), tools: [flip] })

const counts: Record<Family, number> = { text: 0, tool: 0, other: 0 }
let seq = 0
const stream = agent.stream('Flip a coin.')
for await (const event of stream) {
  assert.equal(event.seq, ++seq)
  assert.ok(Object.isFrozen(event))
  if (isShown(event)) counts[familyOf(event)]++
}
const [streamed, run] = [await stream.result, await agent.run('Flip a coin.')]
assert.deepEqual(
  [run.status, run.text, run.messages.length],
  [streamed.status, streamed.text, streamed.messages.length],
)
assert.deepEqual(counts, { text: 4, tool: 5, other: 4 })
console.log(JSON.stringify(counts)) // → {"text":4,"tool":5,"other":4}
