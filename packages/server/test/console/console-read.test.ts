import { createAgent, foldLog, pendingWork } from '@provost/agent'
import type { Entry } from '@provost/core'
import { systemClock } from '@provost/core'
import {
  accessAnswer,
  consoleWaitsAnswer,
  entriesAnswer,
  indexAnswer,
  sessionsAnswer,
  textAnswer,
} from '@provost/server/console'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { call, refusal } from '../approvals/approval-scenario.ts'
import { ask, executed } from '../served.ts'
import { consoleServer, got, operator, vault } from './console-scenario.ts'

const reads = ['sessions', 'waits', 'access']
const readsOf = (id: string): readonly string[] => [
  `session/${id}/index`,
  `session/${id}/entries?from=1`,
  `session/${id}/text?offset=1&pointer=/agent`,
]

describe('access to the console', () => {
  test('is refused to principals without a role, as if the session did not exist', async () => {
    const { server } = consoleServer([{ text: 'hello' }])
    const { id } = await executed(server, { input: 'hi' })
    for (const path of reads) {
      expect(await refusal(await ask(server, `/api/console/${path}`, { as: 'bob' }))).toEqual({
        status: 403,
        code: 'not-operator',
      })
    }
    for (const path of readsOf(id)) {
      for (const as of ['bob', 'ann']) {
        expect(await refusal(await ask(server, `/api/console/${path}`, { as }))).toEqual({
          status: 404,
          code: 'unknown-session',
        })
      }
      expect((await ask(server, `/api/console/${path}`, { as: 'vera' })).status).toBe(200)
    }
  })

  test('asks authorize about each session, and hides the rows that it refuses', async () => {
    const { server } = consoleServer([{ text: 'hello' }, { text: 'hello' }], {
      authorize: (_, action) => !('requester' in action) || action.requester?.id !== 'ann',
    })
    const { id } = await executed(server, { input: 'of Ann' }, 'ann')
    await executed(server, { input: 'of Bob' }, 'bob')
    expect((await got(server, 'sessions', sessionsAnswer)).sessions.map(({ title }) => title)).toEqual(['of Bob'])
    expect(await refusal(await ask(server, `/api/console/session/${id}/index`, { as: 'olga' }))).toEqual({
      status: 403,
      code: 'forbidden',
    })
  })

  test('an operator of the answer `true` reads no foreign session without authorize', async () => {
    const { server } = consoleServer([{ text: 'hello' }], { operator: ({ id }) => id === 'olga' })
    const { id } = await executed(server, { input: 'hi' })
    expect((await got(server, 'sessions', sessionsAnswer)).sessions).toEqual([])
    expect((await ask(server, `/api/console/session/${id}/index`, { as: 'olga' })).status).toBe(404)
  })

  test('says what the principal may do', async () => {
    const { server } = consoleServer([])
    expect(await got(server, 'access', accessAnswer, 'vera')).toEqual({
      ...{ principal: 'vera', role: 'view', withheld: true, agents: [{ name: 'desk' }], models: [] },
      sendBytes: 1_048_576,
      ...{ policies: [], prompts: [] },
    })
    expect(await got(server, 'access', accessAnswer)).toMatchObject({ role: 'operate', withheld: false })
  })

  test('gives every request from this machine all rights on a server without authenticate', async () => {
    const store = memoryStore()
    const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'hello' }]), store })
    const { sessionId } = await agent.run('from a script', { principal: { id: 'customer:c-112' } })
    const { createServer } = await import('@provost/server')
    const server = createServer({ agents: [agent], store })
    const { sessions } = await got(server, 'sessions', sessionsAnswer)
    expect(sessions).toMatchObject([{ id: sessionId, title: 'from a script', principal: 'customer:c-112' }])
    await server.close()
  })
})

