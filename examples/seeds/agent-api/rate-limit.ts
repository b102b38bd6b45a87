// An open question of the design: abuse. The requests of a principal have limits; above them the answer is 429 with the time
// after which to try again.
import assert from 'node:assert/strict'

import { createAgent, memoryStore } from 'provost'
import { createServer } from 'provost/server'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([{ text: 'Hello.' }], { after: 'repeat-last' })
const store = memoryStore()
const server = createServer({
  agents: [createAgent({ name: 'desk', model, store })],
  store,
  authenticate: (request) => ({ id: request.headers.get('authorization') ?? '' }),
  limits: { requestsPerMinute: 3, bodyBytes: 1000 },
})
async function execute(who: string, input: string): Promise<Response> {
  const headers = { authorization: who, 'content-type': 'application/json' }
  const body = JSON.stringify({ input })
  const response = await server.fetch(
    new Request('http://localhost/api/agent/execute', { method: 'POST', headers, body }),
  )
  await response.text()
  return response
}
const statuses: number[] = []
for (let n = 0; n < 4; n++) statuses.push((await execute('ann', 'Hi')).status)
assert.deepEqual(statuses, [200, 200, 200, 429])
assert.ok(Number((await execute('ann', 'Hi')).headers.get('retry-after')) > 0)
assert.equal((await execute('bob', 'Hi')).status, 200)
assert.equal((await execute('bob', 'x'.repeat(2000))).status, 413)
await server.close()
console.log(statuses.join(' ')) // → 200 200 200 429
