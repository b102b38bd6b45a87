import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { ProvostError } from '@provost/core'
import { auditLog, erasePrincipal, verifyReceipt } from '@provost/governance'
import { createMemory } from '@provost/memory'
import type { Memory } from '@provost/memory'
import {
  exportSession,
  folderArchive,
  importSession,
  jsonlStore,
  listEffects,
  memoryStore,
  postgresStore,
  pruneSessions,
  sqliteStore,
} from '@provost/sessions'
import { connectPostgres } from '@provost/sessions/postgres'
import { findPostgres, manualClock, scriptedModel, startPostgres } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

const key = 'a key of the audit'
const day = 86_400_000
/** What no trace of may be left. */
const canary = 'canary4711'
const schema = 'erasure'

const kinds: Readonly<Record<string, (folder: string) => Promise<SessionStore | undefined> | SessionStore>> = {
  memoryStore: () => memoryStore({ clock: manualClock() }),
  jsonlStore: (folder) => jsonlStore(join(folder, 'logs'), { clock: manualClock() }),
  sqliteStore: (folder) => sqliteStore(join(folder, 'store.db'), { clock: manualClock() }),
  postgresStore: async () =>
    findPostgres() ? postgresStore((await startPostgres()).url, { schema, clock: manualClock() }) : undefined,
}

/** An agent that pays with a child, spills a long result into a blob, and remembers what was said. */
function desk(store: SessionStore, memory: Memory) {
  const helper = createAgent({
    name: 'helper',
    model: scriptedModel([{ text: `seen ${canary}` }], { after: 'repeat-last' }),
  })
  const pay = tool({
    name: 'pay',
    effect: 'write',
    effectKey: () => 'invoice-1',
    effectScope: 'principal',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => `paid ${to} `.repeat(4_000),
    maxResultTokens: 100,
    truncation: 'spill',
  })
  const steps = [
    {
      toolCalls: [
        { name: 'pay', input: { to: canary } },
        { name: 'helper', input: { task: canary } },
      ],
    },
    { text: `Paid ${canary}.` },
  ]
  return createAgent({
    name: 'desk',
    model: scriptedModel(
      [({ messages }) => steps[messages.filter(({ role }) => role === 'assistant').length % 2] ?? {}],
      { after: 'repeat-last' },
    ),
    tools: [pay, helper.toTool({ name: 'helper', description: 'Looks.' })],
    extensions: [memory, auditLog({ key })],
    store,
  })
}

async function idsIn(store: SessionStore, principal?: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { id } of store.list(principal === undefined ? {} : { principal })) found.push(id)
  return found
}

/** Returns the bytes of all files of a folder. */
function bytesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

/** Returns all rows of the schemas of the store and its memory, as text. */
async function rowsOf(): Promise<string> {
  const { query, close } = connectPostgres({
    ...{ url: (await startPostgres()).url, connections: 1, caller: 'test', packages: ['pg'], content: 'the rows' },
    prepare: async () => undefined,
    closed: () => new ProvostError('store-closed', 'closed'),
  })
  try {
    const tables = `select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ($1, $2)`
    const texts: string[] = []
    for (const [name] of await query('', tables, [schema, `${schema}_memory`])) {
      for (const [text] of await query('', `select t::text from ${String(name)} as t`, [])) texts.push(String(text))
    }
    return texts.join('\n')
  } finally {
    await close()
  }
}