describe('GET /api/console/sessions', () => {
  test('lists the sessions of all principals, the last updated first, in pages', async () => {
    let now = 1_700_000_000_000
    const clock = { ...systemClock, now: () => (now += 10) }
    const { server } = consoleServer([{ text: 'a' }, call, { text: 'c' }, { text: 'd' }], {
      store: memoryStore({ clock }),
    })
    for (const [input, as] of [
      ['one', 'ann'],
      ['two', 'bob'],
      ['three', 'ann'],
      ['four', 'cid'],
    ] as const) {
      await executed(server, { input }, as)
    }
    const titles: string[] = []
    let before: string | undefined
    do {
      const page = await got(server, `sessions?limit=3${before ? `&before=${before}` : ''}`, sessionsAnswer, 'vera')
      titles.push(...page.sessions.map(({ title }) => title))
      before = page.next
    } while (before !== undefined)
    expect(titles).toEqual(['four', 'three', 'two', 'one'])

    const found = async (query: string): Promise<readonly string[]> =>
      (await got(server, `sessions?${query}`, sessionsAnswer)).sessions.map(({ title }) => title)
    expect(await found('q=THRE')).toEqual(['three'])
    expect(await found('status=suspended')).toEqual(['two'])
    expect(await found('principal=ann')).toEqual(['three', 'one'])
    expect(await found('agent=other')).toEqual([])
    expect(await found('rule=refund')).toEqual(['two'])
    const [row] = (await got(server, 'sessions?status=suspended', sessionsAnswer)).sessions
    expect(row).toMatchObject({ steps: 1, verdicts: { asked: 1, approved: 0 }, waits: [expect.any(String)] })
    await server.close()
  })

  test('counts what was decided, and tells which sessions wait', async () => {
    const { server } = consoleServer([call, { text: 'done' }])
    const { id, last } = await executed(server, { input: 'refund 80' })
    const [approval] = last.pending.approvals
    await ask(server, `/api/agent/session/${id}/approvals`, {
      as: 'olga',
      body: { approvals: [{ id: approval?.id, decision: 'approve' }] },
    })
    await expect
      .poll(async () => (await got(server, 'sessions', sessionsAnswer)).sessions)
      .toMatchObject([
        { status: 'idle', waits: [], steps: 2, verdicts: { asked: 1, approved: 1, refused: 0, allowed: 0 } },
      ])
    await server.close()
  })

  test('refuses cursors and parameters of other forms', async () => {
    const { server } = consoleServer([{ text: 'a' }])
    const { id } = await executed(server, { input: 'x' })
    const foreign = Buffer.from('[["other",3]]').toString('base64url')
    for (const path of [
      ...['sessions?before=x', 'sessions?limit=0', 'sessions?limit=201', 'sessions?order=id', 'sessions?token=x'],
      ...[
        `sessions?q=${'x'.repeat(201)}`,
        'sessions?status=odd',
        'sessions?before=W10',
        'waits?after=e30',
        'waits?limit=101',
      ],
      ...[`session/${id}/index?after=x`, `session/${id}/index?limit=10001`, `session/${id}/index?after=${foreign}`],
      ...[`session/${id}/index?log=${id}&after=-1`, `session/${id}/entries`, `session/${id}/entries?from=0`],
      ...[`session/${id}/text?offset=1&pointer=x`, `session/${id}/text?offset=1&pointer=/none`],
    ]) {
      expect([path, await refusal(await ask(server, `/api/console/${path}`, { as: 'olga' }))]).toEqual([
        path,
        { status: 400, code: 'invalid-request' },
      ])
    }
    expect(await refusal(await ask(server, `/api/console/session/${id}/index?log=other`, { as: 'olga' }))).toEqual({
      status: 404,
      code: 'unknown-log',
    })
  })
})

