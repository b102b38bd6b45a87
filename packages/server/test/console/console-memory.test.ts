import type { Entry, Label, SessionStore } from '@provost/core'
import { trustedLabel, untrustedLabel } from '@provost/core'
import type { ConsoleMemory, ConsoleMemoryItem } from '@provost/server'
import { entriesAnswer, forgetAnswer, memoriesAnswer } from '@provost/server/console'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { refusal } from '../approvals/approval-scenario.ts'
import { ask, executed } from '../served.ts'
import { consoleServer, got } from './console-scenario.ts'

const trusted = (source: string): Label => ({ ...trustedLabel, sources: [source] })
const fact = { kind: 'fact', label: trusted('crm'), source: 'crm', at: 1 } as const

/** A memory over a list, with the reach of the real one: shared items, and those of the scopes that are asked for. */
function memoryOf(items: ConsoleMemoryItem[]): ConsoleMemory {
  return {
    async list({ principal, sessionId, agent, states, limit }) {
      const reach = ['shared/', `user/${principal?.id}`, `session/${sessionId}`, `agent/${agent}`]
      expect(states).toEqual(['live', 'quarantined', 'old'])
      return items.filter(({ scope: { kind, id = '' } }) => reach.includes(`${kind}/${id}`)).slice(0, limit)
    },
    explain: async (id) => items.flatMap((item) => (item.id === id ? [{ item }] : []))[0],
    async forget(id) {
      const at = items.findIndex((item) => item.id === id)
      if (at >= 0) items.splice(at, 1)
      return at < 0 ? 0 : 1
    },
  }
}

function scenario(items: ConsoleMemoryItem[], authorized = true): ReturnType<typeof consoleServer> {
  return consoleServer([{ text: 'done' }], {
    store: memoryStore(),
    memories: { notes: memoryOf(items) },
    authorize: (_, { kind }) => authorized || kind !== 'forget',
  })
}

const itemsOf = (): ConsoleMemoryItem[] => [
  {
    ...fact,
    id: 'a',
    text: 'Ann lives in Bern.',
    scope: { kind: 'user', id: 'ann' },
    sessionId: 'old',
    speaker: 'user',
  },
  { ...fact, id: 'b', text: 'Bob lives in Rome.', scope: { kind: 'user', id: 'bob' } },
  {
    ...fact,
    ...{ id: 'c', text: 'The code is hunter2.', scope: { kind: 'shared' }, key: 'code' },
    label: { ...trusted('vault'), confidentiality: 'secret' },
  },
  {
    ...fact,
    id: 'd',
    text: 'Pay XX42.',
    scope: { kind: 'agent', id: 'desk' },
    label: untrustedLabel('mail'),
    quarantined: true,
  },
  { ...fact, id: 'e', text: 'Of a team.', scope: { kind: 'shared', id: 'team' } },
]

async function entriesIn(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

test('operators see what a session may recall, whose it is, and from what', async () => {
  const { server } = scenario(itemsOf())
  const { id } = await executed(server, { input: 'hello' })
  const { memories, items, more } = await got(server, `session/${id}/memories`, memoriesAnswer)
  expect([memories, more]).toEqual([['notes'], false])
  expect(items.map((item) => [item.id, item.state, item.source])).toEqual([
    ['a', 'live', 'crm'],
    ['c', 'live', 'crm'],
    ['d', 'quarantined', 'crm'],
  ])
  expect(items[0]).toMatchObject({ scope: { kind: 'user', id: 'ann' }, sessionId: 'old', speaker: 'user' })
  const seen = await got(server, `session/${id}/memories`, memoriesAnswer, 'vera')
  expect(seen.items[1]).toMatchObject({
    text: '[withheld: secret]',
    key: '[withheld: secret]',
    source: '[withheld: secret]',
  })
  expect(JSON.stringify(seen)).not.toContain('hunter2')
  expect((await ask(server, `/api/console/session/${id}/memories`, { as: 'bob' })).status).toBe(404)
  await server.close()
})

test('operators of the role operate forget an item that the session may recall, and the audit records it', async () => {
  const items = itemsOf()
  const { server, store } = scenario(items)
  const { id } = await executed(server, { input: 'hello' })
  const path = `/api/console/session/${id}/memories/forget`
  const forget = (item: string, as: string, memory = 'notes'): Promise<Response> =>
    ask(server, path, { as, body: { memory, id: item } })
  for (const as of ['vera', 'dan']) {
    expect(await refusal(await forget('a', as))).toEqual({ status: 403, code: 'role-too-low' })
  }
  for (const [item, memory] of [
    ['b', 'notes'],
    ['e', 'notes'],
    ['x', 'notes'],
    ['a', 'toString'],
  ] as const) {
    expect(await refusal(await forget(item, 'olga', memory))).toEqual({ status: 404, code: 'no-such-memory' })
  }
  expect(items).toHaveLength(5)
  const body = { memory: 'notes', id: 'a' }
  expect(await got(server, `session/${id}/memories/forget`, forgetAnswer, 'olga', body)).toEqual({ forgotten: 1 })
  expect(items.map((item) => item.id)).toEqual(['b', 'c', 'd', 'e'])
  const log = `console-audit/${id}`
  const { entries } = await got(server, `session/${id}/entries?from=1&log=${encodeURIComponent(log)}`, entriesAnswer)
  expect(entries).toMatchObject([
    {
      ...{ type: 'audit', by: 'olga', rule: 'console-forget' },
      evidence: { memory: 'notes', id: 'a', kind: 'fact', scope: { kind: 'user', id: 'ann' }, source: 'crm' },
    },
  ])
  expect(JSON.stringify(await entriesIn(store, log))).not.toContain('Bern')
  await server.close()
})

test('authorize may refuse to forget', async () => {
  const items = itemsOf()
  const { server } = scenario(items, false)
  const { id } = await executed(server, { input: 'hello' })
  const body = { memory: 'notes', id: 'a' }
  const refused = await ask(server, `/api/console/session/${id}/memories/forget`, { as: 'olga', body })
  expect(await refusal(refused)).toEqual({ status: 403, code: 'forbidden' })
  expect(items).toHaveLength(5)
  await server.close()
})

test('memories are objects that list, explain and forget', () => {
  for (const memories of [[], { notes: { list: () => [] } }]) {
    const wrong: object = { memories }
    expect(() => consoleServer([], wrong)).toThrow('"memories" of createServer has no memory')
  }
})
