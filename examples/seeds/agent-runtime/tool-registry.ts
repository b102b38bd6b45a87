// Tools of the agent, of sets and of extensions form one registry, which resolves equal names and can be inspected.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, toolSet, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const search = (answer: string) => tool({ name: 'search', effect: 'read', input: z.object({}), execute: () => answer })
const web = toolSet('web', [search('found on the web')])
const files = defineExtension({ name: 'files', tools: [search('found in a file')] })
const model = scriptedModel([
  ({ tools }) => ({ toolCalls: tools.map(({ name }) => ({ name })) }),
  { text: 'Found three times.' },
])
const parts = { name: 'finder', model, tools: [search('found here'), ...web], extensions: [files] }

const agent = createAgent(parts)
const { registry } = agent
assert.deepEqual(
  registry.tools.map(({ name }) => name),
  ['search', 'web_search', 'files_search'],
)
assert.deepEqual(registry.source('files_search'), { kind: 'extension', name: 'files' })
assert.equal(registry.collisions.length, 2)
assert.ok(Object.isFrozen(registry.tools))

// Nothing has to be dispatched by hand: each call reaches its tool.
const outputs: unknown[] = []
for await (const event of agent.stream('Find it.'))
  if (event.type === 'tool.execute.end') outputs.push('value' in event.output && event.output.value)
assert.deepEqual(outputs, ['found here', 'found on the web', 'found in a file'])

// Other strategies: the first one counts, or equal names are an error.
assert.equal(createAgent({ ...parts, toolCollisions: 'priority' }).registry.tools.length, 1)
assert.throws(() => createAgent({ ...parts, toolCollisions: 'error' }), { code: 'duplicate-tool' })
console.log(registry.tools.map(({ name }) => name).join(', ')) // → search, web_search, files_search
