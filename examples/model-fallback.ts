// A model that breaks off in the middle of a sentence, and those behind it: one may not read secrets, the next steps in and is smarter where a tool asks for it.
import { createAgent, modelFallback, tool, z } from 'provost'
import type { ModelSpec } from 'provost'
import { scriptedModel } from 'provost/testing'

const salaries = tool({
  name: 'salaries',
  effect: 'read',
  input: z.object({ team: z.string() }),
  returns: { confidentiality: 'secret' },
  // The step that reads them is for the smart model.
  preferredModel: 'smart',
  execute: ({ team }) => ({ team, total: 162_000 }),
})

const overloaded = Object.assign(new Error('Overloaded'), { status: 529, responseHeaders: { 'retry-after': '30' } })
const scripted = (modelId: string, ...steps: Parameters<typeof scriptedModel>[0]) => scriptedModel(steps, { modelId })

const ask = { toolCalls: [{ name: 'salaries', input: { team: 'blue' } }] }
const price = { input: 2, output: 10 }
const usage = { inputTokens: 1000, outputTokens: 100 }

// With a real model, such as PROVOST_MODEL=anthropic/claude-sonnet-5, nothing may go wrong.
const model: ModelSpec = process.env.PROVOST_MODEL ?? {
  balanced: scripted('balanced', ask, { text: 'Hello, this is the balanced one.' }),
  smart: scripted('smart', { text: ['The blue team ', 'earns…'], error: overloaded, failAfterChunks: 2 }),
}
const elsewhere = scripted('elsewhere', { text: 'never: it may not read this' })
const inHouse = scripted('in-house', { text: 'The blue team earns 162,000 a year.', usage })

const clerk = createAgent({
  name: 'clerk',
  model,
  tools: [salaries],
  prices: { 'scripted/in-house': price },
  extensions: [modelFallback([{ model: elsewhere, accepts: ['public', 'internal'] }, inHouse])],
})

const stream = clerk.stream('What does the blue team earn?')
for await (const event of stream) {
  if (event.type === 'step.start') console.log(`step ${event.step} asks ${event.model}`)
  if (event.type === 'model.fallback') console.log(`${event.from} → ${event.to}: ${event.class}`)
  if (event.type === 'message.end' && event.discarded) console.log('what it had said does not count')
}
// → step 1 asks scripted/balanced
// → step 2 asks scripted/smart
// → what it had said does not count
// → scripted/smart → scripted/in-house: capacity

const { text, usage: spent } = await stream.result
console.log(text) // → The blue team earns 162,000 a year.
console.log(Object.keys(spent.byModel).join(', ')) // → scripted/balanced, scripted/smart, scripted/in-house
console.log(spent.byModel['scripted/in-house']?.cost) // → 0.003