describe.each(Object.keys(kinds))('in %s', (kind) => {
  let folder: string
  let opened: SessionStore | undefined
  let memory: Memory | undefined

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'provost-erasure-'))
    opened = await kinds[kind]?.(folder)
    if (opened) memory = createMemory({ store: opened, embedder: async (all) => all.map(() => [1, 0]) })
  })

  afterEach(async () => {
    if (opened) for (const id of await idsIn(opened)) await opened.delete(id)
    await memory?.close()
    await opened?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('everything of a principal is erased for good, nothing of others, and the receipt verifies', async (ctx) => {
    const [store, known] = [opened, memory]
    if (!store || !known) return ctx.skip('PostgreSQL is not installed')
    const archive = folderArchive(join(folder, 'archive'))
    const agent = desk(store, known)
    const runs = []
    for (const id of ['ann', 'ann', 'bob']) {
      const said = id === 'ann' ? canary : 'hello'
      runs.push(await agent.run(`Pay for ${said}`, { principal: { id } }))
    }
    const [first, , others] = runs
    await known.remember(`Ann likes ${canary}.`, { source: 'crm', principal: { id: 'ann' } })
    await known.remember(`The team knows ${canary}.`, { source: 'desk', sessionId: first?.sessionId ?? '' })
    await archive.put(first?.sessionId ?? '', exportSession(store, first?.sessionId ?? ''))
    await store.transient?.keep([{ log: first?.sessionId ?? '', offset: 1, from: 1, to: 1, body: `"${canary}"` }])
    const child = `${first?.sessionId}/child/${'0'.repeat(32)}`

    const receipt = await erasePrincipal(
      store,
      { id: 'ann' },
      { by: 'dpo', key, memories: [known], archives: [archive] },
    )

    expect(receipt).toMatchObject({ archives: 1, effects: 1 })
    expect(receipt.sessions.map(({ logs }) => logs)).toEqual([2, 2])
    expect(receipt.memories).toBeGreaterThan(2)
    expect(verifyReceipt(JSON.parse(JSON.stringify(receipt)), { key, principal: 'ann' })).toMatchObject({ ok: true })
    expect(await idsIn(store, 'ann')).toEqual([])
    expect(await idsIn(store)).toEqual([others?.sessionId])
    for (const id of [first?.sessionId ?? '', child]) {
      await expect(store.lease(id, 'late', 1_000)).rejects.toMatchObject({ code: 'session-erased' })
      await expect(store.deliver(id, 'late', 1, 'ann')).rejects.toMatchObject({ code: 'session-erased' })
    }
    await expect(agent.run('again', { sessionId: first?.sessionId ?? '' })).resolves.toMatchObject({
      status: 'failed',
      error: { code: 'session-erased' },
    })
    const effects = []
    for await (const effect of listEffects(store, { scope: 'principal', scopeId: 'ann' })) effects.push(effect)
    expect(effects).toEqual([])
    expect(await known.list({ principal: { id: 'ann' } })).toEqual([])
    expect((await known.list({ principal: { id: 'bob' } })).length).toBeGreaterThan(0)
    // Bob's session has the tool's input, so only what Ann said and what was remembered of her is searched for.
    const left = kind === 'postgresStore' ? await rowsOf() : bytesIn(folder)
    expect([left.includes(`for ${canary}`), left.includes(`likes ${canary}`)]).toEqual([false, false])
    expect(JSON.stringify(receipt)).not.toContain(canary)
  })

  it('old sessions are archived and pruned by age, status and principal, and an archive can be imported', async (ctx) => {
    const [store, known] = [opened, memory]
    if (!store || !known || !store.clock || !('advance' in store.clock)) return ctx.skip('PostgreSQL is not installed')
    const clock = store.clock as ReturnType<typeof manualClock>
    const archive = folderArchive(join(folder, 'archive'))
    const agent = desk(store, known)
    const old = await agent.run('old', { principal: { id: 'ann' } })
    const bobs = await agent.run('old', { principal: { id: 'bob' } })
    const loose = await store.putBlob(new TextEncoder().encode(`loose ${kind}`))
    await clock.advance(100 * day)
    const young = await agent.run('young', { principal: { id: 'ann' } })
    const held = await store.lease(bobs.sessionId, 'a writer', day)

    const planned = await pruneSessions(store, { olderThanMs: 90 * day, dryRun: true })
    expect(planned.sessions.map(({ id }) => id).toSorted()).toEqual([old.sessionId, bobs.sessionId].toSorted())
    expect((await pruneSessions(store, { olderThanMs: 90 * day, status: ['suspended'] })).sessions).toEqual([])
    const report = await pruneSessions(store, { olderThanMs: 90 * day, archive, key: '0123456789abcdef' })
    expect(report).toMatchObject({ sessions: [{ id: old.sessionId, principal: 'ann' }], more: false })
    expect(report.skipped).toEqual([{ id: bobs.sessionId }])
    expect(await store.blob(loose)).toBeUndefined()
    expect((await idsIn(store)).toSorted()).toEqual([bobs.sessionId, young.sessionId].toSorted())
    if (held !== 'busy') await store.release(bobs.sessionId, held.fence)
    const failing = { put: () => Promise.reject(new Error('no room')) }
    const kept = await pruneSessions(store, { olderThanMs: 90 * day, principal: 'bob', archive: failing })
    expect(kept.skipped).toEqual([{ id: bobs.sessionId, error: expect.objectContaining({ message: 'no room' }) }])
    expect(await idsIn(store, 'bob')).toEqual([bobs.sessionId])

    const other = memoryStore()
    const back = await importSession(other, archive.read(old.sessionId) ?? [], { key: '0123456789abcdef' })
    expect(back).toMatchObject({ trusted: true })
    expect(await archive.remove(old.sessionId)).toBe(true)
    expect(archive.read(old.sessionId)).toBeUndefined()
  })
})
