import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { createAgent } from '@provost/agent'
import type { Agent, ProgressMeta } from '@provost/agent'
import type { AgentEvent, SessionStore } from '@provost/core'
import { jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import * as fc from 'fast-check'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

const folder = mkdtempSync(join(tmpdir(), 'progress-'))
afterAll(() => rmSync(folder, { recursive: true }))

const idle = (store: SessionStore, name = 'writer') =>
  createAgent({ name, model: scriptedModel([{ text: 'ok' }]), store })
const text = ({ content }: { readonly content: Uint8Array }) => new TextDecoder().decode(content)

/** An agent whose tool writes what it is told to. */
function writer(store: SessionStore, steps: number, act: (agent: Agent, n: number) => Promise<unknown>): Agent {
  let n = 0
  const note = tool({
    name: 'note',
    input: z.object({}),
    async execute() {
      await new Promise((resolve) => setImmediate(resolve))
      await act(agent, n++)
      return 'noted'
    },
  })
  const script = [
    ...Array.from({ length: steps }, () => ({ toolCalls: [{ name: 'note', input: {} }] })),
    { text: 'ok' },
  ]
  const agent: Agent = createAgent({ name: 'writer', model: scriptedModel(script), tools: [note], store })
  return agent
}

describe('artifacts belong to the run that writes them', () => {
  test('they are read by run, role and number, in any process, and told of by an event', async () => {
    const path = join(folder, 'run.db')
    const store = sqliteStore(path)
    const agent = writer(store, 3, (self, n) =>
      self.progress.write(`draft ${n}`, { role: 'draft', seq: n, tags: ['a'] }),
    )
    const events: AgentEvent[] = []
    const stream = agent.stream('write')
    for await (const event of stream) events.push(event)
    const { runId } = await stream.result
    const told = events.filter((event) => event.type === 'progress.written')
    expect(told).toMatchObject(
      [0, 1, 2].map((seq) => ({ runId, agent: 'writer', role: 'draft', seq, tags: ['a'], bytes: 7 })),
    )
    await store.close()

    const later = sqliteStore(path)
    const { progress } = idle(later, 'critic')
    const all = await progress.read({ runId, role: 'draft' })
    expect(all.map(text)).toEqual(['draft 0', 'draft 1', 'draft 2'])
    expect(all.map(({ id }) => id)).toEqual(told.map(({ id }) => id))
    expect((await progress.read({ runId, sinceSeq: 0, maxArtifacts: 1 })).map(text)).toEqual(['draft 1'])
    expect(await progress.read({ runId, role: 'plan' })).toEqual([])
    expect(await progress.read({ runId: 'missing' })).toEqual([])
    // Nothing of it is a session.
    const sessions: string[] = []
    for await (const { id } of later.list()) sessions.push(id)
    expect(sessions).toHaveLength(1)
    await later.close()
  })

  test('concurrent runs do not read each other; a read outside of runs reads both', async () => {
    const store = memoryStore()
    const seen: string[][] = []
    const agent = writer(store, 1, async (self, n) => {
      await self.progress.write(`of ${n}`, { role: 'plan', seq: n })
      await new Promise((resolve) => setImmediate(resolve))
      seen.push((await self.progress.read()).map(text))
    })
    const two = writer(store, 1, (self) => self.progress.write('of the other', { role: 'plan', seq: 7 }))
    await Promise.all([agent.run('a'), two.run('b')])
    expect(seen).toEqual([['of 0']])
    await agent.progress.write('of no run', { role: 'plan', seq: 9 })
    const all = await agent.progress.read()
    expect(all.map(text)).toEqual(['of 0', 'of the other', 'of no run'])
    expect(all.map((one) => one.runId === undefined)).toEqual([false, false, true])
  })

  test('a child writes for its own run, at the same time as its parent for its own', async () => {
    const store = memoryStore()
    const child = writer(store, 1, (self) => self.progress.write('of the child', { role: 'plan', seq: 1 }))
    const note = tool({
      name: 'note',
      input: z.object({}),
      execute: () => parent.progress.write('of the parent', { role: 'plan', seq: 1 }),
    })
    const toolCalls = [
      { name: 'ask', input: { task: 'plan' } },
      { name: 'note', input: {} },
    ]
    const parent: Agent = createAgent({
      name: 'parent',
      model: scriptedModel([{ toolCalls }, { text: 'ok' }]),
      tools: [child.toTool({ name: 'ask', description: 'Asks.' }), note],
      store,
    })
    const written: { runId: string; id: string }[] = []
    const stream = parent.stream('go')
    for await (const event of stream) if (event.type === 'progress.written') written.push(event)
    const { runId } = await stream.result
    expect((await parent.progress.read({ runId })).map(text)).toEqual(['of the parent'])
    expect(new Set(written.map((event) => event.runId === runId))).toEqual(new Set([false, true]))
    const own = written.find((event) => event.runId !== runId)?.runId ?? ''
    expect((await parent.progress.read({ runId: own })).map(text)).toEqual(['of the child'])
  })

  test('what a run has read makes its artifacts as confidential, unless it says otherwise', async () => {
    const store = memoryStore()
    const look = tool({
      name: 'look',
      effect: 'read',
      input: z.object({}),
      returns: { confidentiality: 'secret' },
      execute: () => 'x',
    })
    const note = tool({
      name: 'note',
      input: z.object({}),
      async execute() {
        await agent.progress.write('a', { role: 'r', seq: 1 })
        await agent.progress.write('b', { role: 'r', seq: 2, confidentiality: 'public' })
      },
    })
    const model = scriptedModel([
      ...['look', 'note'].map((name) => ({ toolCalls: [{ name, input: {} }] })),
      { text: '' },
    ])
    const agent: Agent = createAgent({ name: 'writer', model, tools: [look, note], store })
    const { runId } = await agent.run('go')
    const levels = (await agent.progress.read({ runId })).map(({ confidentiality }) => confidentiality)
    expect(levels).toEqual(['secret', 'public'])
  })
})

describe('atomic', () => {
  test('the same written again is there once; another under its number takes its place', async () => {
    const store = memoryStore()
    const { progress } = idle(store)
    for (const content of ['one', 'one', 'two', 'one']) await progress.write(content, { role: 'plan', seq: 1 })
    expect((await progress.read()).map(text)).toEqual(['one'])
    await progress.write('two', { role: 'plan', seq: 1 })
    expect((await progress.read()).map(text)).toEqual(['two'])
  })

  test('many writers at once, in two stores on one file, lose nothing', async () => {
    const path = join(folder, 'many.db')
    const stores = [sqliteStore(path), sqliteStore(path)]
    await Promise.all(
      stores.flatMap((store, n) =>
        Array.from({ length: 10 }, (_, seq) => idle(store).progress.write(`${n} ${seq}`, { role: `writer ${n}`, seq })),
      ),
    )
    for (const store of stores) {
      for (const n of [0, 1]) {
        const found = await idle(store).progress.read({ role: `writer ${n}` })
        expect(found.map(text)).toEqual(Array.from({ length: 10 }, (_, seq) => `${n} ${seq}`))
      }
    }
    await Promise.all(stores.map((store) => store.close()))
  })

  test('bytes come before the word of them: where the store fails between, there is nothing', async () => {
    const store = memoryStore()
    const broken: SessionStore = { ...store, append: () => Promise.reject(new Error('full')) }
    await expect(idle(broken).progress.write('lost', { role: 'plan', seq: 1 })).rejects.toThrow('full')
    expect(await idle(store).progress.read()).toEqual([])
    await idle(store).progress.write('found', { role: 'plan', seq: 1 })
    expect((await idle(store).progress.read()).map(text)).toEqual(['found'])
  })

  test('what was deleted is gone, and can be written again', async () => {
    const store = memoryStore()
    const agent = idle(store)
    await agent.progress.write('one', { role: 'plan', seq: 1 })
    await agent.progress.write('two', { role: 'plan', seq: 2 })
    await store.delete('progress/agent/writer')
    expect(await agent.progress.read()).toEqual([])
    await agent.progress.write('two', { role: 'plan', seq: 2 })
    await store.delete('progress/agent/writer')
    await agent.progress.write('three', { role: 'plan', seq: 3 })
    expect((await agent.progress.read()).map(text)).toEqual(['three'])
  })
})

test.each([
  ['memory', () => memoryStore()],
  ['JSON lines', () => jsonlStore(mkdtempSync(join(folder, 'run-gone-')))],
  ['SQLite', () => sqliteStore(join(mkdtempSync(join(folder, 'run-gone-')), 'log.db'))],
])('what a run and its children wrote goes with the session, and nothing else does: %s', async (_, open) => {
  const store = open()
  const child = writer(store, 1, (own) => own.progress.write('draft', { role: 'draft', seq: 1 }))
  const parent = createAgent({
    name: 'parent',
    model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'Write.' } }] }, { text: 'ok' }]),
    tools: [child.toTool({ name: 'ask', description: 'Ask.' })],
    store,
  })
  const { sessionId } = await parent.run('Go.')
  const other = await writer(store, 1, (own) => own.progress.write('other', { role: 'draft', seq: 1 })).run('Go.')
  await child.progress.write('aside', { role: 'draft', seq: 2 })
  const forked = await (await parent.resumeSession(sessionId)).fork()
  await store.delete(forked.id)
  expect((await child.progress.read()).map(text)).toEqual(['draft', 'other', 'aside'])
  await store.delete(sessionId)
  expect((await child.progress.read()).map(text)).toEqual(['other', 'aside'])
  expect((await child.progress.read({ runId: other.runId })).map(text)).toEqual(['other'])
  await store.close()
})

