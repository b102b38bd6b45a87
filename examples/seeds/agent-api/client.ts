// The client: it runs its own tools between requests, so that one loop of events is left.
import assert from 'node:assert/strict'

import { createAgent, memoryStore, z } from 'provost'
import { createClient } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'battery' }] }, { text: ['Half ', 'full.'] }, { text: 'Bye.' }])
const store = memoryStore()
const server = createServer({ agents: [createAgent({ name: 'phone', model, store })], store })
const listening = await serve(server, { port: 0 })

const battery = { name: 'battery', description: 'Charge.', input: z.object({}), execute: () => '50 %' }
const session = createClient({ baseUrl: listening.url }).session({ tools: [battery] })
const stream = session.execute('How full is it?')
let text = ''
const tools: string[] = []
for await (const event of stream) {
  if (event.type === 'text.delta') text += event.delta
  if (event.type === 'tool.execute.end') tools.push(`${event.toolName} ${event.via}`)
}
assert.equal(text, 'Half full.')
assert.deepEqual(tools, ['battery remote'])
assert.equal((await stream.result).status, 'completed')

assert.equal((await session.execute('Thanks').result).text, 'Bye.')
assert.equal((await session.get()).messages.length, 6)
await listening.close()
console.log(`${tools[0]}: ${text}`) // → battery remote: Half full.
