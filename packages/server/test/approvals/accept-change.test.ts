import type { Agent, AgentOptions } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { Principal, SessionStore } from '@provost/core'
import type { Server, ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, onTestFinished, test } from 'vitest'

import { ask, executed, refund, serverOf } from '../served.ts'

const path = (id: string, rest = ''): string => `/api/agent/session/${id}${rest}`

/** One release of an agent that refunds after an approval. */
function release(store: SessionStore, more: Omit<Partial<AgentOptions>, 'output' | 'store'> = {}): Agent {
  return createAgent({
    name: 'desk',
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? { text: 'done' }
            : { toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
      ],
      { after: 'repeat-last' },
    ),
    instructions: 'Refund.',
    tools: [refund],
    version: '1',
    ...more,
    store,
  })
}

const newer = { instructions: 'Refund at once.', version: '2', whenChanged: 'ask' } as const

function serverWith(agent: Agent, store: SessionStore, options: Partial<ServerOptions> = {}): Server {
  const operator = ({ id }: Principal): boolean => id === 'olga'
  const server = serverOf([], { agents: [agent], store, pollMs: 5, operator, onError: () => {}, ...options })
  onTestFinished(() => server.close({ graceMs: 0 }))
  return server
}

/** Sessions of ann that an earlier release left waiting for approvals. */
async function waiting(count = 1, body: object = {}): Promise<{ store: SessionStore; ids: readonly string[] }> {
  const store = memoryStore()
  const server = serverWith(release(store), store)
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push((await executed(server, { input: 'refund', ...body })).id)
  await server.close()
  return { store, ids: ids.toSorted() }
}

interface Row {
  readonly kind: string
  readonly sessionId: string
  readonly text: string
  readonly wait?: { readonly id: string }
  readonly change?: { readonly id: string; readonly rule: string }
}

async function inboxOf(
  server: Server,
  { as = 'olga', query = '' } = {},
): Promise<{ waits: readonly Row[]; next?: string }> {
  return (await ask(server, `/api/waits${query}`, { as })).json()
}

async function accept(server: Server, id: string, change: string, as = 'olga'): Promise<readonly [number, unknown]> {
  const response = await ask(server, path(id, '/accept'), { body: { change }, as })
  const body = await response.json()
  return [response.status, response.ok ? body.accepted : body.error.code]
}

async function statusOf(server: Server, id: string): Promise<string> {
  return (await (await ask(server, path(id))).json()).status
}

