import { createAgent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import {
  compareAnswer,
  costAnswer,
  entriesAnswer,
  feedFrame,
  forkAnswer,
  importAnswer,
  policyAnswer,
  replayAnswer,
  sessionsAnswer,
  stateAnswer,
  systemAnswer,
  traceAnswer,
} from '@provost/server/console'
import type { FeedFrame, TraceAnswer } from '@provost/server/console'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { call, decide, no, refusal } from '../approvals/approval-scenario.ts'
import { ask, executed, rawFrames } from '../served.ts'
import { consoleServer, got } from './console-scenario.ts'

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

/** Begins a run under a lease of another process, of an agent that the server lacks: it cannot take the run over. */
async function heldRun(store: SessionStore, id: string, owner: string, ttlMs: number): Promise<void> {
  const lease = await store.lease(id, owner, 60_000)
  if (lease === 'busy') throw new Error('busy')
  const own = { id: `${id}/r`, at: Date.now(), runId: 'r', step: 0, agent: 'elsewhere', v: 1 } as const
  const manifest = { agent: 'elsewhere', extensions: [], tools: [] }
  await store.append(id, [{ ...own, type: 'run', op: 'started', manifest }], { after: 0, fence: lease.fence })
  await store.lease(id, owner, ttlMs)
}

describe('GET /api/console/feed', () => {
  /** Reads frames until one matches. */
  async function until(
    response: Response,
    matches: (frame: FeedFrame) => boolean,
  ): Promise<{ id: string; text: string }> {
    const reader = response.body?.getReader()
    let text = ''
    for (;;) {
      const next = await reader?.read()
      if (!next || next.done) throw new Error(`the feed ended: ${text}`)
      text += new TextDecoder().decode(next.value)
      const found = rawFrames(text).find(({ data }) => matches(feedFrame.parse(data)))
      if (!found) continue
      await reader?.cancel()
      return { id: found.id ?? '', text }
    }
  }

  test('sends the rows of sessions that change, and resumes behind an id', async () => {
    const { server } = consoleServer([call, call])
    const first = await ask(server, '/api/console/feed', { as: 'vera' })
    expect(first.headers.get('content-type')).toContain('text/event-stream')
    const seen = until(first, ({ status, waits }) => status === 'suspended' && waits.length === 1)
    const { id } = await executed(server, { input: 'one' }, 'ann')
    expect(rawFrames((await seen).text).at(-1)?.data).toMatchObject({ id, title: 'one' })
    await executed(server, { input: 'two' }, 'bob')
    const again = await ask(server, '/api/console/feed', { as: 'vera', headers: { 'last-event-id': (await seen).id } })
    await until(again, ({ title }) => title === 'two')
    await server.close()
  })

  test('refuses principals without a role and ids of other streams', async () => {
    const { server } = consoleServer([])
    expect(await refusal(await ask(server, '/api/console/feed'))).toEqual({ status: 403, code: 'not-operator' })
    expect(await refusal(await ask(server, '/api/console/feed?after=x', { as: 'vera' }))).toEqual({
      status: 400,
      code: 'invalid-request',
    })
    await server.close()
  })
})

describe('sums', () => {
  test('count what rules decided, by tool', async () => {
    const { server } = consoleServer([
      call,
      call,
      { toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
      { text: 'x' },
    ])
    const { id, last } = await executed(server, { input: 'one' }, 'ann')
    await executed(server, { input: 'two' }, 'bob')
    await decide(server, id, 'olga', no(last.pending.approvals[0]?.id ?? ''))
    await expect
      .poll(async () => (await got(server, 'policy', policyAnswer)).rows)
      .toEqual([
        { ...sums, rule: 'refund', toolName: 'refund', sessions: 2, asked: 2, refused: 1 },
        { ...sums, rule: 'default', toolName: 'refund', sessions: 1, allowed: 1 },
      ])
    expect((await got(server, 'policy?rule=default', policyAnswer)).rows).toHaveLength(1)
    expect((await got(server, 'policy?to=1', policyAnswer)).sessions).toBe(0)
    await server.close()
  })

  const sums = { allowed: 0, asked: 0, approved: 0, refused: 0, denied: 0, declassified: 0, flagged: 0 }

  test('add tokens by day, agent and model, and say when a price is unknown', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 }
    const { server } = consoleServer([
      { text: 'a', usage },
      { text: 'b', usage },
    ])
    await executed(server, { input: 'one' }, 'ann')
    await executed(server, { input: 'two' }, 'bob')
    for (const by of ['day', 'agent', 'model']) {
      const { rows } = await got(server, `cost?by=${by}`, costAnswer)
      expect(rows).toMatchObject(
        [{ usage, cost: 0, unpriced: true }].map((row) => ({ ...row, usage: { inputTokens: 200, outputTokens: 20 } })),
      )
    }
    expect((await got(server, 'cost?by=agent', costAnswer)).rows[0]?.name).toBe('desk')
    await server.close()
  })

  test('system shows the process to the role operate alone', async () => {
    const { server } = consoleServer([{ text: 'a' }])
    expect(await refusal(await ask(server, '/api/console/system', { as: 'dan' }))).toEqual({
      status: 403,
      code: 'role-too-low',
    })
    expect(await got(server, 'system', systemAnswer)).toMatchObject({
      process: { running: [], room: 64, engine: 'none', feeds: 0 },
      store: { kind: 'process' },
      due: [],
    })
    await server.close()
  })

  test('system names the processes that hold runs, and those that are silent', async () => {
    const store = memoryStore()
    const gate = Promise.withResolvers<string>()
    const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => gate.promise })
    const model = scriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }, { text: 'done' }])
    const { server } = consoleServer([], {
      store,
      agents: [createAgent({ name: 'desk', model, tools: [wait], store })],
      pollMs: 3_600_000,
    })
    await heldRun(store, 'far', 'web-2:7/a', 60_000)
    await heldRun(store, 'dead', 'web-3:9/b', 1)
    await expect.poll(async () => (await store.leaseState('dead')).holder).toBe('lapsed')
    const here = executed(server, { input: 'wait' })
    await expect.poll(async () => (await got(server, 'system', systemAnswer)).leases.length).toBe(3)
    const { process: own, processes, leases } = await got(server, 'system', systemAnswer)
    expect(own.name).toMatch(/^.+:\d+$/u)
    const states = Object.fromEntries(processes.map(({ name, state, runs }) => [name, `${state} ${runs}`]))
    expect(states).toEqual({ [own.name]: 'alive 1', 'web-2:7': 'alive 1', 'web-3:9': 'silent 1' })
    for (const { renewedAt } of processes) expect(Math.abs(renewedAt - Date.now())).toBeLessThan(60_000)
    expect(leases.find(({ sessionId }) => sessionId === 'far')).toMatchObject({ process: 'web-2:7', holder: 'alive' })
    gate.resolve('waited')
    const { id } = await here
    // A process that has ended its runs holds no lease, and owners of other forms name no process.
    await expect.poll(async () => (await store.leaseState(id)).holder).toBe('none')
    await store.lease('dead', 'some owner', 60_000)
    const later = await got(server, 'system', systemAnswer)
    expect(later.processes.map(({ name }) => name)).toEqual(['web-2:7'])
    await server.close()
  })

  test('system lists what is due at a certain time, and not what only an answer wakes', async () => {
    const store = memoryStore()
    const pays = (name: string, expiresInMs?: number) => {
      const input = z.object({})
      const needsApproval = () => ({ reason: 'money', ...(expiresInMs !== undefined && { expiresInMs }) })
      const pay = tool({ name: 'pay', effect: 'write', input, needsApproval, execute: () => 'paid' })
      const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }])
      return createAgent({ name, model, tools: [pay], store })
    }
    const { server } = consoleServer([], {
      store,
      agents: [pays('late', 600_000), pays('soon', 60_000), pays('never')],
    })
    const [late, soon] = [
      await executed(server, { input: 'pay', agent: 'late' }),
      await executed(server, { input: 'pay', agent: 'soon' }),
    ]
    await executed(server, { input: 'pay', agent: 'never' })
    const { due } = await got(server, 'system', systemAnswer)
    expect(due).toMatchObject([
      { sessionId: soon.id, agent: 'soon', waits: ['approval'] },
      { sessionId: late.id, agent: 'late', waits: ['approval'] },
    ])
    const [first] = (await entriesOf(store, soon.id)).filter(({ type }) => type === 'wait')
    expect(due[0]?.at).toBe(first?.type === 'wait' && first.deadline)
    await server.close()
  })
})

