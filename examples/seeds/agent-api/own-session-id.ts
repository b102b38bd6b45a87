// A client that chooses the id of its session, and gives it a history to start with.
// Changed: the session is created by a request of its own, so that a repeated request has no effect.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import { createClient, ServerError } from 'provost/client'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([({ messages }) => ({ text: `I see ${messages.length}.` })], { after: 'repeat-last' })
const store = memoryStore()
const authenticate = (request: Request) => ({ id: request.headers.get('authorization') ?? '' })
const server = createServer({ agents: [createAgent({ name: 'desk', model, store })], store, authenticate })
const listening = await serve(server, { port: 0 })
const clientOf = (who: string) => createClient({ baseUrl: listening.url, headers: { authorization: who } })

const messages = [
  { role: 'user' as const, content: 'My order is late.' },
  { role: 'assistant' as const, content: 'Which order?' },
]
const session = clientOf('ann').session({ id: 'ann-order-17', messages })
await session.create()
await session.create() // after a lost response, for instance
assert.equal(session.id, 'ann-order-17')
assert.equal((await session.execute('Number 17').result).text, 'I see 3.')
assert.equal((await session.get()).messages.length, 4)

// The id is taken, for others too, and they learn nothing else.
const refused = await clientOf('bob')
  .session({ id: 'ann-order-17' })
  .create()
  .catch((error: unknown) => error)
assert.ok(refused instanceof ServerError)
assert.equal(refused.code, 'session-exists')
await listening.close()
console.log(`${session.id}; for others ${refused.status} ${refused.code}`) // → ann-order-17; for others 409 session-exists
