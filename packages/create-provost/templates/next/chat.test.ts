import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { GET, POST } from './app/api/chat/[[...path]]/route.ts'
import { agents } from './server.ts'

process.env.STORE = ':memory:'
after(() => agents().close())

interface Message {
  role: string
  parts: {
    type: string
    text?: string
    state?: string
    input?: unknown
    approval?: { id: string; approved?: boolean }
  }[]
}

const headers = { host: 'localhost:3000', 'content-type': 'application/json' }
const url = 'http://localhost:3000/api/chat'

/** Sends what `useChat` sends, and reads the answer to its end. */
async function send(id: string, message: object) {
  const response = await POST(new Request(url, { method: 'POST', headers, body: JSON.stringify({ id, message }) }))
  assert.equal(response.status, 200)
  await response.text()
  return messagesOf(id)
}

async function messagesOf(id: string): Promise<Message[]> {
  return (await GET(new Request(`${url}/${id}`, { headers }))).json()
}

const ask = (id: string, text: string) =>
  send(id, { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] })

/** Answers the question of the last message. */
function answer(id: string, last: Message | undefined, approved: boolean) {
  const parts = last?.parts.map((part) =>
    part.approval ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved } } : part,
  )
  return send(id, { ...last, parts })
}

const wordsOf = (messages: readonly Message[]) => JSON.stringify(messages.at(-1)?.parts)

test('a small refund runs at once', async () => {
  assert.match(wordsOf(await ask('small', 'Refund order 23, 20 euros')), /Done: refunded 20 euros on order 23/)
})

test('a large refund waits for an approval, and runs after it', async () => {
  const asked = await ask('large', 'Refund order 17, 80 euros')
  const question = asked.at(-1)?.parts.find(({ type }) => type === 'tool-refund')
  assert.equal(question?.state, 'approval-requested')
  assert.deepEqual(question?.input, { orderId: '17', amount: 80 })
  assert.match(wordsOf(await answer('large', asked.at(-1), true)), /Done: refunded 80 euros on order 17/)
})

test('a denied refund does not run', async () => {
  const asked = await ask('denied', 'Refund order 17, 90 euros')
  const words = wordsOf(await answer('denied', asked.at(-1), false))
  assert.match(words, /Then I do not refund it/)
  assert.doesNotMatch(words, /refunded/)
})

test('a request to another host name has no user', async () => {
  for (const name of ['host', 'x-forwarded-host']) {
    const response = await GET(new Request(`${url}/small`, { headers: { ...headers, [name]: 'chat.example' } }))
    assert.equal(response.status, 401)
  }
})