describe('a run whose agent changed, under the rule ask', () => {
  test('is listed before its waits, does not run with an answer, and runs once an operator accepts the change', async () => {
    const { store, ids } = await waiting()
    const [id = ''] = ids
    const told: unknown[] = []
    const server = serverWith(release(store, newer), store, { onError: (error) => told.push(error) })
    const [change, approval] = (await inboxOf(server)).waits
    expect([change, approval]).toMatchObject([
      {
        kind: 'change',
        sessionId: id,
        requester: 'ann',
        text: 'Agent desk changed since its run began: version 1 is now 2, the instructions changed.',
        change: { from: '1', to: '2', instructions: true, tools: [], rule: 'ask' },
      },
      { kind: 'approval', sessionId: id },
    ])
    const approvals = [{ id: approval?.wait?.id, decision: 'approve' }]
    expect((await ask(server, path(id, '/approvals'), { body: { approvals } })).status).toBe(202)
    await expect.poll(() => told).toContainEqual(expect.objectContaining({ code: 'definition-changed' }))
    expect(await statusOf(server, id)).toBe('suspended')

    expect(await accept(server, id, change?.change?.id ?? '')).toEqual([200, true])
    await expect.poll(() => statusOf(server, id)).toBe('idle')
    expect((await inboxOf(server)).waits).toEqual([])
    expect(await accept(server, id, change?.change?.id ?? ''), 'a second acceptance does nothing').toEqual([200, false])
    const versions: unknown[] = []
    for await (const entry of store.read(id)) {
      if (entry.type === 'run' && 'manifest' in entry) versions.push(entry.manifest?.version)
    }
    expect(versions).toEqual(['1', '2'])
  })

  test('is accepted by operators alone, as authorize permits, and only with the change that they saw', async () => {
    const { store, ids } = await waiting()
    const [id = ''] = ids
    const actions: unknown[] = []
    const server = serverWith(release(store, newer), store, {
      operator: ({ id: who }) => who !== 'ann',
      authorize: ({ id: who }, action) => {
        if (action.kind === 'accept') actions.push(action)
        return action.kind !== 'accept' || who === 'olga'
      },
    })
    const [seen] = (await inboxOf(server)).waits
    const change = seen?.change?.id ?? ''
    expect(actions).toEqual([{ kind: 'accept', sessionId: id, requester: { id: 'ann' }, change: seen?.change }])
    expect(await accept(server, id, change, 'ann')).toEqual([403, 'not-operator'])
    expect(await accept(server, id, change, 'clerk')).toEqual([403, 'forbidden'])
    expect((await inboxOf(server, { as: 'clerk' })).waits.map(({ kind }) => kind)).toEqual(['approval'])
    expect(await accept(server, id, 'another')).toEqual([409, 'definition-changed'])
    expect(await accept(server, 'none', change)).toEqual([404, 'unknown-session'])
    const session = async (as: string): Promise<unknown> => (await (await ask(server, path(id), { as })).json()).change
    expect(await session('olga')).toEqual(seen?.change)
    expect(await session('ann'), 'the requester does not see what changed').toBeUndefined()
    await server.close()

    const third = serverWith(release(store, { ...newer, instructions: 'Refund later.' }), store)
    expect(await accept(third, id, change), 'the code changed after it was listed').toEqual([409, 'definition-changed'])
    expect(await statusOf(third, id)).toBe('suspended')
  })

  test('is in the inbox of the console until it is accepted', async () => {
    const { store, ids } = await waiting(2)
    const server = serverWith(release(store, newer), store, {
      operator: ({ id }) => (id === 'olga' ? 'decide' : 'view'),
    })
    const changes = async (as = 'olga'): Promise<readonly Row[]> => {
      const { waits }: { waits: readonly Row[] } = await (await ask(server, '/api/console/waits', { as })).json()
      return waits.filter(({ kind }) => kind === 'change')
    }
    const listed = await changes()
    expect(listed.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids)
    expect(listed[0]).toMatchObject({ change: { from: '1', to: '2', instructions: true, tools: [] } })
    expect(await changes('vera')).toEqual(listed)
    const [first] = listed
    expect(await accept(server, first?.sessionId ?? '', first?.change?.id ?? '')).toEqual([200, true])
    expect(await changes()).toEqual(listed.slice(1))
  })

  test('is found page by page', async () => {
    const { store, ids } = await waiting(2)
    const server = serverWith(release(store, newer), store)
    const rows: Row[] = []
    let next: string | undefined = ''
    for (let pages = 0; next !== undefined && pages < 10; pages++) {
      const page = await inboxOf(server, { query: `?limit=1${next && `&after=${next}`}` })
      rows.push(...page.waits)
      next = page.next
    }
    const kinds = rows.map(({ kind, sessionId }) => [kind, sessionId])
    expect(kinds).toEqual(
      ids.flatMap((id) => [
        ['change', id],
        ['approval', id],
      ]),
    )
  })

  test('is accepted after the death of its process', async () => {
    const store = memoryStore()
    let dead = false
    const leaving: SessionStore = {
      ...store,
      append: async (log, entries, at) => {
        if (!entries.some(({ type }) => type === 'attempt')) return store.append(log, entries, at)
        dead = true
        return new Promise(() => {})
      },
      lease: async (log, owner, ttlMs, terms) => (dead ? 'busy' : store.lease(log, owner, Math.min(ttlMs, 50), terms)),
    }
    const first = await release(leaving).createSession({ principal: { id: 'ann' } })
    first.send('refund')
    await expect.poll(async () => (await store.leaseState(first.id)).holder).toBe('lapsed')
    const server = serverWith(release(store, newer), store)
    await expect.poll(async () => (await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['change'])
    const [row] = (await inboxOf(server)).waits
    expect(await accept(server, first.id, row?.change?.id ?? '')).toEqual([200, true])
    await expect.poll(() => statusOf(server, first.id)).toBe('suspended')
    expect((await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['approval'])
  })

  test('can be aborted, and a chat continues with the new code behind it', async () => {
    const { store, ids } = await waiting()
    const [id = ''] = ids
    const first = serverWith(release(store), store)
    const say = (text: string): object => ({
      id: 'c',
      message: { id: text, role: 'user', parts: [{ type: 'text', text }] },
    })
    expect(await (await ask(first, '/api/chat', { body: say('refund') })).text()).toContain('tool-approval-request')
    await first.close()

    const server = serverWith(release(store, newer), store)
    expect((await ask(server, path(id, '/abort'), { body: {} })).status).toBe(202)
    expect(await statusOf(server, id)).toBe('idle')
    expect((await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['change', 'approval'])
    const answer = await (await ask(server, '/api/chat', { body: say('never mind') })).text()
    expect(answer).toContain('"finish"')
    expect((await inboxOf(server)).waits.flatMap(({ change }) => change ?? [])).toEqual([])
  })

  test('does not count the tools of a client as a change', async () => {
    const tools = [{ name: 'browse', inputSchema: { type: 'object' } }]
    const { store } = await waiting(1, { tools })
    const same = serverWith(release(store, { whenChanged: 'ask' }), store)
    expect((await inboxOf(same)).waits.map(({ kind }) => kind)).toEqual(['approval'])
    await same.close()
    const other = serverWith(release(store, newer), store)
    expect((await inboxOf(other)).waits).toMatchObject([{ change: { tools: [] } }, { kind: 'approval' }])
  })
})

test('a run whose agent refuses the change is not listed, cannot be accepted, and its session says why', async () => {
  const { store, ids } = await waiting()
  const [id = ''] = ids
  const server = serverWith(release(store, { ...newer, whenChanged: 'refuse' }), store, { authorize: () => true })
  expect((await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['approval'])
  const { change } = await (await ask(server, path(id), { as: 'olga' })).json()
  expect(change).toMatchObject({ rule: 'refuse', to: '2' })
  expect(await accept(server, id, change.id)).toEqual([409, 'definition-changed'])
})

test('a rule that throws is reported, and hides no other wait', async () => {
  const { store, ids } = await waiting()
  const told: unknown[] = []
  const whenChanged = (): never => {
    throw new Error('no rule today')
  }
  const server = serverWith(release(store, { ...newer, whenChanged }), store, {
    authorize: () => true,
    onError: (error, { sessionId }) => told.push([String(error), sessionId]),
  })
  expect((await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['approval'])
  expect((await ask(server, path(ids[0] ?? ''), { as: 'olga' })).status).toBe(200)
  expect(told).toContainEqual(['Error: no rule today', ids[0]])
  expect((await accept(server, ids[0] ?? '', 'any'))[0]).toBe(500)
})

test('a run whose agent continues, or did not change, has nothing to accept', async () => {
  const { store, ids } = await waiting()
  for (const agent of [release(store, { whenChanged: 'ask' }), release(store, { ...newer, whenChanged: 'continue' })]) {
    const server = serverWith(agent, store)
    expect((await inboxOf(server)).waits.map(({ kind }) => kind)).toEqual(['approval'])
    expect(await accept(server, ids[0] ?? '', 'any')).toEqual([200, false])
    await server.close()
  }
})
