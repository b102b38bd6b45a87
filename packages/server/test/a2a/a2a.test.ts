import { createServer as createHttp } from 'node:http'
import type { AddressInfo } from 'node:net'

import { Role, TaskState } from '@a2a-js/sdk'
import type {
  AgentCard,
  ListTasksRequest,
  ListTasksResponse,
  Part,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import type { Client } from '@a2a-js/sdk/client'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import type { Agent } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { createServer, serve } from '@provost/server'
import type { Listening } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { a2aTool } from '@provost/tools'
import { afterAll, expect, test } from 'vitest'

import { ask, deskOf, serverOf } from '../served.ts'

const part = (content: Part['content']): Part => ({ content, metadata: undefined, filename: '', mediaType: '' })

function saying(
  said: string | object,
  { taskId = '', contextId = '' }: { taskId?: string; contextId?: string } = {},
): SendMessageRequest {
  const parts = [part(typeof said === 'string' ? { $case: 'text', value: said } : { $case: 'data', value: said })]
  const rest = { metadata: undefined, extensions: [], referenceTaskIds: [] }
  const message = { messageId: crypto.randomUUID(), taskId, contextId, role: Role.ROLE_USER, parts, ...rest }
  return { tenant: '', message, configuration: undefined, metadata: undefined }
}

const open: Listening[] = []
afterAll(async () => {
  for (const listening of open) await listening.close({ graceMs: 0 })
})

function listen(steps: Parameters<typeof deskOf>[0]): Promise<{ url: string; client: Client }> {
  const store = memoryStore()
  return listenTo(deskOf(steps, store), store)
}

async function listenTo(agent: Agent, store: SessionStore): Promise<{ url: string; client: Client }> {
  const approvals = { by: 'requester', peers: true } as const
  const listening = await serve(createServer({ agents: [agent], store, approvals }), { port: 0 })
  open.push(listening)
  return { url: listening.url, client: await new ClientFactory().createFromUrl(listening.url) }
}

async function taskOf(answer: ReturnType<Client['sendMessage']>): Promise<Task> {
  const got = await answer
  if (!('status' in got)) throw new Error('no task')
  return got
}

const textIn = (task: Task): string =>
  task.artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('')

async function all(stream: AsyncIterable<StreamResponse>): Promise<readonly StreamResponse['payload'][]> {
  const out = []
  for await (const { payload } of stream) out.push(payload)
  return out
}

test('the agent card is served, and each new message starts a run in a session of its own', async () => {
  const { client } = await listen([{ text: 'Hello.' }, { text: 'Again.' }])
  expect(await client.getAgentCard()).toMatchObject({ name: 'desk', capabilities: { streaming: true } })
  const task = await taskOf(client.sendMessage(saying('hi')))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(textIn(task)).toBe('Hello.')
  expect(await client.getTask({ tenant: '', id: task.id })).toMatchObject({ id: task.id, contextId: task.contextId })
  const next = await taskOf(client.sendMessage(saying('more', { contextId: task.contextId })))
  expect(next).toMatchObject({ contextId: task.contextId })
  expect(next.id).not.toBe(task.id)
  expect(textIn(next)).toBe('Again.')
  await expect(client.sendMessage(saying('late', { taskId: task.id }))).rejects.toThrow('over')
})

test('ListTasks returns pages, latest first; push notifications are rejected, as the card states', async () => {
  const call = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
  const { client } = await listen([{ text: 'a' }, { text: 'b' }, call])
  const a = await taskOf(client.sendMessage(saying('one')))
  const b = await taskOf(client.sendMessage(saying('two', { contextId: a.contextId })))
  const c = await taskOf(client.sendMessage(saying('three')))
  const list = (more: Partial<ListTasksRequest> = {}): Promise<ListTasksResponse> =>
    client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
      ...more,
    })
  const idsOf = ({ tasks }: ListTasksResponse): readonly string[] => tasks.map(({ id }) => id)
  const whole = await list({ includeArtifacts: true })
  expect(idsOf(whole)).toEqual([c.id, b.id, a.id])
  expect(whole).toMatchObject({ totalSize: 3, nextPageToken: '' })
  expect(whole.tasks.map(textIn)).toEqual(['', 'b', 'a'])
  const pages: string[] = []
  for (let pageToken = '', n = 0; n === 0 || (pageToken !== '' && n < 5); n++) {
    const page = await list({ pageSize: 1, pageToken })
    pages.push(...idsOf(page))
    pageToken = page.nextPageToken
  }
  expect(pages).toEqual(idsOf(whole))
  expect(idsOf(await list({ contextId: a.contextId }))).toEqual([b.id, a.id])
  expect(idsOf(await list({ status: TaskState.TASK_STATE_INPUT_REQUIRED }))).toEqual([c.id])
  expect(idsOf(await list({ statusTimestampAfter: new Date(Date.now() + 60_000).toISOString() }))).toEqual([])
  await expect(list({ pageSize: 0 })).rejects.toThrow('1 to 100')
  await expect(list({ pageToken: '!' })).rejects.toThrow('token')
  expect((await client.getAgentCard()).capabilities?.pushNotifications).toBe(false)
})