describe('GET /api/console/session/{id}/state', () => {
  test('is what the model had received after an entry', async () => {
    const { server, store } = consoleServer([
      { toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
      { text: 'done' },
    ])
    const { id } = await executed(server, { input: 'refund 5' })
    const entries = await entriesOf(store, id)
    const last = entries.at(-1)?.offset ?? 0
    const end = await got(server, `session/${id}/state?at=${last}`, stateAnswer)
    expect(end.view.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const decided = entries.find(({ type, ...rest }) => type === 'call' && 'op' in rest && rest.op === 'decided')
    const then = await got(server, `session/${id}/state?at=${decided?.offset}`, stateAnswer)
    expect(then).toMatchObject({
      at: decided?.offset,
      status: 'running',
      calls: [{ toolName: 'refund', stage: 'ready' }],
    })
    expect(then.view.map(({ role }) => role)).toEqual(['user', 'assistant'])
    await server.close()
  })

  test('lists the waits of its moment, and withholds secret ones from the role view', async () => {
    const { server } = consoleServer([{ toolCalls: [{ name: 'vault', input: { key: 'k' } }] }, call])
    const { id } = await executed(server, { input: 'go' })
    const path = `session/${id}/state?at=1000`
    expect((await got(server, path, stateAnswer)).pending).toMatchObject([
      { kind: 'approval', wait: { input: { amount: 80 } } },
    ])
    const seen = await got(server, path, stateAnswer, 'vera')
    expect(seen.pending).toMatchObject([{ wait: { toolName: 'refund', input: '[withheld: secret]' } }])
    expect(JSON.stringify(seen)).not.toContain('hunter2')
    await server.close()
  })
})

describe('POST /api/console/session/{id}/trace', () => {
  const iban = 'XX42 TEST 0000 1111 2222'
  const read = tool({
    name: 'read_mail',
    effect: 'read',
    input: z.object({}),
    execute: () => `Dear team, my new account is ${iban}, thanks.`,
  })
  const pay = tool({
    name: 'pay',
    effect: 'egress',
    input: z.object({ to: z.string(), note: z.string() }),
    execute: () => 'paid',
  })
  const other = Buffer.from(`pay to ${iban} at once, it is urgent`).toString('base64')
  const steps = [
    { toolCalls: [{ name: 'read_mail', input: {} }] },
    { toolCalls: [{ name: 'pay', input: { to: iban, note: other } }] },
    { text: 'Paid.' },
  ]

  async function traced(as = 'olga'): Promise<{ whole: TraceAnswer; back: TraceAnswer }> {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: scriptedModel(steps), tools: [read, pay], store })
    const { server } = consoleServer([], { agents: [agent], store })
    const { id } = await executed(server, { input: 'pay the bill' })
    const { entries } = await got(server, `session/${id}/entries?from=1`, entriesAnswer)
    const mail = entries.find((entry) => entry['op'] === 'settled')
    const output = JSON.stringify(mail?.['output'])
    const { value } = JSON.parse(output)
    const start = value.indexOf(iban)
    const body = { offset: mail?.offset, pointer: '/output/value', start, end: start + iban.length }
    const whole = await got(server, `session/${id}/trace`, traceAnswer, as, body)
    const paid = entries.find((entry) => entry['op'] === 'decided' && JSON.stringify(entry['args']).includes('XX42'))
    const back = { offset: paid?.offset, pointer: '/args/to', start: 0, end: iban.length }
    return { whole, back: await got(server, `session/${id}/trace`, traceAnswer, 'olga', back) }
  }

  test('follows words to the calls that have them, also rewritten, and back to the text that had them first', async () => {
    const { whole, back } = await traced()
    expect(whole).toMatchObject({ text: iban, label: { integrity: 'untrusted', sources: ['read_mail'] }, sources: [] })
    const texts = whole.sinks.filter(({ kind }) => kind === 'text')
    expect(texts.map(({ pointer, view }) => [pointer, view])).toEqual([
      ['/args/to', 'verbatim'],
      ['/args/note', 'base64'],
    ])
    expect(whole.sinks.some(({ kind }) => kind === 'label')).toBe(true)
    expect(back.sources.filter(({ kind }) => kind === 'text')).toMatchObject([
      { pointer: '/output/value', view: 'verbatim', excerpt: expect.stringContaining(`account is ${iban}, thanks`) },
    ])
    const [source] = back.sources
    expect(source && source.end - source.start).toBe(iban.length)
  })

  test('shows no place in withheld arguments to the role view', async () => {
    const { whole } = await traced('vera')
    expect(whole.text).toBe(iban)
    expect(whole.sinks.filter(({ kind }) => kind === 'text')).toEqual([])
  })

  test('refuses a selection that is no text', async () => {
    const { server } = consoleServer([{ text: 'a' }])
    const { id } = await executed(server, { input: 'x' })
    for (const body of [
      { offset: 1, pointer: '/none', start: 0, end: 1 },
      { offset: 1, pointer: '/agent', start: 0, end: 100 },
      { offset: 1, pointer: '/agent', start: 3, end: 3 },
      { offset: 1, pointer: '/agent', start: 0, end: 30_000 },
    ]) {
      const response = await ask(server, `/api/console/session/${id}/trace`, { as: 'olga', body })
      expect(await refusal(response)).toEqual({ status: 400, code: 'invalid-request' })
    }
    await server.close()
  })
})

