import { ClientFactory as CurrentFactory } from '@a2a-js/sdk/client'
import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { ClientFactory } from 'a2a-sdk-0.3/client'
import type { Client } from 'a2a-sdk-0.3/client'
import { expect, onTestFinished, test } from 'vitest'

import { refund } from '../served.ts'

const description = 'Refunds orders.'

/** A client of A2A 0.3, as it was released, and the address of the server. */
async function listen(steps: Parameters<typeof scriptedModel>[0]): Promise<{ client: Client; url: string }> {
  const store = memoryStore()
  const desk = createAgent({ name: 'desk', description, model: scriptedModel([...steps]), tools: [refund], store })
  const server = createServer({ agents: [desk], store, approvals: { by: 'requester', peers: true } })
  const { url, close } = await serve(server, { port: 0 })
  onTestFinished(() => close({ graceMs: 0 }))
  return { client: await new ClientFactory().createFromUrl(url), url }
}

const saying = (text: string, more: { taskId?: string; contextId?: string } = {}) => ({
  message: {
    kind: 'message' as const,
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text }],
    ...more,
  },
})

test('a client of 0.3 finds the agent by its card, and so does one of 1.0', async () => {
  const { client, url } = await listen([])
  expect(await client.getAgentCard()).toMatchObject({ name: 'desk', description, skills: [{ description }] })
  const current = await new CurrentFactory().createFromUrl(url)
  expect(await current.getAgentCard()).toMatchObject({ name: 'desk', description })
})

test('a client of 0.3 sends a message, and gets the task again', async () => {
  const { client } = await listen([{ text: 'Hello.' }])
  const task = await client.sendMessage(saying('hi'))
  expect(task).toMatchObject({
    kind: 'task',
    status: { state: 'completed' },
    artifacts: [{ parts: [{ kind: 'text', text: 'Hello.' }] }],
  })
  const id = 'id' in task ? task.id : ''
  expect(await client.getTask({ id })).toMatchObject({ id, status: { state: 'completed' } })
})

test('a client of 0.3 streams the answer', async () => {
  const { client } = await listen([{ text: 'Hello there.' }])
  const kinds: string[] = []
  let text = ''
  for await (const event of client.sendMessageStream(saying('hi'))) {
    kinds.push(event.kind)
    if (event.kind === 'artifact-update')
      for (const part of event.artifact.parts) if (part.kind === 'text') text += part.text
  }
  expect([kinds[0], kinds.at(-1)]).toEqual(['task', 'status-update'])
  expect(text).toContain('Hello there.')
})

test('a client of 0.3 is asked about a call, and approves it', async () => {
  const { client } = await listen([
    { toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
    ({ messages }) => ({ text: `Result: ${JSON.stringify(messages.at(-1)?.content)}` }),
  ])
  const asked = await client.sendMessage(saying('Refund 80.'))
  if (!('status' in asked)) throw new Error('no task')
  expect(asked.status.state).toBe('input-required')
  const done = await client.sendMessage(saying('approve', { taskId: asked.id, contextId: asked.contextId }))
  expect(done).toMatchObject({ status: { state: 'completed' } })
  expect(JSON.stringify(done)).toContain('refunded 80')
})

test('a client of 0.3 is told that there are no push notifications, and that a task is unknown', async () => {
  const { client } = await listen([{ text: 'never' }])
  const pushNotificationConfig = { url: 'https://client.example/push' }
  const sent = client.sendMessage({ ...saying('hi'), configuration: { pushNotificationConfig } })
  await expect(sent).rejects.toThrow('Push Notification is not supported')
  await expect(client.getTask({ id: 'unknown' })).rejects.toThrow('Task not found')
})
