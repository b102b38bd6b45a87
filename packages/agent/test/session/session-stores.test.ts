import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

import type { SessionInfo, SessionStore } from '@provost/core'
import { jsonlStore, sqliteStore } from '@provost/sessions'
import { afterAll, describe, expect, test } from 'vitest'

import { echo, lines, say, transcript } from '../hooks/hook-scenario.ts'
import { gate, pay, payTool, world } from './session-world.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-session-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function listed(store: SessionStore): Promise<readonly SessionInfo[]> {
  const rows: SessionInfo[] = []
  for await (const row of store.list()) rows.push(row)
  return rows
}

describe.each<[string, (name: string) => SessionStore]>([
  ['JSON lines', (name) => jsonlStore(join(folder, `${name}.jsonl`))],
  ['SQLite', (name) => sqliteStore(join(folder, `${name}.db`), { pollMs: 2 })],
])('in %s', (_, open) => {
  test('a session is listed from its creation, and continues after the store was closed', async () => {
    const { tool, done } = payTool()
    const first = open('life')
    const one = world([{ toolCalls: [say('x')] }, { toolCalls: [pay(5)] }], { tools: [tool, echo], store: first })
    const session = await one.agent.createSession({ id: 's', principal: { id: 'ann' } })
    const row = { id: 's', agent: 'a', principal: 'ann', updatedAt: expect.any(Number) }
    expect(await listed(first)).toEqual([{ ...row, status: 'idle' }])
    session.send('go')
    expect((await session.waitForIdle())?.status).toBe('suspended')
    session.send('And then?')
    await session.close()
    expect(await listed(first)).toEqual([{ ...row, status: 'suspended' }])
    await first.close()

    const second = open('life')
    const two = world([{ text: 'Paid.' }, { text: 'Then that.' }], { tools: [tool, echo], store: second })
    const again = await two.agent.resumeSession('s')
    const [approval] = again.pending.approvals
    await again.resolve({ approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect((await again.waitForIdle())?.text).toBe('Then that.')
    expect(transcript(again.messages).slice(-3)).toEqual([
      'assistant: Paid.',
      'user: And then?',
      'assistant: Then that.',
    ])
    expect(done).toEqual([5])
    const branch = await again.fork()
    expect(await listed(second)).toHaveLength(2)
    expect(transcript(branch.messages)).toEqual(transcript(again.messages))
    await second.close()
  })
})

test('two stores over one SQLite file: words and decisions of one reach the run of the other', async () => {
  const path = join(folder, 'two.db')
  const [near, far] = [sqliteStore(path, { pollMs: 2 }), sqliteStore(path, { pollMs: 2 })]
  const work = gate()
  const { tool, done } = payTool()
  const tools = [work.tool, echo, tool]
  const here = world([{ toolCalls: [{ name: 'work' }, say('never')] }, { toolCalls: [pay(5)] }, { text: 'Done.' }], {
    tools,
    maxParallelTools: 1,
    store: near,
  })
  const asked = Promise.withResolvers<string>()
  const session = await here.agent.createSession({
    id: 's',
    onApproval: ({ id }) => {
      asked.resolve(id)
      return new Promise(() => {})
    },
  })
  session.send('go')
  await work.entered
  const there = await world([], { tools, store: far }).agent.resumeSession('s')
  const stop = new AbortController()
  const news = near.watch('s', stop.signal)[Symbol.asyncIterator]().next()
  there.send('No, pay.', { mode: 'steer' })
  await there.waitForIdle()
  // The run hears of it as the test does.
  await news
  stop.abort()
  await setImmediate()
  work.open()
  await there.resolve({ approvals: [{ id: await asked.promise, decision: 'approve', by: 'bob' }] })
  expect((await session.waitForIdle())?.text).toBe('Done.')
  expect(lines(here.asked[1] ?? { messages: [] }).at(-1)).toBe('user: No, pay.')
  expect(done).toEqual([5])
  await Promise.all([near.close(), far.close()])
})
