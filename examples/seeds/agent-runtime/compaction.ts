// Before a model call that would fill the window, older turns become a summary. The system prompt stays as it is, byte for
// byte; recent turns stay word for word, and summaries are summarised instead of piling up.
// Changed: compaction is an extension and needs no memory.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { compaction } from 'provost/memory'
import { scriptedModel } from 'provost/testing'

const systems = new Set<string>()
const model = scriptedModel(
  [
    ({ messages: [first] }) => {
      const system = first?.role === 'system' ? first.content : ''
      const summary = system.startsWith('You sum up')
      if (!summary) systems.add(system)
      return { text: summary ? 'The user tells a story.' : 'Go on.' }
    },
  ],
  { after: 'repeat-last' },
)
const parts = { name: 'listener', instructions: 'You listen.', model }
const agent = createAgent({ ...parts, extensions: [compaction({ window: 1200, keepRecent: 300 })] })
const session = await agent.createSession({})
let automatic = 0
session.on('context.compacted', ({ source, beforeTokens, afterTokens, summaryTokens, durationMs }) => {
  assert.ok(afterTokens < beforeTokens && summaryTokens > 0 && durationMs >= 0)
  if (source === 'step') automatic++
})
for (let chapter = 1; chapter <= 16; chapter++)
  await session.stream(`Chapter ${chapter}. ${'And then they walked on. '.repeat(25)}`).result
const view = JSON.stringify(session.messages)
assert.ok(automatic >= 2)
assert.equal(systems.size, 1)
assert.match(view, /Chapter 16\. And then/)
assert.equal(view.split('The user tells a story.').length, 2) // one summary, not several

await session.compact() // by hand, here or by its id elsewhere
await agent.compact(session.id)

// Secret history is not given to a summariser that may not read it.
async function summarised(confidentiality: 'internal' | 'secret'): Promise<number> {
  let asked = 0
  const diary = tool({
    name: 'diary',
    effect: 'read',
    input: z.object({}),
    returns: { confidentiality },
    execute: () => `Dear diary. ${'It rained. '.repeat(150)}`,
  })
  const keeper = createAgent({
    name: 'keeper',
    model: scriptedModel([{ toolCalls: [{ name: 'diary' }] }, { text: 'It rained.' }, { text: 'Always.' }]),
    tools: [diary],
    extensions: [
      compaction({ window: 700, keepRecent: 100, strategy: 'summarize', summarize: () => `Rain ${++asked}.` }),
    ],
  })
  const { sessionId } = await keeper.run('Read my diary.')
  const { status } = await keeper.run(`Did it rain? ${'Tell me. '.repeat(30)}`, { sessionId })
  assert.equal(status, 'completed')
  return asked
}
assert.deepEqual([await summarised('internal'), await summarised('secret')], [1, 0])
console.log(`${systems.size} system prompt, 1 summary, no secret summarised`) // → 1 system prompt, 1 summary, no secret summarised