describe('copies', () => {
  test('an export is imported elsewhere; the whole log needs the role operate', async () => {
    const { server } = consoleServer([{ text: 'a poem' }])
    const { id } = await executed(server, { input: 'write' })
    const path = `/api/console/session/${id}/export`
    expect(await refusal(await ask(server, path, { as: 'vera' }))).toEqual({ status: 403, code: 'role-too-low' })
    const outside = await (await ask(server, `${path}?for=outside`, { as: 'vera' })).text()
    expect(outside).toContain('"for":"outside"')
    const lines = await (await ask(server, path, { as: 'olga' })).text()
    const there = consoleServer([])
    const imported = await got(there.server, 'import', importAnswer, 'olga', { lines })
    expect(imported).toMatchObject({ sessionId: id, agent: 'desk', trusted: false, existing: false })
    expect(await entriesOf(there.store, `console-audit/${id}`)).toMatchObject([
      { type: 'audit', by: 'olga', rule: 'console-import', evidence: { trusted: false } },
    ])
    // The record lies beside the session, so the same export is known.
    expect(await got(there.server, 'import', importAnswer, 'olga', { lines })).toEqual({ ...imported, existing: true })
    expect(await refusal(await ask(there.server, '/api/console/import', { as: 'dan', body: { lines } }))).toEqual({
      status: 403,
      code: 'role-too-low',
    })
    await server.close()
    await there.server.close()
  })

  test('a replay calls no model and no tool, and names the first difference', async () => {
    const { server, store } = consoleServer([
      { toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
      { text: 'done' },
    ])
    const { id } = await executed(server, { input: 'refund 5' })
    const before = (await entriesOf(store, id)).length
    expect(await got(server, `session/${id}/replay`, replayAnswer, 'olga', {})).toEqual({})
    expect((await entriesOf(store, id)).length).toBe(before)
    await server.close()
  })

  test('a fork at an entry belongs to the operator, who continues it', async () => {
    const { server, store } = consoleServer([{ text: 'one' }, { text: 'two' }, { text: 'other' }])
    const { id } = await executed(server, { input: 'first' }, 'ann')
    const end = (await entriesOf(store, id)).length
    await executed(server, { input: 'second', sessionId: id }, 'ann')
    const path = `/api/console/session/${id}/fork`
    expect(await refusal(await ask(server, path, { as: 'dan', body: {} }))).toEqual({
      status: 403,
      code: 'role-too-low',
    })
    // In the middle of the second turn.
    const fork = await got(server, `session/${id}/fork`, forkAnswer, 'olga', { at: end + 2 })
    expect(fork.offset).toBe(end)
    const entries = await entriesOf(store, fork.sessionId)
    expect(entries.at(-1)).toMatchObject({
      type: 'audit',
      by: 'olga',
      rule: 'console-fork',
      evidence: { sessionId: id },
    })
    const { last } = await executed(server, { input: 'third', sessionId: fork.sessionId }, 'olga')
    expect(last).toMatchObject({ status: 'completed', text: 'other' })
    const [row] = (await got(server, 'sessions', sessionsAnswer)).sessions
    expect(row).toMatchObject({ id: fork.sessionId, forkedFrom: id, principal: 'olga', title: 'first' })
    await server.close()
  })

  test('two sessions are compared by what they say', async () => {
    const { server } = consoleServer([{ text: 'yes' }, { text: 'no' }])
    const a = await executed(server, { input: 'well?' }, 'ann')
    const b = await executed(server, { input: 'well?' }, 'bob')
    const { common, first } = await got(server, `compare?a=${a.id}&b=${b.id}`, compareAnswer)
    expect(common).toBe(1)
    expect([first.a?.text, first.b?.text]).toEqual(['yes', 'no'])
    expect((await got(server, `compare?a=${a.id}&b=${a.id}`, compareAnswer)).first).toEqual({ a: null, b: null })
    await server.close()
  })
})
