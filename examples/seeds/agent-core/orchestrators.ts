// An orchestrator leads a turn: the default, another one of Provost, or a function of your own.
// Changed: it is a function of one argument. It cannot forget to end the stream, and it resumes after a crash.
import assert from 'node:assert/strict'

import { agentic, createAgent, defineEvent, isEventOf, planAndExecute, react, tool, z } from 'provost'
import type { Orchestrator } from 'provost'
import { scriptedModel } from 'provost/testing'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'It is dark.' })
const call = { name: 'look' }
const wanted = defineEvent<{ calls: number }>('looks.wanted')

// A function reads the state, asks the model, decides, runs the calls it wants, and emits events of its own.
const cautious: Orchestrator = async (run) => {
  await run.model()
  run.emit(wanted, { calls: run.calls.length })
  await run.execute({ only: run.calls.slice(0, 1).map(({ callId }) => callId), reason: 'One look is enough.' })
  assert.equal(run.view.messages.at(-1)?.role, 'tool')
  await run.model({ tools: [] })
}

async function answer(orchestrator: Orchestrator | undefined, script: Parameters<typeof scriptedModel>[0]) {
  const agent = createAgent({
    name: 'scout',
    model: scriptedModel(script),
    tools: [look],
    ...(orchestrator && { orchestrator }),
  })
  const stream = agent.stream('Is it dark?')
  let ran = 0
  let looks: number | undefined
  for await (const event of stream) {
    if (event.type === 'tool.execute.end') ran++
    if (isEventOf(event, wanted)) looks = event.data.calls
  }
  const result = await stream.result
  assert.equal(result.status, 'completed', result.error?.message)
  return { text: result.text, ran, looks }
}
const twice = [{ text: 'Let me look.', toolCalls: [call, call] }, { text: 'Yes.' }]
assert.deepEqual(await answer(undefined, twice), { text: 'Yes.', ran: 2, looks: undefined })
assert.deepEqual(await answer(agentic(), twice), { text: 'Yes.', ran: 2, looks: undefined })
assert.deepEqual(await answer(react(), twice), { text: 'Yes.', ran: 1, looks: undefined })
assert.deepEqual(await answer(cautious, twice), { text: 'Yes.', ran: 1, looks: 2 })
const planned = [{ text: '{"steps":["Look"]}' }, { toolCalls: [call] }, { text: 'Dark.' }, { text: 'Yes.' }]
assert.equal((await answer(planAndExecute(), planned)).text, 'Yes.')

// What returns too early fails, with a reason.
const lazy = createAgent({
  name: 'scout',
  model: scriptedModel([]),
  tools: [look],
  orchestrator: () => Promise.resolve(),
})
assert.equal((await lazy.run('Is it dark?')).status, 'failed')
console.log('5 orchestrators, 1 too lazy') // → 5 orchestrators, 1 too lazy
