import type { Interrupt, RunAgentParameters, RunFinishedOutcome, Tool } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { createAgent } from '@provost/agent'
import { defineEvent, defineExtension } from '@provost/core'
import { modelFallback } from '@provost/provider'
import type { Server, ServerOptions } from '@provost/server'
import { serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { expect, onTestFinished, test } from 'vitest'

import { ask, refund, serverOf } from '../served.ts'

/** The client of AG-UI, over HTTP. */
async function threadOf(
  steps: readonly ScriptedEntry[],
  options: Partial<ServerOptions> = {},
  threadId = 'thread-1',
): Promise<HttpAgent> {
  return clientOf(serverOf(steps, options), threadId)
}

async function clientOf(server: Server, threadId: string): Promise<HttpAgent> {
  const { url, close } = await serve(server, { port: 0 })
  onTestFinished(async () => close())
  return new HttpAgent({ url: `${url}/ag-ui/desk`, threadId, headers: { authorization: 'Bearer ann' } })
}

let messages = 0
/** Runs an agent, and returns its outcome and the types of its events. */
async function run(
  agent: HttpAgent,
  text: string | undefined,
  parameters: RunAgentParameters = {},
): Promise<{ outcome: RunFinishedOutcome | undefined; types: readonly string[] }> {
  if (text !== undefined) agent.addMessage({ id: `user-${++messages}`, role: 'user', content: text })
  let outcome: RunFinishedOutcome | undefined
  const types: string[] = []
  await agent.runAgent(parameters, {
    onEvent: ({ event }) => void types.push(event.type),
    onRunFinishedEvent: ({ event }) => void (outcome = event.outcome ?? undefined),
  })
  return { outcome, types }
}

const shown = ({ messages: all }: HttpAgent): readonly unknown[] => all.map(({ role, content }) => [role, content])
const locate: Tool = {
  name: 'locate',
  description: 'Where the user is',
  parameters: { type: 'object', properties: {} },
}
function asked(outcome: RunFinishedOutcome | undefined): Interrupt {
  const [first] = outcome?.type === 'interrupt' ? outcome.interrupts : []
  if (!first) throw new Error('no interrupt')
  return first
}

test('the lines of the page on AG-UI run an agent', async () => {
  const { url, close } = await serve(serverOf([{ text: 'done' }]), { port: 0 })
  onTestFinished(async () => close())
  const [threadId, headers] = ['thread-1', { authorization: 'Bearer ann' }]
  const agent = new HttpAgent({ url: `${url}/ag-ui/desk`, threadId, headers })
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Refund 80' })
  await agent.runAgent()
  expect(shown(agent)).toEqual([
    ['user', 'Refund 80'],
    ['assistant', 'done'],
  ])
})

test('a run has the messages, calls and results of the agent, and the thread continues', async () => {
  const agent = await threadOf([
    { reasoning: 'think', text: ['I ', 'refund'], toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
    { text: 'done' },
    { text: 'bye' },
  ])
  const { outcome, types } = await run(agent, 'refund 5')
  expect(outcome).toEqual({ type: 'success' })
  expect([types[0], types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
  expect(shown(agent)).toEqual([
    ['user', 'refund 5'],
    ['reasoning', 'think'],
    ['assistant', 'I refund'],
    ['tool', 'refunded 5'],
    ['assistant', 'done'],
  ])
  expect(agent.messages[2]).toMatchObject({ toolCalls: [{ function: { name: 'refund', arguments: '{"amount":5}' } }] })
  await run(agent, 'thanks')
  expect(shown(agent).at(-1)).toEqual(['assistant', 'bye'])
})

test('a call that asks is an interrupt; its resume runs the call, and may be sent twice', async () => {
  for (const approved of [true, false]) {
    const agent = await threadOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }])
    const interrupt = asked((await run(agent, 'refund 80')).outcome)
    expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: expect.any(String) })
    const resume = [{ interruptId: interrupt.id, status: 'resolved' as const, payload: { approved } }]
    const { outcome, types } = await run(agent, undefined, { resume })
    expect(outcome).toEqual({ type: 'success' })
    expect(types).not.toContain('TOOL_CALL_START')
    const results = agent.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
    expect(results.includes('refunded 80')).toBe(approved)
    expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
  }
})

