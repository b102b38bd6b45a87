// A planner makes a plan, the agent's model does it step by step. One step finds that the plan does not hold: it is made anew.
import { createAgent, isEventOf, planAndExecute, planEvents, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const stock = tool({
  name: 'stock',
  effect: 'read',
  input: z.object({ item: z.string() }),
  execute: ({ item }) => (item === 'oak table' ? 'none left' : '4 left'),
})
const reserve = tool({
  name: 'reserve',
  input: z.object({ item: z.string() }),
  execute: ({ item }) => `reserved: ${item}`,
})

const planner =
  process.env.PROVOST_MODEL ??
  scriptedModel(
    [
      { text: '{"steps": ["Check the stock of oak tables.", "Reserve an oak table."]}' },
      { text: '{"steps": ["Reserve a beech table."]}' },
    ],
    { modelId: 'planner' },
  )
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'stock', input: { item: 'oak table' } }] },
    { text: 'REPLAN: there are no oak tables. Beech is the next best.' },
    { toolCalls: [{ name: 'reserve', input: { item: 'beech table' } }] },
    { text: 'A beech table is reserved.' },
    { text: 'Oak is sold out, so I reserved a beech table for you.' },
  ])

const clerk = createAgent({
  name: 'clerk',
  model,
  tools: [stock, reserve],
  orchestrator: planAndExecute({ planner, maxReplans: 1 }),
})

const stream = clerk.stream('Reserve a table for me, oak if you have it.')
for await (const event of stream) {
  if (event.type === 'step.start') console.log(`step ${event.step}, ${event.model}`)
  if (isEventOf(event, planEvents.made)) console.log('plan:', event.data.steps.join(' '))
  if (isEventOf(event, planEvents.stepEnd)) console.log(`${event.data.status}: ${event.data.task}`)
}
// → step 1, scripted/planner
// → plan: Check the stock of oak tables. Reserve an oak table.
// → step 2, scripted/scripted-model
// → step 3, scripted/scripted-model
// → failed: Check the stock of oak tables.
// → step 4, scripted/planner
// → plan: Reserve a beech table.
// → step 5, scripted/scripted-model
// → step 6, scripted/scripted-model
// → done: Reserve a beech table.
// → step 7, scripted/scripted-model

console.log((await stream.result).text) // → Oak is sold out, so I reserved a beech table for you.
