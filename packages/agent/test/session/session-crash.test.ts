import type { Delivery, Entry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { lines, say, transcript } from '../hooks/hook-scenario.ts'
import { readLog } from '../run/run-check.ts'
import { gate, pay, payTool, world } from './session-world.ts'

/** What a process that dies leaves behind: the first entries of a log, and the whole inbox. */
async function remains(entries: readonly Entry[], inbox: readonly Delivery[]): Promise<SessionStore> {
  const { ephemeral: _, ...store } = memoryStore()
  const lease = await store.lease('s', 'the dead', 1000)
  if (lease === 'busy') throw new Error('busy')
  await store.append('s', entries, { after: 0, fence: lease.fence })
  await store.release('s', lease.fence)
  for (const { token, value, by } of inbox) await store.deliver('s', token, value, by)
  return store
}

test('killed after any append: what was said enters once, and every decision counts once', async () => {
  const { ephemeral: _, ...kept } = memoryStore()
  /** Where the log stood after each append: in between, no process can die. */
  const ends: number[] = []
  const store: SessionStore = {
    ...kept,
    async append(log, entries, at) {
      const appended = await kept.append(log, entries, at)
      ends.push(appended.offset)
      return appended
    },
  }
  const work = gate()
  const looked: string[] = []
  const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => looked.push('x') })
  const { tool: payment, done } = payTool()
  const script = [
    { toolCalls: [{ name: 'work' }] },
    { toolCalls: [{ name: 'look' }, pay(5)] },
    { text: 'Paid.' },
    { text: 'And that.' },
  ]
  const { agent } = world(script, { tools: [work.tool, look, payment], store })
  const session = await agent.createSession({ id: 's' })
  session.send('go')
  await work.entered
  session.send('first look', { mode: 'steer' })
  session.send('and that', { mode: 'queue' })
  work.open()
  await session.waitForIdle()
  await session.resolve({ approvals: [{ id: session.pending.approvals[0]?.id ?? '', decision: 'approve' }] })
  await session.waitForIdle()
  const entries = await readLog(store, 's')
  const inbox: Delivery[] = []
  for await (const delivery of store.inbox('s')) inbox.push(delivery)
  expect(inbox).toHaveLength(4)
  expect(done).toEqual([5])

  expect(ends.length).toBeGreaterThan(8)
  // The first one claims the id.
  for (const length of ends.slice(1)) {
    const left = await remains(entries.slice(0, length), inbox)
    done.length = 0
    const paidBefore = entries
      .slice(0, length)
      .some((one) => one.type === 'call' && one.op === 'started' && one.callId.endsWith('2/call/1'))
    const answered = entries.slice(0, length).filter((one) => one.type === 'message' && one.via === 'model').length
    const again = world([...script.slice(answered), { text: 'The end.' }], {
      tools: [work.tool, look, payment],
      store: left,
    })
    const opened = await again.agent.resumeSession('s')
    // The tools that may have run do not run again: a decision states that they have.
    opened.on('tool.uncertain', async ({ callId }) =>
      opened.resolve({ uncertain: [{ callId, decision: 'done', output: 'done' }] }),
    )
    if (opened.status === 'suspended') await opened.resume().result
    await opened.waitForIdle()
    opened.send('last')
    await opened.waitForIdle()
    const said = transcript(opened.messages).filter((line) => line.startsWith('user'))
    const expected = ['user: go', 'user: first look', 'user: and that', 'user: last']
    expect(said.toSorted(), `after ${length} of ${entries.length} entries`).toEqual(expected.toSorted())
    expect(done.length + Number(paidBefore), `after ${length} of ${entries.length} entries`).toBeLessThanOrEqual(1)
    assertWellFormed(opened.messages)
  }
})

describe('getSteering', () => {
  const ask = (n: number) => Array.from({ length: n }, (_, i) => say(`${i}`))
  test.each([
    ['one tool at a time', { maxParallelTools: 1 }, undefined],
    ['tools that run alone', {}, 'sequential' as const],
  ])('is asked between any two tools, with %s; the rest are skipped', async (_, options, executionMode) => {
    const ran: string[] = []
    const echo = tool({
      name: 'echo',
      input: z.object({ value: z.string() }),
      ...(executionMode && { executionMode }),
      execute: ({ value }) => `${ran.push(value)}`,
    })
    const { agent, asked } = world([{ toolCalls: ask(4) }, { text: 'Done.' }], { tools: [echo], ...options })
    const session = await agent.createSession()
    const result = await session.stream('go', {
      getSteering: () => (ran.length === 2 ? [`stop ${ran.push('asked')}`] : []),
    }).result
    expect(result.status).toBe('completed')
    expect(ran).toEqual(['0', '1', 'asked'])
    expect(lines(asked[1] ?? { messages: [] }).slice(-2)).toEqual([
      `tool: [echo → 1] [echo → 2] ${'[echo → Skipped: the user said something new first.] '.repeat(2).trim()}`,
      'user: stop 3',
    ])
  })

  test('and getFollowUp work in a session as anywhere', async () => {
    const words = ['and then']
    const { agent } = world([{ text: 'one' }, { text: 'two' }])
    const session = await agent.createSession()
    const { text } = await session.stream('go', { getFollowUp: () => words.splice(0) }).result
    expect(text).toBe('two')
  })
})