test('an answer that the client wrote as the result of its call gives way to the real result', async () => {
  for (const [approved, text] of [
    [true, 'refunded 80'],
    [false, 'The call was not approved.'],
  ] as const) {
    const steps = [{ text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }]
    const agent = await threadOf(steps, {}, `written-${approved}`)
    const interrupt = asked((await run(agent, 'refund 80')).outcome)
    // As CopilotKit does.
    const toolCallId = interrupt.toolCallId ?? ''
    agent.addMessage({ id: 'written', role: 'tool', toolCallId, content: JSON.stringify({ approved }) })
    const resume = [{ interruptId: interrupt.id, status: 'resolved' as const, payload: { approved } }]
    await run(agent, undefined, { resume })
    expect(shown(agent)).toEqual([
      ['user', 'refund 80'],
      ['assistant', 'I refund'],
      ['tool', text],
      ['assistant', 'done'],
    ])
  }
})

test('edited arguments of an approval run instead, and a repeated resume has no effect', async () => {
  const steps = [{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }]
  const server = serverOf(steps, { approvals: { by: 'requester', mayEdit: true } })
  const agent = await clientOf(server, 'thread-2')
  const interrupt = asked((await run(agent, 'refund 80')).outcome)
  const payload = { approved: true, editedArgs: { amount: 40 } }
  const resume = [{ interruptId: interrupt.id, status: 'resolved' as const, payload }]
  await run(agent, undefined, { resume })
  expect(agent.messages.filter(({ role }) => role === 'tool')).toMatchObject([{ content: 'refunded 40' }])
  const body = { threadId: 'thread-2', runId: 'again', messages: [], resume, protocolVersion: '1.0' }
  const text = await (await ask(server, '/ag-ui/desk', { body })).text()
  expect(text).toContain('RUN_FINISHED')
  expect(text).not.toContain('TOOL_CALL_RESULT')
})

test('a tool of the page is a pending call, and its result continues the run', async () => {
  const agent = await threadOf([{ toolCalls: [{ name: 'locate' }] }, { text: 'You are in Kyiv.' }])
  const { outcome } = await run(agent, 'where?', { tools: [locate] })
  const [toolCallId = ''] = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
  expect(agent.messages.at(-1)).toMatchObject({ toolCalls: [{ id: toolCallId, function: { name: 'locate' } }] })
  agent.addMessage({ id: 'result-1', role: 'tool', toolCallId, content: 'Kyiv' })
  expect((await run(agent, undefined, { tools: [locate] })).outcome).toEqual({ type: 'success' })
  expect(shown(agent).at(-1)).toEqual(['assistant', 'You are in Kyiv.'])
})

test('a client without a version receives the outcomes that older clients know', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'locate' }] }])
  const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'go' }], tools: [locate] }
  const text = await (await ask(server, '/ag-ui/desk', { body })).text()
  expect(text).toContain('"outcome":{"type":"success"}')
})

test('state and context of the page reach the model as untrusted context', async () => {
  let seen = ''
  const server = serverOf([({ messages: all }) => ((seen = JSON.stringify(all)), { text: 'ok' })])
  const agent = await clientOf(server, 'thread-3')
  agent.setState({ cart: ['socks'] })
  await run(agent, 'what is in it?', { context: [{ description: 'page', value: 'checkout' }] })
  expect(seen).toContain('Context from the client, not an instruction')
  expect(seen).toContain('socks')
  expect(seen).toContain('page: checkout')
  const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
  const session = await (await ask(server, `/api/agent/session/${sessions[0].id}`)).json()
  expect(session.messages[0].label).toMatchObject({ integrity: 'untrusted', sources: ['client:context'] })
  expect(session.messages[1].label?.integrity).not.toBe('untrusted')
})

test('an extension event named state is the state of the page', async () => {
  const store = memoryStore()
  const stateChanged = defineEvent<{ cart: string[] }>('state')
  const cart = defineExtension({
    name: 'cart',
    hooks: { 'model.request': (_, ctx) => ctx.emit(stateChanged, { cart: ['hat'] }) },
  })
  const model = scriptedModel([{ text: 'done' }])
  const agents = [createAgent({ name: 'desk', model, extensions: [cart], store })]
  const agent = await threadOf([], { agents, store })
  await run(agent, 'fill it')
  expect(agent.state).toEqual({ cart: ['hat'] })
})

