import { expect, test } from 'vitest'

import { ask, executed, framesIn, serverOf } from '../served.ts'

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

test('a reader that reconnects with the id of any event receives each durable event after it once', async () => {
  const server = serverOf([
    { text: ['a', 'b'], toolCalls: [{ name: 'refund', input: { amount: 1 } }] },
    { text: 'done' },
  ])
  const { id, frames } = await executed(server, { input: 'x' })
  const lasting = frames.filter((frame) => frame.id?.includes('.') === true).map((frame) => frame.id)
  expect(lasting.length).toBeGreaterThan(8)
  for (const frame of frames) {
    if (frame.id === undefined) continue
    const response = await ask(server, `/api/agent/session/${id}/events`, { headers: { 'last-event-id': frame.id } })
    const again = framesIn(await response.text())
    const expected = frames.slice(frames.indexOf(frame) + 1).filter((one) => one.id?.includes('.') === true)
    expect(again.flatMap((one) => (one.id === undefined ? [] : [one.id]))).toEqual(expected.map((one) => one.id))
    expect(again.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed', text: 'done' })
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
