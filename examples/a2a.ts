// Two agents that know no more of each other than an address: one asks the other over A2A, and trusts nothing it answers.
import { createAgent, memoryStore } from 'provost'
import { a2aTool } from 'provost/a2a'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const store = memoryStore()
const desk = createAgent({
  name: 'travel',
  model: scriptedModel([{ text: 'The train leaves at 9:40.' }]),
  store,
})
const listening = await serve(createServer({ agents: [desk], store }), { port: 0 })

const travel = a2aTool({ name: 'ask_travel', description: 'Knows trains.', url: listening.url })
const model = scriptedModel([
  { toolCalls: [{ name: 'ask_travel', input: { input: 'When does the train leave?' } }] },
  { text: 'At 9:40.' },
])
const stream = createAgent({ name: 'assistant', model, tools: [travel] }).stream('When is my train?')
for await (const event of stream) {
  if (event.type !== 'tool.execute.end') continue
  console.log(JSON.stringify(event.output).includes('The train leaves at 9:40.')) // → true
  console.log(event.label.integrity) // → untrusted
}
console.log((await stream.result).text) // → At 9:40.
await listening.close()
