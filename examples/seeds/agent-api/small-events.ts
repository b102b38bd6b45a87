// Events that cost little on the wire: what is the same for a run is sent once, and no text twice. The client makes whole
// events of them again, and `?verbose=1` sends them whole.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import type { AgentEvent } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const words = Array.from({ length: 35 }, (_, n) => `piece ${n} of an answer that is rather long, `)
const model = scriptedModel([{ text: words }], { after: 'repeat-last' })
const store = memoryStore()
const agent = createAgent({ name: 'teller', model, store })
const server = createServer({ agents: [agent], store })
const listening = await serve(server, { port: 0 })

async function framesOf(query: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ input: 'A story' })
  return (await fetch(`${listening.url}/api/agent/execute${query}`, { method: 'POST', headers, body })).text()
}
const small = await framesOf('')
const whole = await framesOf('?verbose=1')
assert.ok(small.length < 8000, `${small.length} bytes`)
assert.ok(whole.length > 3 * small.length, `${whole.length} bytes`)
assert.equal(small.split('piece 7').length, 2)

// The client's events are those of an agent in the same process.
const read = async (stream: AsyncIterable<AgentEvent>) => {
  const events = new Set<string>()
  for await (const event of stream)
    events.add(`${event.agent} ${event.type} ${event.type === 'turn.end' ? event.text : ''}`)
  return events
}
const client = createClient({ baseUrl: listening.url })
assert.deepEqual(await read(client.session().execute('A story')), await read(agent.stream('A story')))
await listening.close()
console.log(whole.length > 3 * small.length ? 'less than a third' : 'no gain') // → less than a third