describe('confined and bounded', () => {
  test.each(['../../x', '/etc/passwd', '..\\..\\x', 'a\0b', '.', '__proto__', 'x'.repeat(200)])(
    'a role or run of %j is a name, and leads nowhere',
    async (name) => {
      const root = join(folder, `confined-${Buffer.from(name).toString('hex').slice(0, 20)}`)
      const store = jsonlStore(root)
      const { progress } = idle(store)
      await progress.write('here', { role: name, seq: 1, tags: [name] })
      expect((await progress.read({ role: name })).map(text)).toEqual(['here'])
      expect(await progress.read({ runId: name })).toEqual([])
      await store.close()
      expect(readdirSync(dirname(root)).filter((entry) => !/^(confined-|run|many)/.test(entry))).toEqual([])
    },
  )

  test.each<[string, unknown, unknown]>([
    ['no content', undefined, { role: 'a', seq: 1 }],
    ['an object', { text: 'a' }, { role: 'a', seq: 1 }],
    ['no meta', 'a', undefined],
    ['no role', 'a', { seq: 1 }],
    ['an empty role', 'a', { role: '', seq: 1 }],
    ['a long role', 'a', { role: 'x'.repeat(201), seq: 1 }],
    ['half a character', 'a', { role: '\uD800', seq: 1 }],
    ['a negative number', 'a', { role: 'a', seq: -1 }],
    ['a fraction', 'a', { role: 'a', seq: 0.5 }],
    ['many tags', 'a', { role: 'a', seq: 1, tags: Array.from({ length: 33 }, () => 't') }],
    ['a level that there is not', 'a', { role: 'a', seq: 1, confidentiality: 'toString' }],
    ['17 MiB', 'a'.repeat(17 * 1024 * 1024), { role: 'a', seq: 1 }],
  ])('%s is refused', async (_, content, meta) => {
    const { progress } = idle(memoryStore())
    // From JavaScript it may be anything.
    const write = progress.write as (content: unknown, meta: unknown) => Promise<unknown>
    await expect(write(content, meta)).rejects.toMatchObject({ code: 'invalid-artifact' })
    expect(await progress.read()).toEqual([])
  })

  test.each([{ maxArtifacts: 1001 }, { maxArtifacts: -1 }, { runId: '' }, { sinceSeq: Number.NaN }])(
    'a filter of %j is refused',
    async (filter) => {
      await expect(idle(memoryStore()).progress.read(filter)).rejects.toMatchObject({ code: 'invalid-artifact' })
    },
  )

  test('known secrets are taken out of content, role and tags', async () => {
    vi.stubEnv('PROVOST_TEST_KEY', 'sk-tallow-4471')
    const store = memoryStore()
    const agent = createAgent({
      name: 'writer',
      model: scriptedModel([{ text: '' }]),
      store,
      secrets: { KEY: secretRef('env:PROVOST_TEST_KEY') },
    })
    await agent.progress.write('it is sk-tallow-4471', { role: 'sk-tallow-4471', seq: 1, tags: ['sk-tallow-4471'] })
    const [found] = await agent.progress.read()
    expect(found && text(found)).toBe('it is ⟦secret:KEY⟧')
    expect(JSON.stringify(found)).not.toContain('tallow')
  })

  test('whatever is written is read back, in the order of its numbers', async () => {
    const meta = fc.record({
      role: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
      seq: fc.nat(5),
      tags: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), { maxLength: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(meta, fc.uint8Array({ maxLength: 20 })), { maxLength: 8 }), async (writes) => {
        const { progress } = idle(memoryStore())
        const last = new Map<string, readonly [ProgressMeta, Uint8Array]>()
        for (const write of writes) {
          await progress.write(write[1], write[0])
          last.set(JSON.stringify([write[0].role, write[0].seq]), write)
        }
        const found = await progress.read()
        expect(found.map(({ seq }) => seq)).toEqual(found.map(({ seq }) => seq).toSorted((a, b) => a - b))
        const key = (role: string, seq: number, content: Uint8Array, tags: readonly string[] = []) =>
          JSON.stringify([role, seq, [...content], tags])
        expect(found.map(({ role, seq, content, tags }) => key(role, seq, content, tags)).toSorted()).toEqual(
          [...last.values()].map(([{ role, seq, tags }, content]) => key(role, seq, content, tags)).toSorted(),
        )
      }),
    )
  })
})
