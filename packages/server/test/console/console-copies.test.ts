import type { Agent } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import { systemClock } from '@provost/core'
import { approvalPolicy, eraseSession } from '@provost/governance'
import { createWorker } from '@provost/server'
import {
  accessAnswer,
  compareAnswer,
  entriesAnswer,
  forkAnswer,
  rulesAnswer,
  stateAnswer,
  whatIfAnswer,
} from '@provost/server/console'
import { auditLogOf, forkSession, memoryStore, pruneSessions } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { refusal } from '../approvals/approval-scenario.ts'
import { ask, executed, refund } from '../served.ts'
import { consoleServer, got } from './console-scenario.ts'

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

const small = { toolCalls: [{ name: 'refund', input: { amount: 5 } }] }

describe('POST /api/console/session/{id}/fork', () => {
  test('continues the turn at an entry with another result and another model', async () => {
    const other = scriptedModel([({ messages }) => ({ text: `other: ${JSON.stringify(messages.at(-1)?.content)}` })])
    const { server, store } = consoleServer([small, { text: 'done' }], { requestOptions: { models: { other } } })
    const { id } = await executed(server, { input: 'refund 5' })
    const settled = (await entriesOf(store, id)).find((entry) => entry.type === 'call' && entry.op === 'settled')
    if (settled?.type !== 'call') throw new Error('no result')
    const fork = await got(server, `session/${id}/fork`, forkAnswer, 'olga', {
      ...{ at: settled.offset, unfinished: 'continue', model: 'other' },
      results: [{ callId: settled.callId, output: 'the till is empty' }],
    })
    expect(fork.offset).toBe(settled.offset)
    const answered = async (): Promise<string> => JSON.stringify(await entriesOf(store, fork.sessionId))
    await expect.poll(answered).toContain('other: ')
    expect(await answered()).toContain('the till is empty')
    expect(await answered()).not.toContain('refunded 5')
    const audit = (await entriesOf(store, fork.sessionId)).find(({ type }) => type === 'audit')
    expect(audit).toMatchObject({
      ...{ by: 'olga', rule: 'console-fork' },
      evidence: {
        sessionId: id,
        at: settled.offset,
        unfinished: 'continue',
        model: 'other',
        results: [settled.callId],
      },
    })
    await server.close()
  })

  test('refuses models that requests may not use, and results of other steps', async () => {
    const { server } = consoleServer([{ text: 'done' }])
    const { id } = await executed(server, { input: 'hello' })
    const path = `/api/console/session/${id}/fork`
    for (const [body, code] of [
      [{ model: 'other' }, 'invalid-option'],
      [{ at: 3, unfinished: 'end', results: [{ callId: 'x', output: 1 }] }, 'call-not-in-step'],
      [{ unfinished: 'maybe' }, 'invalid-request'],
    ] as const) {
      expect(await refusal(await ask(server, path, { as: 'olga', body }))).toEqual({ status: 400, code })
    }
    await server.close()
  })
})

test('exports and replays are recorded beside the session, and its own log stays as it is', async () => {
  const { server, store } = consoleServer([{ text: 'done' }])
  const { id } = await executed(server, { input: 'hello' })
  const before = (await entriesOf(store, id)).length
  await (await ask(server, `/api/console/session/${id}/export?for=outside`, { as: 'vera' })).text()
  await (await ask(server, `/api/console/session/${id}/export`, { as: 'olga' })).text()
  await (await ask(server, `/api/console/session/${id}/replay`, { as: 'olga', body: {} })).text()
  await (await ask(server, `/api/console/session/${id}/export`, { as: 'dan' })).text()
  const path = `session/${id}/entries?from=1&log=${encodeURIComponent(`console-audit/${id}`)}`
  const { entries } = await got(server, path, entriesAnswer)
  expect(entries).toMatchObject([
    { type: 'audit', by: 'vera', rule: 'console-export', evidence: { for: 'outside' } },
    { type: 'audit', by: 'olga', rule: 'console-export', evidence: { for: 'operators' } },
    { type: 'audit', by: 'olga', rule: 'console-replay' },
  ])
  expect((await entriesOf(store, id)).length).toBe(before)
  const { sessions } = await (await ask(server, '/api/console/sessions', { as: 'olga' })).json()
  expect(sessions).toHaveLength(1)
  expect((await ask(server, `/api/agent/session/${id}`, { method: 'DELETE' })).status).toBe(204)
  expect(await entriesOf(store, `console-audit/${id}`)).toEqual([])
  await server.close()
})