describe('GET /api/console/waits', () => {
  test('lists the open waits of all sessions, oldest first, with the call and its tool', async () => {
    let now = 1_700_000_000_000
    const clock = { ...systemClock, now: () => (now += 10) }
    const store = memoryStore({ clock })
    const { server } = consoleServer([call, call, call], { store })
    const asked = []
    for (const as of ['ann', 'bob', 'cid']) asked.push(await executed(server, { input: `of ${as}` }, as))
    const first = await got(server, 'waits?limit=2', consoleWaitsAnswer, 'dan')
    const rest = await got(server, `waits?limit=2&after=${first.next}`, consoleWaitsAnswer, 'dan')
    const rows = [...first.waits, ...rest.waits]
    expect(rows.map(({ title }) => title)).toEqual(['of ann', 'of bob', 'of cid'])
    expect(rows[0]).toMatchObject({
      ...{ kind: 'approval', sessionId: asked[0]?.id, requester: 'ann', agent: 'desk', rule: 'refund' },
      text: 'refund (write): refund needs approval. Input: {"amount":80}',
      tool: { name: 'refund', effect: 'write', idempotent: false, schema: { type: 'object' } },
    })
    for (const [n, { id }] of asked.entries()) {
      const entries: Entry[] = []
      for await (const entry of store.read(id)) entries.push(entry)
      expect(rows[n]?.wait).toEqual(pendingWork(foldLog(entries)).approvals[0])
    }
    await server.close()
  })

  test('shows the role view that a secret question waits, without its text', async () => {
    const open = tool({
      name: 'open',
      needsApproval: true,
      input: z.object({ word: z.string() }),
      execute: () => 'opened',
    })
    const store = memoryStore()
    const steps = [
      { toolCalls: [{ name: 'vault', input: { key: 'safe' } }] },
      { toolCalls: [{ name: 'open', input: { word: 'hunter2' } }] },
    ]
    const agent = createAgent({ name: 'desk', model: scriptedModel(steps), tools: [vault, open], store })
    const { server } = consoleServer([], { agents: [agent], store })
    await executed(server, { input: 'open the safe' })
    const seen = await got(server, 'waits', consoleWaitsAnswer, 'vera')
    expect(seen.waits).toMatchObject([{ kind: 'approval', text: 'open waits.' }])
    expect(JSON.stringify(seen)).not.toContain('hunter2')
    expect(JSON.stringify(await got(server, 'waits', consoleWaitsAnswer, 'dan'))).toContain('hunter2')
    await server.close()
  })
})

