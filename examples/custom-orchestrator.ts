// An orchestrator of your own: a draft with tools, a critic on another model, and the answer. The run stops after the
// critic. When it resumes, the same function is called again and receives recorded results from the log: nothing runs
// twice.
import { agentic, createAgent, defineEvent, isEventOf, memoryStore, RunState, tool, z } from 'provost'
import type { Orchestrator } from 'provost'
import { scriptedModel } from 'provost/testing'

const facts = tool({
  name: 'facts',
  effect: 'read',
  input: z.object({ about: z.string() }),
  execute: ({ about }) => `${about}: founded in 854, without a twin town.`,
})

const critic = scriptedModel([{ text: 'The missing twin town is no news. Cut it.' }], { modelId: 'critic' })

const criticised = defineEvent<{ at: number }>('draft.criticised')

const draftThenCritic: Orchestrator = async (run) => {
  await agentic()(run) // tools and all, until the draft stands
  run.emit('drafted')
  await run.model({ model: critic, tools: [], tail: [{ content: 'Criticise this draft in one sentence.' }] })
  const at = await run.memo('criticised at', () => Date.now()) // the outside comes in through memos, once
  run.emit(criticised, { at })
  await run.say('Write it again with this criticism in mind.')
  await run.model({ tools: [] })
}

const store = memoryStore()
const writer = createAgent({
  name: 'writer',
  model: scriptedModel([
    { toolCalls: [{ name: 'facts', input: { about: 'Ulm' } }] },
    { text: 'Ulm was founded in 854 and is without a twin town.' },
    { text: 'Ulm was founded in 854.' },
  ]),
  tools: [facts],
  store,
  orchestrator: draftThenCritic,
})

// Three steps are not enough: the run stops before the second draft.
const stopped = await writer.run('Write a sentence about Ulm.', { maxSteps: 3 })
console.log(stopped.status, stopped.status === 'failed' && stopped.error.code) // → failed max-steps
const saved = JSON.stringify(stopped.state)

const stream = writer.stream(RunState.fromJSON(saved, writer))
for await (const event of stream) {
  if (event.type === 'step.start') console.log(`step ${event.step}`)
  if (event.type === 'tool.execute.start' || isEventOf(event, criticised)) console.log('not again')
}
// → step 4

const { messages } = await stream.result
for (const { role, content } of messages) {
  for (const part of content) if (part.type === 'text') console.log(`${role}: ${part.text}`)
}
// → user: Write a sentence about Ulm.
// → assistant: Ulm was founded in 854 and is without a twin town.
// → assistant: The missing twin town is no news. Cut it.
// → user: Write it again with this criticism in mind.
// → assistant: Ulm was founded in 854.