test('the record of reading is bounded, and removed with its session', async () => {
  let now = 1_000_000
  const clock = { ...systemClock, now: () => now }
  const { server, store } = consoleServer([{ text: 'one' }, { text: 'two' }], { store: memoryStore({ clock }) })
  const { id } = await executed(server, { input: 'hello' })
  const other = (await executed(server, { input: 'hello' })).id
  const log = auditLogOf(id)
  const read = async (of = id): Promise<void> => {
    await (await ask(server, `/api/console/session/${of}/export?for=outside`, { as: 'vera' })).text()
  }
  for (let n = 0; n < 100; n++) await read()
  expect(await entriesOf(store, log)).toHaveLength(1)
  const twoAtOnce = ask(server, `/api/console/session/${id}/export`, { as: 'olga' })
  await Promise.all([twoAtOnce.then((response) => response.text()), read()])
  expect((await entriesOf(store, log)).map((entry) => entry.type === 'audit' && entry.by)).toEqual(['vera', 'olga'])
  now += 60_000
  for (let n = 0; n < 3; n++) await read()
  await read(other)
  expect(await entriesOf(store, log)).toHaveLength(3)
  now += 1
  expect((await pruneSessions(store, { olderThanMs: 60_000, limit: 1 })).sessions.map(({ id: gone }) => gone)).toEqual([
    id,
  ])
  expect(await entriesOf(store, log)).toEqual([])
  expect(await entriesOf(store, auditLogOf(other))).toHaveLength(1)
  await eraseSession(store, other, { by: 'olga' })
  expect(await entriesOf(store, auditLogOf(other))).toEqual([])
  expect(await store.tombstone?.(auditLogOf(other))).toBeDefined()
  await server.close()
})

test('an import that is no export, of a later version, or of another session of this id says what is wrong', async () => {
  const { server } = consoleServer([{ text: 'done' }])
  const { id } = await executed(server, { input: 'hello' })
  const lines = await (await ask(server, `/api/console/session/${id}/export`, { as: 'olga' })).text()
  const imported = async (text: string) =>
    refusal(await ask(server, '/api/console/import', { as: 'olga', body: { lines: text, id } }))
  expect(await imported('no export')).toEqual({ status: 400, code: 'invalid-export' })
  expect(await imported(lines.slice(0, -20))).toEqual({ status: 400, code: 'invalid-export' })
  expect(await imported(lines.replace('"v":1', '"v":1000'))).toEqual({ status: 400, code: 'newer-export' })
  expect(await imported(lines)).toEqual({ status: 409, code: 'session-exists' })
  await server.close()
})

describe('a fork with a policy or instructions of its own', () => {
  const strict = approvalPolicy(() => 'deny')
  const lax = approvalPolicy(() => 'allow')
  const forks = { policies: { strict, lax }, prompts: { brief: 'Answer in one word.' } }

  test('continues here or in a worker with them, and is compared with another', async () => {
    const echo: ScriptedEntry = ({ messages }) => ({ text: JSON.stringify(messages) })
    const { server, store } = consoleServer([small, echo, echo, echo], { forks })
    const { id } = await executed(server, { input: 'refund 5' })
    const asked = (await entriesOf(store, id)).find((entry) => entry.type === 'message' && entry.via === 'model')
    const at = asked?.offset ?? 0
    expect(await got(server, 'access', accessAnswer)).toMatchObject({ policies: ['strict', 'lax'], prompts: ['brief'] })
    const body = { at, unfinished: 'continue' }
    const path = `session/${id}/fork`
    const a = await got(server, path, forkAnswer, 'olga', { ...body, policy: 'strict', prompt: 'brief' })
    const b = await got(server, path, forkAnswer, 'olga', { ...body, policy: 'lax', promptText: 'hunter2 in verse.' })
    const said = async (of: string): Promise<string> => JSON.stringify(await entriesOf(store, of))
    await expect.poll(() => said(a.sessionId)).toContain('Answer in one word.')
    await expect.poll(() => said(b.sessionId)).toContain('in verse.')
    await expect.poll(() => said(a.sessionId)).toContain('is not allowed with these arguments')
    await expect.poll(() => said(b.sessionId)).toContain('refunded 5')
    const compared = await got(server, `compare?a=${a.sessionId}&b=${b.sessionId}`, compareAnswer)
    expect(compared.overrides).toEqual({
      a: { policy: 'strict', prompt: 'brief' },
      b: { policy: 'lax', promptText: 'hunter2 in verse.' },
    })
    const seen = await got(server, `session/${b.sessionId}/state?at=1000`, stateAnswer, 'vera')
    expect(seen.overrides).toEqual({ policy: 'lax', promptText: '[withheld: secret]' })
    const audit = (await entriesOf(store, a.sessionId)).find(({ type }) => type === 'audit')
    expect(audit).toMatchObject({ by: 'olga', evidence: { policy: 'strict', prompt: 'brief' } })
    await server.close()
  })

  test('is left to the processes that offer them', async () => {
    const store = memoryStore()
    const agent = (): Agent =>
      createAgent({ name: 'desk', model: scriptedModel([{ text: 'done' }]), tools: [refund], store })
    const { server } = consoleServer([small, { text: 'done' }], { store })
    const { id } = await executed(server, { input: 'refund 5' })
    await server.close()
    const asked = (await entriesOf(store, id)).find((entry) => entry.type === 'message' && entry.via === 'model')
    const { sessionId } = await forkSession(store, id, {
      ...{ at: asked?.offset ?? 0, unfinished: 'continue', overrides: { policy: 'strict' } },
    })
    const failed: unknown[] = []
    const other = createWorker({ agents: [agent()], store, onError: (thrown) => failed.push(thrown) })
    await expect(other.advance(sessionId)).rejects.toMatchObject({ code: 'override-not-offered' })
    await other.close()
    expect((await store.leaseState(sessionId)).quarantinedAt).toBeUndefined()
    expect(failed).toEqual([])
    const worker = createWorker({ agents: [agent()], store, forks })
    await worker.advance(sessionId)
    expect(JSON.stringify(await entriesOf(store, sessionId))).toContain('is not allowed with these arguments')
    await worker.close()
  })

  test('needs the role operate, and names that the server offers', async () => {
    const { server } = consoleServer([{ text: 'done' }], { forks })
    const { id } = await executed(server, { input: 'hello' })
    const path = `/api/console/session/${id}/fork`
    for (const as of ['vera', 'dan']) {
      const body = { policy: 'lax', promptText: 'Answer in verse.' }
      expect(await refusal(await ask(server, path, { as, body }))).toEqual({ status: 403, code: 'role-too-low' })
    }
    for (const [body, code] of [
      [{ policy: 'none' }, 'override-not-offered'],
      [{ prompt: 'toString' }, 'override-not-offered'],
      [{ prompt: 'brief', promptText: 'x' }, 'invalid-request'],
      [{ promptText: '' }, 'invalid-request'],
      [{ policy: 7 }, 'invalid-request'],
    ] as const) {
      expect(await refusal(await ask(server, path, { as: 'olga', body }))).toEqual({ status: 400, code })
    }
    await server.close()
  })

  test('is offered as policies and instructions', () => {
    const wrong: object = { forks: { policies: { strict: 'deny' } } }
    expect(() => consoleServer([], wrong)).toThrow(
      'The policy "strict" in "forks" of createServer is not an extension.',
    )
    const prompt: object = { forks: { prompts: { brief: 1 } } }
    expect(() => consoleServer([], prompt)).toThrow(
      'The prompt "brief" in "forks" of createServer is not instructions.',
    )
  })
})

