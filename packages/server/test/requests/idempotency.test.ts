import { createAgent } from '@provost/agent'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'

import { ask, executed, framesIn, serverOf } from '../served.ts'

const keyed = { headers: { 'idempotency-key': 'k' } }

/** A server whose agent pays what is approved, calls the client tool `clock`, then answers. */
function cashier(store = memoryStore()): { server: ReturnType<typeof createServer>; paid: number[] } {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    needsApproval: true,
    input: z.object({ n: z.number() }),
    execute: ({ n }) => `paid ${paid.push(n)}`,
  })
  const clock = tool({ name: 'clock', input: z.object({}) })
  const model = scriptedModel([
    { toolCalls: [{ name: 'pay', input: { n: 7 } }] },
    { toolCalls: [{ name: 'clock', input: {} }] },
    { text: 'done' },
    { text: 'once more' },
  ])
  const agent = createAgent({ name: 'cashier', model, tools: [pay, clock], store })
  return { server: createServer({ agents: [agent], store }), paid }
}

test('a decision with an Idempotency-Key applies once, and a repeated request gets the same response from any process', async () => {
  const store = memoryStore()
  const { server, paid } = cashier(store)
  const there = cashier(store).server
  const { id, last } = await executed(server, { input: 'pay' })
  const [approval] = last.pending.approvals
  const decide = async (to: typeof server, decision: string, headers: Record<string, string>): Promise<number> => {
    const body = { approvals: [{ id: approval?.id, decision }] }
    return (await ask(to, `/api/agent/session/${id}/approvals`, { body, headers })).status
  }
  expect(await decide(server, 'approve', keyed.headers)).toBe(202)
  await (await ask(server, `/api/agent/session/${id}/events`)).text()
  expect([await decide(server, 'approve', keyed.headers), await decide(there, 'approve', keyed.headers)]).toEqual([
    202, 202,
  ])
  expect(await decide(there, 'deny', keyed.headers)).toBe(422)
  const late = await decide(server, 'deny', { 'idempotency-key': 'other' })
  expect(late).toBeGreaterThanOrEqual(400)
  expect(await decide(there, 'deny', { 'idempotency-key': 'other' })).toBe(late)
  expect(paid).toEqual([7])
  const { pending } = await (await ask(server, `/api/agent/session/${id}`)).json()
  const results = { toolResults: [{ callId: pending.remoteCalls[0].callId, output: 'noon' }] }
  const give = async (): Promise<number> =>
    (await ask(server, `/api/agent/session/${id}/tool-results`, { body: results, headers: { 'idempotency-key': 'r' } }))
      .status
  expect(await give()).toBe(202)
  await (await ask(server, `/api/agent/session/${id}/events`)).text()
  expect(await give()).toBe(202)
  // The same for decisions that come with execute.
  const again = await ask(server, '/api/agent/execute', {
    body: { sessionId: id, ...results },
    headers: { 'idempotency-key': 'r' },
  })
  expect(framesIn(await again.text()).at(-1)?.data).toMatchObject({ status: 'completed', text: 'done' })
  const { messages } = await (await ask(server, `/api/agent/session/${id}`)).json()
  expect(messages.filter(({ role }: { role: string }) => role === 'tool')).toHaveLength(2)
})

test('a chat message with an Idempotency-Key is sent once, and a repeated request leaves the pending approval pending', async () => {
  const { server, paid } = cashier()
  const said = (text: string, key: string): Promise<string> =>
    ask(server, '/api/chat', {
      body: { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] },
      headers: { 'idempotency-key': key },
    }).then((response) => response.text())
  const first = await said('pay', 'k')
  expect(first).toContain('tool-approval-request')
  expect(await said('pay', 'k')).toContain('tool-approval-request')
  expect(paid).toEqual([])
  const sessions = await (await ask(server, '/api/agent/sessions')).json()
  expect(sessions.sessions).toMatchObject([{ status: 'suspended' }])
  // Another key is a new message, which aborts the run of the pending call.
  await said('never mind', 'l')
  const { messages } = await (await ask(server, `/api/agent/session/${sessions.sessions[0].id}`)).json()
  expect(
    messages.flatMap(({ role, content }: { role: string; content: { text?: string }[] }) =>
      role === 'user' ? content.map(({ text }) => text) : [],
    ),
  ).toEqual(['pay', 'never mind'])
  expect(paid).toEqual([])
})

test('a chunked body is accepted and limited like one with content-length', async () => {
  const server = serverOf([{ text: 'x' }], { limits: { bodyBytes: 1_000 } })
  const send = (text: string, path: string): Promise<Response> => {
    const body = new Blob([text]).stream()
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
    // The types of `fetch` have no chunked body.
    const init = { method: 'POST', headers, body, duplex: 'half' }
    return Promise.resolve(server.fetch(new Request(`http://localhost${path}`, init)))
  }
  expect((await send('{"input":"x"}', '/api/agent/execute')).status).toBe(200)
  for (const path of ['/api/agent/execute', '/mcp', '/a2a/desk']) {
    const response = await send(JSON.stringify({ input: 'x'.repeat(2_000) }), path)
    expect([path, response.status]).toEqual([path, 413])
  }
})

test('an input whose process dies before the first entry of its run enters with the repeated request', async () => {
  const shared = memoryStore()
  const dead = Promise.withResolvers<never>()
  /** The store of a process that dies when its run takes the lease. */
  let leases = 0
  const dying: typeof shared = {
    ...shared,
    lease: (...asked) => (++leases === 1 ? shared.lease(...asked) : dead.promise),
  }
  const execute = (to: ReturnType<typeof createServer>): Promise<Response> =>
    ask(to, '/api/agent/execute', { body: { input: 'pay' }, ...keyed })
  void execute(cashier(dying).server).catch(() => {})
  await vi.waitFor(() => expect(leases).toBe(2))
  const { server } = cashier(shared)
  const frames = framesIn(await (await execute(server)).text())
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'suspended' })
  const again = framesIn(await (await execute(server)).text())
  expect(again.filter(({ data }) => data.type === 'agent.start')).toHaveLength(1)
})
