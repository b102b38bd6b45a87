import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { memoryStore } from 'provost'

import { scripted } from './scripted.ts'
import { startServer } from './server.ts'

let listening: Awaited<ReturnType<typeof startServer>>
before(async () => {
  listening = await startServer({ model: scripted(), store: memoryStore(), port: 0 })
})
after(() => listening.close())

interface Complete {
  sessionId: string
  status: string
  text: string
  pending: { approvals: { id: string; toolName: string; input: unknown }[] }
}

/** Runs to the end, and returns its last event. */
async function execute(body: object): Promise<Complete> {
  const response = await fetch(`${listening.url}/api/agent/execute?verbose=1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const [, data = ''] = /^event: execute_complete\ndata: (.*)$/m.exec(await response.text()) ?? []
  return JSON.parse(data)
}

test('a small refund runs at once', async () => {
  const { status, text } = await execute({ input: 'Refund order 23, 20 euros' })
  assert.equal(status, 'completed')
  assert.match(text, /refunded 20 euros on order 23/)
})

test('a large refund waits for an approval, and runs after it', async () => {
  const asked = await execute({ input: 'Refund order 17, 80 euros' })
  assert.equal(asked.status, 'suspended')
  const [approval] = asked.pending.approvals
  assert.deepEqual(approval?.input, { orderId: '17', amount: 80 })
  const { sessionId } = asked
  const done = await execute({ sessionId, approvals: [{ id: approval?.id, decision: 'approve' }] })
  assert.match(done.text, /refunded 80 euros on order 17/)
})

test('a denied refund does not run', async () => {
  const { sessionId, pending } = await execute({ input: 'Refund order 17, 90 euros' })
  const denied = await execute({ sessionId, approvals: [{ id: pending.approvals[0]?.id, decision: 'deny' }] })
  assert.equal(denied.text, 'Then I do not refund it.')
})

test('the page and its files are served, with a policy that runs only its own script', async () => {
  for (const path of ['/', '/page.js', '/page.css']) {
    const response = await fetch(listening.url + path)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-security-policy'), "default-src 'self'; img-src data:")
    assert.notEqual(await response.text(), '')
  }
})
