// A tool names the tier of the step that reads its result. The choice of a hook goes before it, the run's and the agent's
// come after it.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const asked: string[] = []
const chart = tool({
  name: 'chart',
  effect: 'none',
  preferredModel: 'smart',
  input: z.object({}),
  execute: () => 'a chart',
})
const list = tool({
  name: 'list',
  effect: 'none',
  preferredModel: 'fast',
  input: z.object({}),
  execute: () => 'a list',
})
let step = 0
const tier = (modelId: string) =>
  scriptedModel(
    [
      () => {
        asked.push(modelId)
        const name = ['chart', 'list', undefined][step++]
        return name === undefined ? { text: 'Done.' } : { toolCalls: [{ name }] }
      },
    ],
    { modelId, after: 'repeat-last' },
  )
const model = { fast: tier('fast'), balanced: tier('balanced'), smart: tier('smart') }
const parts = { name: 'captain', model, tools: [chart, list] }

async function models(agent: ReturnType<typeof createAgent>, own?: Parameters<typeof agent.run>[1]): Promise<string> {
  step = 0
  asked.length = 0
  await agent.run('Sail.', own)
  return asked.join(' ')
}
const agent = createAgent(parts)
assert.equal(await models(agent), 'balanced smart fast')
// The model of a run takes the place of the agent's, behind the tiers of tools.
assert.equal(await models(agent, { model: tier('other') }), 'other smart fast')
// A tier that no model has is an error when the agent is made.
assert.throws(() => createAgent({ ...parts, model: { fast: tier('fast') } }), { code: 'invalid-agent' })
const chooser = defineExtension({
  name: 'chooser',
  hooks: { 'model.request': (_, { run }) => (run.step === 2 ? { model: tier('chosen') } : undefined) },
})
const ladder = await models(createAgent({ ...parts, extensions: [chooser] }))
assert.equal(ladder, 'balanced chosen fast')
console.log(ladder) // → balanced chosen fast
