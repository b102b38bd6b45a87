// A request that chooses the model and the temperature of its run.
// Changed: only models that the server offers by name, and values within its bounds; by default a request chooses nothing.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import { createClient, ServerError } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const echo = (modelId: string) =>
  scriptedModel([({ options }) => ({ text: `${modelId} at ${options.temperature ?? 'default'}` })], {
    modelId,
    after: 'repeat-last',
  })
const store = memoryStore()
const agents = [createAgent({ name: 'desk', model: echo('usual'), store })]
const requestOptions = { models: { small: echo('small') }, temperature: { min: 0, max: 1 } }
const listening = await serve(createServer({ agents, store, requestOptions }), { port: 0 })

const session = createClient({ baseUrl: listening.url }).session()
const answers = [
  await session.execute('Hello').result,
  await session.execute('Hello', { model: 'small', temperature: 0.2 }).result,
  await session.execute('Hello').result,
]
assert.deepEqual(
  answers.map(({ text }) => text),
  ['usual at default', 'small at 0.2', 'usual at default'],
)
for (const options of [{ model: 'large' }, { temperature: 1.5 }, { toolChoice: 'required' as const }]) {
  const refused = await session.execute('Hello', options).result.catch((error: unknown) => error)
  assert.ok(refused instanceof ServerError, JSON.stringify(options))
  assert.equal(refused.status, 400)
}
await listening.close()
console.log(answers[1]?.text) // → small at 0.2
