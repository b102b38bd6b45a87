import assert from 'node:assert/strict'

import type { NewEntry, SessionInfo, SessionStore } from '@provost/core'

import { all, hostileNames, idsOf, leaving, note, spawned, started, take, turned, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const helloHash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'

export const blobChecks: readonly CheckDraft[] = [
  {
    name: 'blobs are stored unchanged under their SHA-256',
    async run(bench) {
      const store = await bench.store()
      const bytes = bytesOf('hello')
      assert.equal(await store.putBlob(bytes), helloHash)
      bytes.fill(0)
      assert.equal(new TextDecoder().decode(await store.blob(helloHash)), 'hello')
      assert.equal(await store.putBlob(bytesOf('hello')), helloHash)
    },
  },
  {
    name: 'blobs can be empty, large, and hold any bytes',
    async run(bench) {
      const store = await bench.store()
      for (const length of [0, 256, 3_000_000]) {
        const bytes = new Uint8Array(length)
        for (let n = 0; n < length; n++) bytes[n] = (n * 7) % 256
        const back = await store.blob(await store.putBlob(bytes))
        assert.ok(back && Buffer.compare(back, bytes) === 0, `${length} bytes came back changed`)
      }
    },
  },
  {
    name: 'an unknown or invalid hash returns no blob',
    async run(bench) {
      const store = await bench.store()
      for (const hash of ['0'.repeat(64), 'unknown', ...hostileNames]) assert.equal(await store.blob(hash), undefined)
    },
  },
]

const sessions: readonly (readonly [string, readonly NewEntry[]])[] = [
  ['s3', [started('r3', { principal: 'bob' })]],
  ['s1', [started('r1', { principal: 'ann' }), turned('e1', 'completed')]],
  ['s2', [started('r2', { principal: 'ann' }), turned('e2', 'suspended', 7), note('last')]],
  ['s4', [started('r4'), turned('e4', 'failed', 9)]],
  ['s5', [started('r5', { parent: 's1' })]],
  ['s6', [note('a')]],
]

async function filled(store: SessionStore): Promise<SessionStore> {
  for (const [name, entries] of sessions) await write(store, name, entries)
  return store
}

export const listChecks: readonly CheckDraft[] = [
  {
    name: 'the list has a row for each session in the order of ids, and none for other logs',
    async run(bench) {
      const store = await filled(await (await bench.place()).open())
      const rows: readonly SessionInfo[] = [
        { id: 's1', agent: 'desk', status: 'idle', principal: 'ann', updatedAt: 1 },
        { id: 's2', agent: 'desk', status: 'suspended', principal: 'ann', updatedAt: 1 },
        { id: 's3', agent: 'desk', status: 'running', principal: 'bob', updatedAt: 1 },
        { id: 's4', agent: 'desk', status: 'failed', updatedAt: 9 },
      ]
      assert.deepEqual(await all(store.list()), rows)
    },
  },
  {
    name: 'the list can be filtered and read in pages',
    async run(bench) {
      const store = await filled(await (await bench.place()).open())
      const ids = async (filter: Parameters<SessionStore['list']>[0]): Promise<readonly string[]> =>
        (await all(store.list(filter))).map(({ id }) => id)
      assert.deepEqual(await ids({ principal: 'ann' }), ['s1', 's2'])
      assert.deepEqual(await ids({ status: 'failed' }), ['s4'])
      assert.deepEqual(await ids({ principal: 'ann', status: 'suspended' }), ['s2'])
      assert.deepEqual(await ids({ limit: 2 }), ['s1', 's2'])
      assert.deepEqual(await ids({ after: 's2', limit: 2 }), ['s3', 's4'])
      assert.deepEqual(await ids({ principal: 'ann', after: 's1' }), ['s2'])
      assert.deepEqual(await ids({ principal: 'unknown' }), [])
      assert.deepEqual(await ids({ limit: 0 }), [])
    },
  },
  {
    name: 'the list reflects changes of a session',
    async run(bench) {
      const store = await (await bench.place()).open()
      const status = async (): Promise<string | undefined> => (await all(store.list()))[0]?.status
      const fence = await take(store, 's')
      let after = 0
      const append = async (entry: NewEntry): Promise<void> => {
        await store.append('s', [entry], { after, fence })
        after++
      }
      await append(started('r1', { principal: 'ann' }))
      await append(turned('a', 'suspended'))
      assert.equal(await status(), 'suspended')
      await append(turned('b', 'resumed'))
      assert.equal(await status(), 'running')
      await append(turned('c', 'failed'))
      await append(started('r2', { principal: 'bob' }))
      await append(turned('d', 'completed', 12))
      assert.deepEqual(await all(store.list()), [
        { id: 's', agent: 'desk', status: 'idle', principal: 'ann', updatedAt: 12 },
      ])
    },
  },
  {
    name: 'the list accepts hostile names, and can be read page by page',
    async run(bench) {
      const store = await (await bench.place()).open()
      for (const name of hostileNames) await write(store, name, [started('r', { principal: name })])
      const found: string[] = []
      for (let after: string | undefined; ;) {
        const [row] = await all(store.list({ limit: 1, ...(after !== undefined && { after }) }))
        if (!row) break
        assert.equal(row.principal, row.id)
        found.push((after = row.id))
        assert.ok(found.length <= hostileNames.length, 'the pages repeat rows')
      }
      assert.deepEqual(new Set(found), new Set(hostileNames))
      for (const name of hostileNames) {
        assert.deepEqual(
          (await all(store.list({ principal: name }))).map(({ id }) => id),
          [name],
        )
      }
    },
  },
]

export const deleteChecks: readonly CheckDraft[] = [
  {
    name: 'deleting removes the log, those of its children, and their inboxes, and nothing else',
    async run(bench) {
      const store = await (await bench.place()).open()
      const logs: readonly (readonly [string, readonly NewEntry[]])[] = [
        ['main', [started('r1'), spawned('c1', 'child'), spawned('c2', 'main')]],
        ['child', [started('r2', { parent: 'main' }), spawned('c2', 'grandchild')]],
        ['grandchild', [note('g'), leaving('g2', 'r2')]],
        ['progress/run/r2', [note('a')]],
        ['other', [started('r3')]],
      ]
      for (const [name, entries] of logs) await write(store, name, entries)
      for (const name of ['main', 'child', 'other']) await store.deliver(name, 't', 1, 'ann')
      await store.delete('main')
      for (const deleted of ['main', 'child', 'grandchild', 'progress/run/r2'])
        assert.deepEqual(await idsOf(store, deleted), [])
      for (const deleted of ['main', 'child']) assert.deepEqual(await all(store.inbox(deleted)), [])
      assert.deepEqual(await idsOf(store, 'other'), ['r3'])
      assert.equal((await all(store.inbox('other'))).length, 1)
      assert.deepEqual(
        (await all(store.list())).map(({ id }) => id),
        ['other'],
      )
      await store.delete('never was')
    },
  },
  {
    name: 'deleting keeps a session that a log falsely claims as its child',
    async run(bench) {
      const store = await bench.store()
      const [thief, victim] = [bench.name(), bench.name()]
      await write(store, victim, [started('r1')])
      // Nor a log of another run.
      await write(store, `progress/run/${victim}`, [note('a')])
      await write(store, thief, [started('r2'), spawned('c1', victim), leaving('c2', 'r2', victim)])
      await store.delete(thief)
      assert.deepEqual(await idsOf(store, victim), ['r1'])
      assert.deepEqual(await idsOf(store, `progress/run/${victim}`), ['a'])
    },
  },
  {
    name: 'deleting ends the lease: an active writer is fenced, and the next one starts an empty log',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      const fence = await write(store, log, [note('a')])
      await store.delete(log)
      const late = () => store.append(log, [note('b')], { after: 0, fence })
      await assert.rejects(late(), { code: 'fenced' })
      const next = await take(store, log, 'other')
      assert.ok(next > fence)
      await assert.rejects(late(), { code: 'fenced' })
      assert.equal((await store.append(log, [note('a')], { after: 0, fence: next })).offset, 1)
      assert.deepEqual(await store.deliver(log, 't', 1, 'ann'), 'accepted')
    },
  },
  {
    name: 'deleting removes the blobs that no other log mentions',
    async run(bench) {
      const store = await (await bench.place()).open()
      const own = await store.putBlob(bytesOf('own'))
      const shared = await store.putBlob(bytesOf('shared'))
      const loose = await store.putBlob(bytesOf('loose'))
      await write(store, 'main', [note('a', { file: own, more: `see blob:${shared}.` }), spawned('c', 'child')])
      await write(store, 'child', [note('b', [own])])
      await write(store, 'other', [note('c', shared)])
      await store.delete('main')
      const left = await Promise.all([own, shared, loose].map(async (hash) => (await store.blob(hash)) !== undefined))
      assert.deepEqual(left, [false, true, true])
      await store.delete('other')
      assert.equal(await store.blob(shared), undefined)
    },
  },
  {
    name: 'deleting leaves a blob that was put again before a log mentions it',
    async run(bench) {
      const store = await (await bench.place()).open()
      const hash = await store.putBlob(bytesOf('twice'))
      await write(store, 'first', [note('a', hash)])
      // Stores may order puts by their clock.
      await new Promise((resolve) => setTimeout(resolve, 3))
      await store.putBlob(bytesOf('twice'))
      await store.delete('first')
      await write(store, 'second', [note('b', hash)])
      assert.ok(await store.blob(hash))
      await store.delete('second')
      assert.equal(await store.blob(hash), undefined)
    },
  },
]
