import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { ask, rawFrames, serverOf } from '../served.ts'

const body = { input: 'Refund it.' }
const asked = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }

/** Runs the agent once and returns the path of its events, with the id of each frame that it sent. */
async function ran(server: ReturnType<typeof serverOf>) {
  const response = await ask(server, '/api/agent/execute', { body })
  const id = response.headers.get('x-session-id') ?? ''
  await response.text()
  const path = `/api/agent/session/${id}/events`
  const ids = rawFrames(await (await ask(server, path)).text()).map((frame) => frame.id ?? '')
  return { id, path, ids }
}

const after = (id: string | undefined) => ({ headers: { 'last-event-id': id ?? '' } })

test('an EventSource that received everything is told to stop: 204', async () => {
  const server = serverOf([{ text: 'Hello.' }])
  const { path, ids } = await ran(server)
  expect(ids.at(-1)).toMatch(/ complete$/u)
  const again = await ask(server, path, after(ids.at(-1)))
  expect(again.status).toBe(204)
})

test('a reader that missed the end receives it again, with the same id', async () => {
  const server = serverOf([{ text: 'Hello.' }])
  const { path, ids } = await ran(server)
  const again = await ask(server, path, after(ids.at(-2)))
  expect(again.status).toBe(200)
  const frames = rawFrames(await again.text())
  expect(frames.map(({ event, id }) => [event, id])).toEqual([['execute_complete', ids.at(-1)]])
})

test('a session that has gone on since is streamed, not ended', async () => {
  const store = memoryStore()
  const server = serverOf([asked, { text: 'Done.' }], { store })
  const { id, path, ids } = await ran(server)
  expect((await ask(server, path, after(ids.at(-1)))).status).toBe(204)
  const { pending } = await (await ask(server, `/api/agent/session/${id}`)).json()
  const approvals = [{ id: pending.approvals[0].id, decision: 'approve' }]
  await ask(server, `/api/agent/session/${id}/approvals`, { body: { approvals } })
  const rest = await ask(server, path, after(ids.at(-1)))
  expect(rest.status).toBe(200)
  const events = rawFrames(await rest.text()).map(({ event }) => event)
  expect(events).toContain('tool.execute.end')
  expect(events.at(-1)).toBe('execute_complete')
})

test('an id that the log does not have is refused', async () => {
  const server = serverOf([{ text: 'Hello.' }])
  const { path } = await ran(server)
  for (const beyond of ['99999.0', '99999~0', '99999.0 complete']) {
    const response = await ask(server, path, after(beyond))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid-event-id' } })
  }
})
