import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import type { Frame } from '../served.ts'
import { ask, executed, framesIn, refund, serverOf } from '../served.ts'

test('execute streams the events of a run, then execute_complete with its status', async () => {
  const server = serverOf([{ text: ['Hel', 'lo'] }])
  const { id, frames, types, last } = await executed(server, { input: 'Hi' })
  expect(types).toEqual([
    'agent.start',
    'turn.start',
    'message.start',
    'message.end',
    'step.start',
    'message.start',
    'text.start',
    'text.delta',
    'text.end',
    'message.end',
    'turn.mode',
    'step.end',
    'turn.end',
    'agent.end',
    'execute_complete',
  ])
  const deltas = frames.flatMap(({ data }) => (data.type === 'text.delta' ? [data.delta] : []))
  expect(deltas.join('')).toBe('Hello')
  expect(last).toMatchObject({ sessionId: id, status: 'completed', text: 'Hello' })
  expect(frames.every(({ event, data }) => event === data.type)).toBe(true)
  const seqs = frames.flatMap(({ data }) => ('seq' in data ? [data.seq] : []))
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
})

test('a second input continues the session, and GET returns its messages', async () => {
  const server = serverOf([{ text: 'one' }, { text: 'two' }])
  const { id } = await executed(server, { input: 'first' })
  await executed(server, { sessionId: id, input: 'second' })
  const response = await ask(server, `/api/agent/session/${id}`)
  expect(response.status).toBe(200)
  const { messages, status } = await response.json()
  expect(status).toBe('idle')
  expect(messages.map(({ content }: { content: { text: string }[] }) => content[0]?.text)).toEqual([
    'first',
    'one',
    'second',
    'two',
  ])
})

test('GET returns the model, usage, cost and pending work of a session', async () => {
  const store = memoryStore()
  const usage = { inputTokens: 100, outputTokens: 10 }
  const steps = [
    { toolCalls: [{ name: 'refund', input: { amount: 80 } }], usage },
    { text: 'done', usage },
  ]
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel(steps),
    tools: [refund],
    store,
    prices: { 'scripted/scripted-model': { input: 1, output: 10 } },
  })
  const server = serverOf([], { agents: [agent], store })
  const { id } = await executed(server, { input: 'first' })
  const { pending, ...waiting } = await (await ask(server, `/api/agent/session/${id}`)).json()
  expect(waiting).toMatchObject({ model: 'scripted/scripted-model', usage, cost: 0.0002 })
  expect(pending.approvals).toMatchObject([{ toolName: 'refund', input: { amount: 80 } }])
  const decided = { sessionId: id, approvals: [{ id: pending.approvals[0].id, decision: 'approve' }] }
  expect((await executed(server, decided)).last.status).toBe('completed')
  const ended = await (await ask(server, `/api/agent/session/${id}`)).json()
  expect(ended).toMatchObject({ status: 'idle', usage: { inputTokens: 200, outputTokens: 20 }, cost: 0.0004 })
})

