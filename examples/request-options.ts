// A client chooses the id of its session, and the model and temperature of a run, as far as the server permits it.
import { createAgent, memoryStore } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([{ text: 'A short answer.' }])
const fast = scriptedModel([{ text: 'A quick answer.' }])
const thorough = scriptedModel([({ options }) => ({ text: `A long answer at ${options.temperature}.` })])

const store = memoryStore()
const agent = createAgent({ name: 'clerk', model, store })
const server = createServer({
  agents: [agent],
  store,
  requestOptions: { models: { fast, thorough }, temperature: { min: 0, max: 1 }, toolChoice: true },
})
const listening = await serve(server, { port: 0 })

const client = createClient({ baseUrl: listening.url })
const session = client.session({ id: 'case-2026-17', agent: 'clerk' })
await session.create()
const stream = session.execute('Summarise the case', { model: 'thorough', temperature: 0.2 })
console.log((await stream.result).text) // → A long answer at 0.2.

const refused = await session.execute('Again', { temperature: 2 }).result.catch((error: unknown) => error)
console.log(refused instanceof Error && refused.message) // → The option temperature is 2.
console.log(session.id) // → case-2026-17
await listening.close()
