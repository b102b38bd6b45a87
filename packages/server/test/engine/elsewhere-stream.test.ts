import { createServer } from '@provost/server'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, framesIn } from '../served.ts'
import { agentOf, callsOnce, childOf, fileStore, grant, workerOf } from './elsewhere-scenario.ts'

/** A server and a worker on one store; a client can follow the run of the lead, and answer what its child asks. */
function placeOf(needsApproval: boolean) {
  const store = fileStore()
  const pay = tool({
    name: 'pay',
    effect: 'write',
    needsApproval: () => needsApproval,
    input: z.object({}),
    execute: () => 'paid',
  })
  const clerk = agentOf('clerk', store, callsOnce('pay', {}), { tools: [pay] })
  const askClerk = clerk.toTool({ name: 'ask_clerk', description: 'Asks.', where: 'any', grant })
  const lead = agentOf('lead', store, callsOnce('ask_clerk', { task: 'Pay.' }), { tools: [askClerk] })
  const server = createServer({
    agents: [lead, clerk],
    store,
    pollMs: 5,
    authenticate: () => ({ id: 'ann' }),
    operator: () => true,
    approvals: { by: 'requester' },
  })
  onTestFinished(() => server.close({ graceMs: 0 }))
  workerOf(store, [lead, clerk])
  return { server, store }
}

test('the stream of a run has the events of a child elsewhere, and ends with the run', async () => {
  const { server } = placeOf(false)
  const { frames, last } = await executed(server, { input: 'Pay.', agent: 'lead' })
  expect(last).toMatchObject({ status: 'completed', text: expect.stringContaining('paid') })
  const own = frames.flatMap(({ data }) => ('runId' in data && data.type === 'agent.start' ? [data] : []))
  expect(own.map(({ agent, parents }) => [agent, parents])).toEqual([
    ['lead', []],
    ['clerk', [own[0]?.runId]],
  ])
  const ofChild = frames.filter(({ data }) => 'runId' in data && data.runId === own[1]?.runId)
  expect(ofChild.map(({ data }) => data.type)).toEqual(
    expect.arrayContaining(['tool.execute.start', 'tool.execute.end', 'agent.end']),
  )
  // What is durable comes once, and the end of the child before that of its parent.
  const ids = frames.flatMap(({ data }) => ('id' in data && !data.id.includes('~') ? [data.id] : []))
  expect(new Set(ids).size).toBe(ids.length)
  const ends = frames.flatMap(({ data }) =>
    data.type === 'agent.end' && data.status === 'completed' ? [data.agent] : [],
  )
  expect(ends).toEqual(['clerk', 'lead'])
})

test('the stream of a run ends when its children elsewhere wait for an approval, which is answered at the run', async () => {
  const { server } = placeOf(true)
  const { id, last } = await executed(server, { input: 'Pay.', agent: 'lead' })
  expect(last).toMatchObject({ status: 'suspended', pending: { approvals: [{ toolName: 'pay', agent: 'clerk' }] } })
  const [approval] = last.pending?.approvals ?? []
  const waits = await (await ask(server, '/api/waits')).json()
  expect(JSON.stringify(waits)).toContain(approval?.id)
  const answered = await ask(server, `/api/agent/session/${id}/approvals`, {
    body: { approvals: [{ id: approval?.id, decision: 'approve' }] },
  })
  expect([200, 202, 204]).toContain(answered.status)
  const followed = await ask(server, `/api/agent/session/${id}/events`)
  const frames = framesIn(await followed.text())
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed' })
})

test('the session of a child elsewhere is read as any other, and takes no input', async () => {
  const { server, store } = placeOf(false)
  const { id } = await executed(server, { input: 'Pay.', agent: 'lead' })
  const { log } = await childOf(store, id)
  const path = `/api/agent/session/${encodeURIComponent(log)}`
  const session = await (await ask(server, path)).json()
  expect(session).toMatchObject({ agent: 'clerk', status: 'idle' })
  const frames = framesIn(await (await ask(server, `${path}/events`)).text())
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute_complete', status: 'completed' })
  expect((await ask(server, '/api/agent/execute', { body: { input: 'Again.', sessionId: log } })).status).toBe(409)
})