test('a reader that reconnects with the id of any event receives each durable event after it once', async () => {
  const server = serverOf([
    { text: ['a', 'b'], toolCalls: [{ name: 'refund', input: { amount: 1 } }] },
    { text: 'done' },
  ])
  const { id, frames } = await executed(server, { input: 'x' })
  const lasting = frames.filter((frame) => frame.id?.includes('.') === true).map((frame) => frame.id)
  expect(lasting.length).toBeGreaterThan(8)
  for (const frame of frames.slice(0, -1)) {
    if (frame.id === undefined) continue
    const response = await ask(server, `/api/agent/session/${id}/events`, { headers: { 'last-event-id': frame.id } })
    const again = framesIn(await response.text())
    const lastingIn = (some: readonly Frame[]): readonly unknown[] =>
      some.flatMap((one) => (one.id?.includes('.') === true ? [one.id] : []))
    expect(lastingIn(again)).toEqual(lastingIn(frames.slice(frames.indexOf(frame) + 1)))
    expect(again.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed', text: 'done' })
  }
})

test('a run that fails is one agent.error with its source, also for a client that reads later', async () => {
  const server = serverOf([{ error: Object.assign(new Error('wrong key'), { status: 401 }) }])
  const { id, last, frames } = await executed(server, { input: 'hi' })
  expect(last.status).toBe('failed')
  const response = await ask(server, `/api/agent/session/${id}/events`)
  for (const read of [frames, framesIn(await response.text())]) {
    const errors = read.filter(({ data }) => data.type === 'agent.error')
    expect(errors).toMatchObject([{ data: { error: { code: 'auth' }, source: { kind: 'model' } } }])
  }
})

test('an approval suspends the run; a decision resumes it and streams the rest', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }])
  const { id, last } = await executed(server, { input: 'refund' })
  expect(last.status).toBe('suspended')
  const [approval] = last.pending.approvals
  expect(approval).toMatchObject({ toolName: 'refund', input: { amount: 80 } })
  const busy = await ask(server, '/api/agent/execute', { body: { sessionId: id, input: 'more' } })
  expect(busy.status).toBe(409)
  const after = await executed(server, { sessionId: id, approvals: [{ id: approval?.id, decision: 'approve' }] })
  expect(after.last).toMatchObject({ status: 'completed', text: 'done' })
  expect(after.types).toContain('tool.approval.resolved')
  expect(after.types).not.toContain('tool.approval.requested')
  const twice = await ask(server, `/api/agent/session/${id}/approvals`, {
    body: { approvals: [{ id: approval?.id, decision: 'deny' }] },
  })
  expect(twice.status).toBeGreaterThanOrEqual(400)
  expect(twice.status).toBeLessThan(500)
})

test('a tool of the client can fail, and a result has an output or an error', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'clock', input: {} }] }, { text: 'sorry' }])
  const tools = [{ name: 'clock', description: 'tells the time', inputSchema: { type: 'object', properties: {} } }]
  const { id, last } = await executed(server, { input: 'time?', tools })
  const callId = last.pending.remoteCalls[0]?.callId
  const error = { message: 'no battery', code: 'no-battery' }
  const invalid = [
    { callId },
    { callId, output: 1, error },
    { callId, error: { code: 'x' } },
    { callId, error: { message: 'x'.repeat(10_001) } },
    { callId, error: { message: 'x', code: 'x'.repeat(101) } },
    { callId, error: { message: 'x', stack: 'y' } },
  ]
  for (const result of invalid) {
    for (const path of ['/api/agent/execute', `/api/agent/session/${id}/tool-results`]) {
      const body = { ...(path.endsWith('execute') && { sessionId: id }), toolResults: [result] }
      const response = await ask(server, path, { body })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('toolResults.0')
    }
  }
  const after = await executed(server, { sessionId: id, toolResults: [{ callId, error }] })
  expect(after.last).toMatchObject({ status: 'completed', text: 'sorry' })
  expect(after.frames.filter(({ data }) => data.type === 'tool.execute.error')).toMatchObject([
    { data: { error: { code: 'no-battery' } } },
  ])
  expect(after.types).not.toContain('tool.execute.end')
})

test('a tool of the client suspends the run until its result arrives, which is labelled untrusted', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'clock', input: {} }] }, { text: 'noon' }])
  const tools = [{ name: 'clock', description: 'tells the time', inputSchema: { type: 'object', properties: {} } }]
  const { id, last } = await executed(server, { input: 'time?', tools })
  expect(last).toMatchObject({ status: 'suspended', pending: { remoteCalls: [{ toolName: 'clock' }] } })
  const callId = last.pending.remoteCalls[0]?.callId
  const after = await executed(server, { sessionId: id, toolResults: [{ callId, output: '12:00' }] })
  expect(after.last).toMatchObject({ status: 'completed', text: 'noon' })
  const end = after.frames.find(({ data }) => data.type === 'tool.execute.end')?.data
  expect(end).toMatchObject({ toolName: 'clock', output: { value: '12:00' }, label: { integrity: 'untrusted' } })
})
