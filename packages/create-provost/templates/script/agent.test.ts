import assert from 'node:assert/strict'
import { test } from 'node:test'

import { scriptedModel } from 'provost/testing'

import { createDesk } from './agent.ts'

test('the agent looks the order up and answers with what the tool returned', async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'order_status', input: { orderId: '23' } }] },
    ({ messages }) => ({
      text: JSON.stringify(messages.at(-1)).includes('being packed') ? 'It is being packed.' : '?',
    }),
  ])
  const { status, text } = await createDesk(model).run('Where is order 23?')
  assert.equal(status, 'completed')
  assert.equal(text, 'It is being packed.')
})

test('a call with invalid arguments does not execute, and the model reads why', async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'order_status', input: { orderId: 23 } }] },
    { text: 'I could not look it up.' },
  ])
  const events: string[] = []
  const stream = createDesk(model).stream('Where is order 23?')
  for await (const { type } of stream) events.push(type)
  assert.equal(events.includes('tool.execute.start'), false)
  assert.equal((await stream.result).status, 'completed')
})