describe('GET /api/console/session/{id}/index and entries', () => {
  test('together have every entry of the session and of its children', async () => {
    const store = memoryStore()
    const writer = createAgent({ name: 'writer', model: scriptedModel([{ text: 'a poem' }]), store })
    const steps = [{ toolCalls: [{ name: 'writer', input: { task: 'write' } }] }, { text: 'here it is' }]
    const agent = createAgent({
      name: 'desk',
      model: scriptedModel(steps),
      tools: [writer.toTool({ name: 'writer', description: 'Writes.' })],
      store,
    })
    const { server } = consoleServer([], { agents: [agent], store })
    const { id } = await executed(server, { input: 'a poem, please' })

    const rows: (readonly [log: string, offset: number, type: string])[] = []
    let after: string | undefined
    do {
      const page = await got(server, `session/${id}/index?limit=3${after ? `&after=${after}` : ''}`, indexAnswer)
      expect(page.rows.length).toBeLessThanOrEqual(3)
      for (const [log, , offset, , type] of page.rows) rows.push([page.logs[log]?.log ?? '', offset, type])
      after = page.next
    } while (after !== undefined)

    const logs = [...new Set(rows.map(([log]) => log))]
    expect(logs).toHaveLength(2)
    for (const log of logs) {
      const stored: Entry[] = []
      for await (const entry of store.read(log)) stored.push(entry)
      const query = `log=${encodeURIComponent(log)}`
      const { entries } = await got(server, `session/${id}/entries?from=1&${query}`, entriesAnswer)
      expect(entries).toEqual(stored)
      expect(rows.filter(([of]) => of === log)).toEqual(stored.map(({ offset, type }) => [log, offset, type]))
      const own = await got(server, `session/${id}/index?${query}&after=2`, indexAnswer)
      expect(own.rows.map(([, , offset]) => offset)).toEqual(stored.slice(2).map(({ offset }) => offset))
    }
    // The log of a child is not a session.
    expect(
      (await ask(server, `/api/console/session/${encodeURIComponent(logs[1] ?? '')}/index`, { as: 'olga' })).status,
    ).toBe(404)
    await server.close()
  })

  test('a row has the facts of its entry, with labels by number', async () => {
    const { server } = consoleServer([{ toolCalls: [{ name: 'refund', input: { amount: 10 } }] }, { text: 'done' }])
    const { id } = await executed(server, { input: 'refund 10' })
    const { rows, labels } = await got(server, `session/${id}/index`, indexAnswer)
    const settled = rows.find(([, , , , type, op]) => type === 'call' && op === 'settled')
    expect(settled?.[15]).toEqual({ outcome: 'ok' })
    expect(labels[settled?.[10] ?? -1]).toMatchObject({ integrity: 'untrusted', sources: ['refund'] })
    const attempt = rows.find(([, , , , type]) => type === 'attempt')
    expect(attempt?.[12]).toBeGreaterThan(0)
    const { entries } = await got(server, `session/${id}/entries?from=1`, entriesAnswer)
    const said = rows.filter(
      ([, , , , type, , , , , , , , , , , detail]) => type === 'message' && detail?.role !== 'tool',
    )
    expect(said.map((row) => row[15]?.role)).toEqual(['user', 'assistant', 'assistant'])
    for (const row of said) expect(entries[row[2] - 1]).toMatchObject({ message: { id: row[15]?.message } })
    await server.close()
  })

  test('cut long texts, and text returns the rest', async () => {
    const long = 'é'.repeat(20_000)
    const { server } = consoleServer([{ text: 'read' }])
    const { id } = await executed(server, { input: long })
    const { entries, cut } = await got(server, `session/${id}/entries?from=1`, entriesAnswer)
    expect(cut).toEqual([{ offset: expect.any(Number), pointer: '/message/content/0/text', length: 20_000 }])
    expect(JSON.stringify(entries)).not.toContain('é'.repeat(16_385))
    const place = `offset=${cut[0]?.offset}&pointer=${encodeURIComponent(cut[0]?.pointer ?? '')}`
    const piece = await got(server, `session/${id}/text?${place}&start=16384`, textAnswer)
    expect(piece).toEqual({ text: long.slice(16_384), start: 16_384, end: 20_000, length: 20_000 })
    await server.close()
  })

  test('withhold secret values from the role view, unless it has clearance', async () => {
    const steps = [
      { toolCalls: [{ name: 'vault', input: { key: 'safe' } }] },
      { toolCalls: [{ name: 'refund', input: { amount: 20, note: 'hunter2' } }] },
      { text: 'The word is hunter2.' },
    ]
    const { server } = consoleServer(steps, {
      operator: (principal) => (principal.id === 'cleo' ? { role: 'view', clearance: 'secret' } : operator(principal)),
    })
    const { id } = await executed(server, { input: 'open the safe' })
    const path = `session/${id}/entries?from=1`
    const seen = JSON.stringify(await got(server, path, entriesAnswer, 'vera'))
    expect(seen).not.toContain('hunter2')
    expect(seen).toContain('[withheld: secret]')
    expect(seen).toContain('open the safe')
    expect(JSON.stringify(await got(server, path, entriesAnswer, 'cleo'))).toContain('The word is hunter2.')
    await server.close()
  })

  test('read the log of a run whose process died without resuming it', async () => {
    const store = memoryStore()
    const { server } = consoleServer([{ text: 'never' }], { store, pollMs: 3_600_000, concurrency: 0 })
    const started = {
      id: 'r/started',
      at: 1,
      runId: 'r',
      step: 0,
      agent: 'desk',
      v: 1,
      type: 'run',
      op: 'started',
    } as const
    const lease = await store.lease('dead-session', 'gone', 60_000)
    if (lease === 'busy') throw new Error('busy')
    const manifest = { agent: 'desk', extensions: [], tools: [] }
    await store.append('dead-session', [{ ...started, manifest }], { after: 0, fence: lease.fence })
    await store.release('dead-session', lease.fence)
    for (const path of ['sessions', 'waits', ...readsOf('dead-session')]) {
      expect((await ask(server, `/api/console/${path}`, { as: 'olga' })).status).toBe(200)
    }
    expect(await store.leaseState('dead-session')).toEqual({ holder: 'none', takeovers: 0 })
    const { rows } = await got(server, 'session/dead-session/index', indexAnswer)
    expect(rows).toHaveLength(1)
    await server.close()
  })
})
