import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, RunState } from '@provost/agent'
import type { Message, SessionStore } from '@provost/core'
import { textOf } from '@provost/core'
import { forkSession, jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let folder: string
let opened: SessionStore[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'provost-agent-'))
})
afterEach(async () => {
  for (const store of opened) await store.close()
  opened = []
  rmSync(folder, { recursive: true })
})

function keep(store: SessionStore): SessionStore {
  opened.push(store)
  return store
}

/** Says what it was sent, so that a test sees it. */
function echo() {
  return scriptedModel([({ messages }) => ({ text: messages.map(({ role }) => role).join(' ') })], {
    after: 'repeat-last',
  })
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function messagesOf(store: SessionStore, log: string): Promise<readonly Message[]> {
  const messages: Message[] = []
  for await (const entry of store.read(log)) if (entry.type === 'message') messages.push(entry.message)
  return messages
}

const stores: Readonly<Record<string, () => SessionStore>> = {
  jsonlStore: () => jsonlStore(join(folder, 'sessions')),
  sqliteStore: () => sqliteStore(join(folder, 'sessions.db')),
}

describe.each(Object.entries(stores))('an agent with a %s', (_, open) => {
  test('continues with a session after the store was closed and opened again', async () => {
    const first = open()
    const { sessionId } = await createAgent({ name: 'desk', model: echo(), store: first }).run('Hello!')
    await first.close()
    const again = createAgent({ name: 'desk', model: echo(), store: keep(open()) })
    const result = await again.run('And again?', { sessionId })
    expect(result).toMatchObject({ status: 'completed', text: 'user assistant user' })
  })

  test('resumes a suspended run elsewhere from its state, which is a cursor and no copy', async () => {
    const sent: string[] = []
    const pay = tool({
      name: 'pay',
      input: { type: 'object' },
      needsApproval: () => true,
      execute: () => {
        sent.push('paid')
        return 'paid'
      },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'Done.' }])
    const first = open()
    const agent = createAgent({ name: 'desk', model, tools: [pay], store: first })
    const suspended = await agent.run('Pay it.')
    expect(suspended.status).toBe('suspended')
    const state: unknown = JSON.parse(JSON.stringify(suspended.state))
    expect(state).not.toHaveProperty('entries')
    await first.close()
    const other = createAgent({ name: 'desk', model, tools: [pay], store: keep(open()) })
    const [approval] = suspended.pending.approvals
    const decision = { id: approval?.id ?? '', decision: 'approve' } as const
    const resume = () => other.run(RunState.fromJSON(state, other), { approvals: [decision] })
    expect(await resume()).toMatchObject({ status: 'completed', text: 'Done.' })
    await resume()
    expect(sent).toEqual(['paid'])
  })
})

describe('a forked session', () => {
  test('continues by itself from the last turn, and the original by itself', async () => {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: echo(), store })
    const { sessionId } = await agent.run('One.')
    await agent.run('Two.', { sessionId })
    const fork = await forkSession(store, sessionId)
    expect((await agent.run('Three.', { sessionId: fork.sessionId })).text).toBe('user assistant user assistant user')
    expect((await messagesOf(store, sessionId)).length).toBe(4)
    expect((await agent.run('Three, too.', { sessionId })).text).toBe('user assistant user assistant user')
    await store.delete(fork.sessionId)
    expect((await messagesOf(store, sessionId)).length).toBe(6)
  })

  test('ends with the turn that holds a message', async () => {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: echo(), store })
    const { sessionId, messages } = await agent.run('One.')
    await agent.run('Two.', { sessionId })
    const at = messages[0]?.id ?? ''
    const fork = await forkSession(store, sessionId, { at, id: 'branch', principal: { id: 'ann' } })
    expect(fork.sessionId).toBe('branch')
    expect((await messagesOf(store, 'branch')).map(textOf)).toEqual(['One.', 'user'])
    const rows = await all(store.list({ principal: 'ann' }))
    expect(rows).toMatchObject([{ id: 'branch', agent: 'desk', status: 'idle' }])
  })

  test('can end between the turns of one run, and is over there', async () => {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: echo(), store })
    const stream = agent.stream('One.')
    stream.followUp('Two.')
    const { sessionId, messages } = await stream.result
    expect(messages).toHaveLength(4)
    const fork = await forkSession(store, sessionId, { at: messages[1]?.id ?? '' })
    expect((await messagesOf(store, fork.sessionId)).map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await agent.run('Other.', { sessionId: fork.sessionId })).text).toBe('user assistant user')
  })

  test('has the results of calls, but neither waits nor decisions nor authority nor the bill', async () => {
    const store = memoryStore()
    const pay = tool({ name: 'pay', input: { type: 'object' }, needsApproval: () => true, execute: () => 'paid' })
    const usage = { inputTokens: 5, outputTokens: 5 }
    const model = scriptedModel([
      { toolCalls: [{ name: 'pay', input: {} }], usage },
      { text: 'Done.', usage },
      { text: 'Welcome.' },
    ])
    const agent = createAgent({ name: 'desk', model, tools: [pay], store })
    const stream = agent.stream('Pay it.', {
      principal: { id: 'ann' },
      onApproval: async ({ id }) => ({ id, decision: 'approve', sticky: 'session' }),
    })
    const { sessionId } = await stream.result
    const fork = await forkSession(store, sessionId)
    const entries = await all(store.read(fork.sessionId))
    const types = new Set<string>(entries.map(({ type }) => type))
    for (const left of ['wait', 'resolved', 'attempt', 'child', 'audit']) expect(types).not.toContain(left)
    expect(JSON.stringify(entries)).not.toContain('ann')
    expect(entries.at(-1)).toMatchObject({ type: 'ext', key: 'forked-from', data: { sessionId } })
    const next = await agent.run('Thanks.', { sessionId: fork.sessionId })
    expect(next).toMatchObject({ status: 'completed' })
    const state = await all(store.read(fork.sessionId))
    expect(state.some((entry) => entry.type === 'call' && entry.op === 'settled')).toBe(true)
    assertWellFormed(next.messages)
  })

  test('says why there is none', async () => {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: echo(), store })
    const { sessionId } = await agent.run('One.')
    await expect(forkSession(store, 'nowhere')).rejects.toMatchObject({ code: 'unknown-session' })
    await expect(forkSession(store, sessionId, { at: 'no message' })).rejects.toMatchObject({ code: 'unknown-message' })
    await expect(forkSession(store, sessionId, { id: sessionId })).rejects.toMatchObject({ code: 'session-exists' })
    const waits = tool({ name: 'ask', input: { type: 'object' } })
    const model = scriptedModel([{ toolCalls: [{ name: 'ask', input: {} }] }])
    const suspended = await createAgent({ name: 'asker', model, tools: [waits], store }).run('Ask.')
    await expect(forkSession(store, suspended.sessionId)).rejects.toMatchObject({ code: 'no-turn' })
  })
})