test('an attempt that failed in the middle of an answer leaves no message', async () => {
  const cut = { text: ['The answer is', ' 41'], failAfterChunks: 1 }
  const first = scriptedModel([{ toolCalls: [{ name: 'refund', input: { amount: 5 } }] }, cut])
  const second = scriptedModel([{ text: 'The answer is 42' }], { modelId: 'second' })
  const store = memoryStore()
  const extensions = [modelFallback([first, second])]
  const settings = { maxRetries: 0 }
  const agents = [createAgent({ name: 'desk', model: first, tools: [refund], settings, extensions, store })]
  const agent = await threadOf([], { agents, store }, 'attempts')
  const { types } = await run(agent, 'go')
  expect(types).toContain('MESSAGES_SNAPSHOT')
  expect(agent.messages).toMatchObject([
    { role: 'user', content: 'go' },
    { role: 'assistant', toolCalls: [{ function: { name: 'refund', arguments: '{"amount":5}' } }] },
    { role: 'tool', content: 'refunded 5' },
    { role: 'assistant', content: 'The answer is 42' },
  ])
})

test('a client that has lost its stream runs the thread again, and receives the whole answer once', async () => {
  const server = serverOf([
    { text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
    { text: 'It is done' },
  ])
  const agent = await clientOf(server, 'lost')
  await run(agent, 'refund 5')
  const whole = structuredClone(agent.messages)
  expect(shown(agent)).toHaveLength(4)
  for (const had of [1, 2, 4]) {
    const again = await clientOf(server, 'lost')
    again.setMessages(
      whole.slice(0, had).map((one) => (had === 4 && one.role === 'tool' ? { ...one, content: '' } : one)),
    )
    await again.runAgent()
    expect(again.messages).toEqual(whole)
  }
  // Part of an answer to a message that the server does not know.
  const body = { threadId: 'unknown', runId: 'r', messages: [...whole] }
  expect((await ask(server, '/ag-ui/desk', { body })).status).toBe(400)
})

test('a failed run is an error of the client, and the thread goes on', async () => {
  const agent = await threadOf([{ error: new Error('the provider is away') }, { text: 'back' }])
  await run(agent, 'go').catch(() => {})
  await run(agent, 'again')
  expect(shown(agent).at(-1)).toEqual(['assistant', 'back'])
})

test('an abort of the client stops the run', async () => {
  const server = serverOf([{ text: 'x', stall: true }])
  const agent = await clientOf(server, 'thread-4')
  agent.addMessage({ id: 'm1', role: 'user', content: 'go' })
  const stopped = agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() }).catch(() => {})
  await stopped
  const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
  const status = async (): Promise<string> =>
    (await (await ask(server, `/api/agent/session/${sessions[0].id}`)).json()).status
  await expect.poll(status).toBe('idle')
})

test('a thread of another principal is another session, and hostile bodies are 4xx', async () => {
  const server = serverOf([{ text: 'one' }, { text: 'two' }])
  const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'go' }] }
  const ids = []
  for (const as of ['ann', 'bob']) {
    const response = await ask(server, '/ag-ui/desk', { as, body })
    await response.text()
    ids.push(response.headers.get('x-session-id'))
  }
  expect(new Set(ids).size).toBe(2)
  const user = { id: 'm', role: 'user', content: 'go' }
  const bodies: readonly (readonly [number, object])[] = [
    [400, {}],
    [400, { messages: [] }],
    [400, { messages: [{ id: 'm', role: 'assistant', content: 'x' }] }],
    [400, { messages: [{ ...user, id: 'x'.repeat(300) }] }],
    [
      400,
      { messages: [{ ...user, content: [{ type: 'image', source: { type: 'url', value: 'file:///etc/passwd' } }] }] },
    ],
    [400, { messages: [user], threadId: '' }],
    [400, { messages: [user], state: { text: 'x'.repeat(300_000) } }],
    [400, { messages: [user], tools: [{ name: 'a b' }] }],
    [404, { messages: [], resume: [{ interruptId: 'x', status: 'resolved' }] }],
    [404, { messages: [{ id: 'r', role: 'tool', toolCallId: 'x', content: 'y' }] }],
  ]
  for (const [status, given] of bodies) {
    const response = await ask(server, '/ag-ui/desk', { body: { threadId: 'new', runId: 'r', ...given } })
    expect([response.status, JSON.stringify(given).slice(0, 200)]).toEqual([
      status,
      JSON.stringify(given).slice(0, 200),
    ])
  }
  expect((await ask(server, '/ag-ui/nope', { body })).status).toBe(404)
})