test('the streamed pieces add up to the final artifact', async () => {
  const { client } = await listen([{ text: ['One ', 'two ', 'three.'] }])
  const seen = await all(client.sendMessageStream(saying('count')))
  expect(seen.map((payload) => payload?.$case)).toEqual([
    'task',
    ...seen.slice(1, -1).map(() => 'artifactUpdate'),
    'statusUpdate',
  ])
  const pieces = seen.flatMap((payload) => (payload?.$case === 'artifactUpdate' ? [payload.value] : []))
  const said = pieces
    .map(({ artifact }) => artifact?.parts[0]?.content)
    .map((c) => (c?.$case === 'text' ? c.value : ''))
  expect(said.at(-1)).toBe('One two three.')
  expect(said.slice(0, -1).join('')).toBe('One two three.')
  expect(pieces.at(-1)).toMatchObject({ append: false, lastChunk: true })
})

test('a pending approval is input-required; a data part or the word "deny" resumes the same task', async () => {
  const call = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
  const { client } = await listen([call, { text: 'Refunded.' }, call, { text: 'Not refunded.' }])
  const task = await taskOf(client.sendMessage(saying('refund 80')))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  const data = task.status?.message?.parts[1]?.content
  const value: unknown = data?.$case === 'data' ? data.value : undefined
  expect(value).toMatchObject({ pending: { approvals: [{ toolName: 'refund', input: { amount: 80 } }] } })
  await expect(client.sendMessage(saying('why?', { taskId: task.id }))).rejects.toThrow('approve')
  await expect(client.sendMessage(saying('x', { contextId: task.contextId }))).rejects.toThrow('taskId')
  const approvals = [{ id: JSON.parse(JSON.stringify(value)).pending.approvals[0].id, decision: 'approve' }]
  const done = await taskOf(client.sendMessage(saying({ approvals }, { taskId: task.id })))
  expect(done).toMatchObject({ id: task.id, status: { state: TaskState.TASK_STATE_COMPLETED } })
  expect(textIn(done)).toBe('Refunded.')

  const other = await taskOf(client.sendMessage(saying('refund 80')))
  const denied = await all(client.sendMessageStream(saying(' Deny ', { taskId: other.id })))
  expect(JSON.stringify(denied)).toContain('Not refunded.')
})

test('a suspended task can be canceled once', async () => {
  const { client } = await listen([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }])
  const { id } = await taskOf(client.sendMessage(saying('refund 80')))
  expect((await client.cancelTask({ tenant: '', id, metadata: undefined })).status?.state).toBe(
    TaskState.TASK_STATE_CANCELED,
  )
  await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow('over')
})

test('returnImmediately returns a working task, and the client can resubscribe to it', async () => {
  const back = Promise.withResolvers<void>()
  const patience = defineExtension({ name: 'patience', hooks: { 'model.request': () => back.promise } })
  const store = memoryStore()
  const model = scriptedModel([{ text: ['slow ', 'answer'] }])
  const { client } = await listenTo(createAgent({ name: 'desk', model, extensions: [patience], store }), store)
  const request = saying('go')
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true }
  const { id, status } = await taskOf(client.sendMessage({ ...request, configuration }))
  expect(status?.state).toBe(TaskState.TASK_STATE_WORKING)
  const seen = []
  for await (const { payload } of client.resubscribeTask({ tenant: '', id })) {
    seen.push(payload)
    back.resolve()
  }
  expect(seen.at(0)).toMatchObject({ $case: 'task', value: { id } })
  expect(seen.at(-1)).toMatchObject({ value: { status: { state: TaskState.TASK_STATE_COMPLETED } } })
})

test('a task belongs to its principal; other principals, unknown callers and invalid requests get errors below 500', async () => {
  const server = serverOf([{ text: 'mine' }])
  const send = async (params: unknown, as = 'ann', method = 'SendMessage'): Promise<Record<string, unknown>> => {
    const body = { jsonrpc: '2.0', id: 7, method, params }
    return (await ask(server, '/a2a/desk', { body, as, headers: { 'a2a-version': '1.0' } })).json()
  }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const sent = await send({ message })
  const { id } = JSON.parse(JSON.stringify(sent['result'])).task
  expect(await send({ id }, 'bob', 'GetTask')).toMatchObject({ id: 7, error: { code: -32001 } })
  expect(await send({ id }, 'ann', 'GetTask')).toMatchObject({ result: { id } })
  expect(await send({ id: 'x' }, 'ann', 'GetTask')).toMatchObject({ error: { code: -32001 } })
  expect(await send({ message: { ...message, parts: [] } })).toMatchObject({ error: { code: -32602 } })
  expect(await send({}, 'bob', 'ListTasks')).toMatchObject({ result: { tasks: [], totalSize: 0 } })
  const push = { taskId: id, url: 'https://elsewhere.example' }
  expect(await send(push, 'ann', 'CreateTaskPushNotificationConfig')).toMatchObject({ error: { code: -32003 } })
  expect((await ask(server, '/a2a/desk', { body: {}, as: '!' })).status).toBe(401)
  expect((await ask(server, '/a2a/unknown', { body: {} })).status).toBe(404)
  expect((await ask(server, '/a2a/desk', { body: '{' })).status).toBe(400)
  expect((await ask(server, '/a2a/desk', { body: [1] })).status).toBe(400)
  expect(await (await ask(server, '/a2a/desk', { body: {} })).json()).toHaveProperty('error')
  const card = await ask(server, '/.well-known/agent-card.json', { as: '!' })
  expect(await card.json()).toMatchObject({ name: 'desk', securitySchemes: { bearer: {} } })
})