describe('POST /api/console/policy/what-if', () => {
  const policy = { set: 'classic' } as const

  test('says what an edited policy would have decided, and leaves the log alone', async () => {
    const { server, store } = consoleServer([small, { text: 'done' }])
    const { id } = await executed(server, { input: 'refund 5' })
    const before = (await entriesOf(store, id)).length
    const body = { sessions: [id], policy: { ...policy, deny: ['refund'] } }
    const { calls, counts } = await got(server, 'policy/what-if', whatIfAnswer, 'vera', body)
    expect(calls).toMatchObject([
      { sessionId: id, tool: 'refund', before: { decision: 'allow' }, would: { decision: 'deny', rule: 'deniedTool' } },
    ])
    expect(calls[0]).toMatchObject({ change: 'tightened', ran: true })
    expect(JSON.stringify(calls)).toContain('[withheld: secret]')
    expect(counts['tightened']).toBe(1)
    const audit = `console-audit/${id}`
    const asked = { set: 'classic', onViolation: 'ask', deny: ['refund'] }
    expect(await entriesOf(store, audit)).toMatchObject([{ by: 'vera', rule: 'console-what-if', evidence: asked }])
    const asks = { sessions: [id], policy: { ...policy, ask: ['refund'] } }
    expect((await got(server, 'policy/what-if', whatIfAnswer, 'olga', asks)).calls[0]?.would).toMatchObject({
      ...{ decision: 'ask', rule: 'askedTool', reason: 'The policy asks before refund.' },
    })
    expect(await entriesOf(store, audit)).toMatchObject([{ by: 'vera' }, { by: 'olga', evidence: { ask: ['refund'] } }])
    expect((await entriesOf(store, id)).length).toBe(before)
    await server.close()
  })

  test('is refused for sessions that the principal may not read', async () => {
    const { server } = consoleServer([{ text: 'done' }])
    const { id } = await executed(server, { input: 'hello' })
    const path = '/api/console/policy/what-if'
    const body = { sessions: [id], policy }
    expect((await ask(server, path, { body, as: 'bob' })).status).toBe(404)
    expect((await ask(server, path, { body: { ...body, sessions: [id, 'other'] }, as: 'olga' })).status).toBe(404)
    const [, classic] = (await got(server, 'policy/rules', rulesAnswer, 'vera')).sets
    expect(classic).toMatchObject({ set: 'classic', rules: expect.arrayContaining([expect.any(String)]) })
    const without = (rule: string): object => ({ ...body, policy: { ...policy, without: [rule] } })
    expect((await ask(server, path, { body: without(classic?.rules[0] ?? ''), as: 'vera' })).status).toBe(200)
    expect(await refusal(await ask(server, path, { body: without('no such rule'), as: 'vera' }))).toEqual({
      ...{ status: 400, code: 'invalid-request' },
    })
    await server.close()
  })
})