/** An agent that the A2A SDK serves. */
async function foreignAgent(lead?: string): Promise<{ url: string; close(): void }> {
  const http = createHttp()
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const card: AgentCard = {
    name: 'travel',
    description: '',
    version: '1',
    provider: undefined,
    supportedInterfaces: [
      { url: lead ?? `${url}/rpc`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    signatures: [],
  }
  const rpc = new JsonRpcTransportHandler(
    new DefaultRequestHandler(card, new InMemoryTaskStore(), {
      async execute({ taskId, contextId, userMessage, task }, bus) {
        const asked = userMessage.parts[0]?.content
        const said = asked?.$case === 'text' ? asked.value : ''
        const rest = { metadata: undefined }
        const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined }
        bus.publish(AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history: [], ...rest }))
        const state = said === 'book' && !task ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED
        const parts = [part({ $case: 'text', value: `heard ${said}` })]
        const artifact = { artifactId: 'a', name: '', description: '', parts, extensions: [], ...rest }
        bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, ...rest }))
        bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: { ...status, state }, ...rest }))
        bus.finished()
      },
      cancelTask: async () => {},
    }),
  )
  http.on('request', (request, response) => {
    void (async () => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      if (request.method === 'GET') return response.end(JSON.stringify(card))
      const answer = await rpc.handle(body, new ServerCallContext({ requestedVersion: '1.0' }))
      if (!(Symbol.asyncIterator in answer)) return response.end(JSON.stringify(answer))
      response.setHeader('content-type', 'text/event-stream')
      for await (const one of answer) response.write(`data: ${JSON.stringify(one)}\n\n`)
      return response.end()
    })()
  })
  return { url, close: () => void http.close() }
}

test('a2aTool calls an agent of another vendor; the answer is untrusted, and an answer to its question needs approval', async () => {
  const foreign = await foreignAgent()
  const model = scriptedModel([
    { toolCalls: [{ name: 'travel', input: { input: 'book' } }] },
    ({ messages }) => {
      const [, taskId] = /"taskId":"([^"]+)"/u.exec(JSON.stringify(messages).replaceAll('\\"', '"')) ?? []
      return { toolCalls: [{ name: 'travel', input: { input: 'yes', taskId } }] }
    },
    { text: 'booked' },
  ])
  const agent = createAgent({ name: 'boss', model, tools: [a2aTool({ name: 'travel', url: foreign.url })] })
  const first = await agent.run('Book it.')
  expect(first.pending.approvals).toMatchObject([{ toolName: 'travel', input: { input: 'yes' } }])
  const approvals = first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
  const { text, messages } = await agent.run(first.state, { approvals })
  expect(text).toBe('booked')
  const said = JSON.stringify([...first.messages, ...messages])
  expect(said).toContain('input-required')
  expect(said).toContain('heard yes')
  expect(messages.at(-1)?.label).toMatchObject({
    integrity: 'untrusted',
    sources: [`a2a:${new URL(foreign.url).host}`],
  })
  foreign.close()
})

test('a2aTool rejects an agent card that points to another host', async () => {
  const foreign = await foreignAgent('http://127.0.0.1:1/rpc')
  const model = scriptedModel([{ toolCalls: [{ name: 'travel', input: { input: 'book' } }] }, { text: 'no' }])
  const agent = createAgent({ name: 'boss', model, tools: [a2aTool({ name: 'travel', url: foreign.url })] })
  expect(JSON.stringify((await agent.run('Book it.')).messages)).toContain('leads to http://127.0.0.1:1')
  foreign.close()
})

test('a Provost agent calls another one over A2A', async () => {
  const { url } = await listen([{ text: 'Hello from the desk.' }])
  const model = scriptedModel([{ toolCalls: [{ name: 'ask', input: { input: 'hi' } }] }, { text: 'told' }])
  const agent = createAgent({ name: 'boss', model, tools: [a2aTool({ name: 'ask', url })] })
  expect(JSON.stringify((await agent.run('Ask.')).messages)).toContain('Hello from the desk.')
})

test('a message that asks for push notifications is refused, not taken without them', async () => {
  const { client } = await listen([{ text: 'never' }])
  const taskPushNotificationConfig = {
    tenant: '',
    id: '',
    taskId: '',
    url: 'https://client.example/push',
    token: '',
    authentication: undefined,
  }
  const configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig,
    historyLength: 0,
    returnImmediately: false,
  }
  await expect(client.sendMessage({ ...saying('hi'), configuration })).rejects.toThrow(
    'Push notifications are not supported. Stream the task, or call GetTask.',
  )
})
