import { once } from 'node:events'
import fs, { existsSync, fstatSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

import type { Entry, NewEntry, SessionStore } from '@provost/core'
import { sqliteStore } from '@provost/sessions'
import type { SqliteStoreOptions } from '@provost/sessions'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newFolder } from '../fixture/folder.ts'

let folder: ReturnType<typeof newFolder>
let path: string
let stores: SessionStore[] = []

beforeEach(() => {
  folder = newFolder()
  path = join(folder.path, 'deep', 'sessions.db')
})
afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  folder.remove()
})

function open(options?: SqliteStoreOptions): SessionStore {
  const store = sqliteStore(path, options)
  stores.push(store)
  return store
}

const base = { at: 1, runId: 'run', step: 0, agent: 'a', v: 1 } as const
const note = (id: string, value = id): NewEntry => ({ ...base, id, type: 'memo', key: id, value })
const started: NewEntry = { ...base, id: 'started', type: 'call', op: 'started', callId: 'c', fence: 1 }

async function take(store: SessionStore, log = 's'): Promise<number> {
  const lease = await store.lease(log, 'writer', 60_000)
  if (lease === 'busy') throw new Error('busy')
  return lease.fence
}

describe('the file of a SQLite store', () => {
  test('is created with its folder and is readable by its owner only', async () => {
    await take(open())
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600)
  })

  test('is a single file again after every store closed it', async () => {
    const store = open()
    await store.append('s', [note('a')], { after: 0, fence: await take(store) })
    await store.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  test('of another application is rejected and stays unchanged', () => {
    const foreign = join(folder.path, 'foreign.db')
    const db = new DatabaseSync(foreign)
    db.exec('create table users (name text)')
    db.close()
    expect(() => sqliteStore(foreign)).toThrow(expect.objectContaining({ code: 'not-a-store' }))
  })

  test('is rejected with the reason when it is not a database or its folder is missing', () => {
    const text = join(folder.path, 'notes.txt')
    writeFileSync(
      text,
      'not a database, but long enough to be looked at by SQLite, which reads a header of 100 bytes first',
    )
    expect(() => sqliteStore(text)).toThrow(expect.objectContaining({ code: 'store-unusable' }))
    expect(() => sqliteStore(join(text, 'below'))).toThrow(expect.objectContaining({ code: 'store-unusable' }))
  })

  test('of a newer release is rejected', async () => {
    await open().close()
    const db = new DatabaseSync(path)
    db.exec('pragma user_version = 99')
    db.close()
    expect(() => sqliteStore(path)).toThrow(expect.objectContaining({ code: 'newer-store' }))
  })

  test('contains no text of a deleted session', async () => {
    const store = open()
    const secret = 'the combination is 4711'
    await store.append('s', [note('a', secret.repeat(500)), note('b', secret)], { after: 0, fence: await take(store) })
    await store.deliver('s', 't', secret, 'ann')
    await store.delete('s')
    const bytes = [path, `${path}-wal`].filter((file) => existsSync(file)).map((file) => readFileSync(file, 'latin1'))
    expect(bytes.join('').includes('4711')).toBe(false)
  })
})

describe('a flush to the disk', () => {
  /** Counts the flushes, and checks that each one was for the write-ahead log. */
  async function flushes(options: SqliteStoreOptions, write: (store: SessionStore) => Promise<unknown>) {
    const forced = vi.spyOn(fs, 'fdatasync')
    syncBuiltinESMExports()
    try {
      const store = open(options)
      await write(store)
      const { ino } = statSync(`${path}-wal`)
      expect(forced.mock.calls.every(([file]) => fstatSync(file).ino === ino)).toBe(true)
      return forced.mock.calls.length
    } finally {
      forced.mockRestore()
      syncBuiltinESMExports()
    }
  }

  const append = (entry: NewEntry) => async (store: SessionStore) =>
    store.append('s', [entry], { after: 0, fence: await take(store) })
  const deliver = (store: SessionStore) => store.deliver('s', 'token', 'yes', 'ann')

  test.for<[string, SqliteStoreOptions, (store: SessionStore) => Promise<unknown>, number]>([
    ['the start of a call by default', {}, append(started), 1],
    ['a delivery by default', {}, deliver, 1],
    ['no repeatable call by default', {}, append({ ...started, repeatable: true }), 0],
    ['no other entry by default', {}, append(note('a')), 0],
    ['every append with sync always', { sync: 'always' }, append(note('a')), 1],
    ['nothing with sync never', { sync: 'never' }, append(started), 0],
  ])('covers %s', async ([, options, write, times]) => {
    expect(await flushes(options, write)).toBe(times)
  })

  test('serves all sessions that wait for it', async () => {
    const logs = ['a', 'b', 'c', 'd', 'e']
    const times = await flushes({}, async (store) => {
      const fences = await Promise.all(logs.map((log) => take(store, log)))
      await Promise.all(logs.map((log, n) => store.append(log, [started], { after: 0, fence: fences[n] ?? 0 })))
    })
    // Written while the first flush was running.
    expect(times).toBe(2)
  })

  test('fails the append when the disk fails', async () => {
    const failing = vi.spyOn(fs, 'fdatasync').mockImplementation((_, done) => done(new Error('the disk is gone')))
    syncBuiltinESMExports()
    try {
      await expect(append(started)(open())).rejects.toThrow('the disk is gone')
    } finally {
      failing.mockRestore()
      syncBuiltinESMExports()
    }
  })
})

describe('a log', () => {
  const size = 300
  const filled = async (value = (n: number) => `${n}`): Promise<SessionStore> => {
    const store = open({ sync: 'never' })
    const notes = Array.from({ length: size }, (_, n) => note(`n${n}`, value(n)))
    await store.append('s', notes, { after: 0, fence: await take(store) })
    return store
  }
  async function pagesIn(store: SessionStore): Promise<readonly (readonly Entry[])[]> {
    const pages: (readonly Entry[])[] = []
    for await (const page of store.read('s').pages?.() ?? []) pages.push(page)
    return pages
  }
  const whole = Array.from({ length: size }, (_, n) => n + 1)

  test('of short and long entries is read in pages of bounded length', async () => {
    const store = await filled((n) => 'x'.repeat(n % 100 === 0 ? 5_000_000 : 10))
    const pages = await pagesIn(store)
    expect(pages.flat().map(({ offset }) => offset)).toEqual(whole)
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.flat().every((entry) => Object.isFrozen(entry))).toBe(true)
  })

  test.each([
    ['two entries in one row', `update entries set body = body || ',' || body where place % 16777216 = 7`],
    ['an entry in two rows', `update entries set body = substr(body, 1, 20) where place % 16777216 = 7`],
    ['the end of a list', `update entries set body = body || '],[' || body where place % 16777216 = 7`],
    ['an empty row', `update entries set body = '' where place % 16777216 = 7`],
  ])('whose file was changed to contain %s is rejected', async (_, meddling) => {
    const store = await filled()
    const db = new DatabaseSync(path)
    expect(db.prepare(meddling).run().changes).toBe(1)
    db.close()
    await expect(pagesIn(store)).rejects.toThrow(SyntaxError)
  })
})

test('a store in memory declares that its data ends with it', async () => {
  const store = sqliteStore(':memory:')
  stores.push(store)
  expect(store.ephemeral).toBe(true)
  expect(open().ephemeral).toBeUndefined()
  await store.append('s', [note('a')], { after: 0, fence: await take(store) })
})

test('a writer that waits too long for another process fails with a retryable error', async () => {
  const store = open({ busyMs: 5 })
  const fence = await take(store)
  const other = new DatabaseSync(path)
  other.exec('begin immediate')
  const append = () => store.append('s', [note('a')], { after: 0, fence })
  await expect(append()).rejects.toMatchObject({ code: 'store-busy', retryable: true })
  other.exec('rollback')
  other.close()
  expect(await append()).toEqual({ offset: 1, existing: [] })
})

test('a full disk fails with store-full, and the append succeeds once there is room', async () => {
  const store = open()
  const fence = await take(store)
  const append = () => store.append('s', [note('a')], { after: 0, fence })
  const full = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
  const run = vi.spyOn(StatementSync.prototype, 'run').mockImplementation(() => {
    throw full
  })
  await expect(append()).rejects.toMatchObject({ code: 'store-full', cause: full })
  await expect(store.deliver('s', 't', 1, 'ann')).rejects.toMatchObject({ code: 'store-full' })
  run.mockRestore()
  expect(await append()).toEqual({ offset: 1, existing: [] })
})

test('a failed append of several rows stores none of them', async () => {
  const store = open()
  const fence = await take(store)
  const broken = Object.defineProperty(note('b'), 'toJSON', {
    enumerable: true,
    value() {
      throw new Error('no JSON')
    },
  })
  await expect(store.append('s', [note('a'), broken], { after: 0, fence })).rejects.toThrow('no JSON')
  expect(await store.append('s', [note('a')], { after: 0, fence })).toEqual({ offset: 1, existing: [] })
})

describe('the lease of a dead writer after the clock was set back', () => {
  const day = 86_400_000
  const later = Date.now()
  const at = (time: number): void => void vi.useFakeTimers({ toFake: ['Date'], now: time })
  afterEach(() => vi.useRealTimers())

  test('has expired when it begins further ahead than its duration', async () => {
    const store = open()
    at(later)
    await take(store)
    at(later - day)
    expect(await store.lease('s', 'heir', 60_000)).not.toBe('busy')
  })

  test('is respected after a small change, and a renewal starts it at the present time', async () => {
    const store = open()
    at(later)
    await take(store)
    at(later - 59_000)
    expect(await store.lease('s', 'heir', 60_000)).toBe('busy')
    at(later - day)
    await take(store)
    expect(await store.lease('s', 'heir', 60_000)).toBe('busy')
    at(later)
    expect(await store.lease('s', 'heir', 60_000)).not.toBe('busy')
  })

  test('of an older release without a begin is respected', async () => {
    const store = open()
    const db = new DatabaseSync(path)
    at(later)
    await take(store)
    // As that release left a file, and as an open process of that release still writes it.
    withoutWakes(db)
    for (const column of ['begun', 'takeovers', 'quarantined']) db.exec(`alter table logs drop column ${column}`)
    db.exec('pragma user_version = 2')
    const late = open()
    expect(await late.lease('s', 'heir', 60_000)).toBe('busy')
    at(later - day)
    expect(await late.lease('s', 'heir', 60_000)).toBe('busy')
    at(later + day)
    expect(await late.lease('s', 'heir', 60_000)).not.toBe('busy')
    db.close()
  })
})

/** Removes what the migrations to the wake index, to tombstones and to summaries added. */
function withoutWakes(db: DatabaseSync): void {
  db.exec(
    'drop table summaries; drop table changes; drop table erased; drop index logs_due; drop index logs_quarantined',
  )
  for (const column of ['agent', 'due_at', 'mail']) db.exec(`alter table logs drop column ${column}`)
}

test('the open sessions of an older release are due once after the migration', async () => {
  const store = open()
  const place = { at: 1, runId: 'run', step: 0, agent: 'desk', v: 1 } as const
  const begun: NewEntry = {
    ...place,
    id: 'r',
    type: 'run',
    op: 'started',
    manifest: { agent: 'desk', extensions: [], tools: [] },
  }
  const ends: Readonly<Record<string, NewEntry>> = {
    waiting: { ...place, id: 'x', type: 'run', op: 'suspended', seen: '0' },
    over: { ...place, id: 'x', type: 'run', op: 'ended', status: 'completed' },
  }
  for (const [id, end] of Object.entries(ends)) {
    const lease = await store.lease(id, 'writer', 60_000)
    if (lease === 'busy') throw new Error('busy')
    await store.append(id, [begun, end], { after: 0, fence: lease.fence })
    await store.release(id, lease.fence)
  }
  const db = new DatabaseSync(path)
  withoutWakes(db)
  db.exec('pragma user_version = 5')
  db.close()
  const late = open()
  const claims = { agents: ['desk'], limit: 10, hiddenMs: 60_000 }
  expect(await late.claimDue?.(claims)).toEqual([{ id: 'waiting', agent: 'desk', takeovers: 0 }])
  expect(await late.claimDue?.(claims)).toEqual([])
})

describe('two handles with one fence', () => {
  test.each([0, 3])('know the entries of each other after %i appends in one turn', async (more) => {
    const [one, other] = [open(), open()]
    const fence = await take(one)
    for (let after = 0; after <= more; after++) await one.append('s', [note(`${after}`)], { after, fence })
    await other.append('s', [note('b')], { after: more + 1, fence })
    await expect(one.append('s', [note('c')], { after: more + 1, fence })).rejects.toMatchObject({
      code: 'wrong-offset',
    })
    const again = await one.append('s', [note('b'), note('c')], { after: more + 1, fence })
    expect(again).toMatchObject({ offset: more + 3, existing: [{ id: 'b', offset: more + 2 }] })
    expect(await other.append('s', [note('d')], { after: more + 3, fence })).toMatchObject({ offset: more + 4 })
  })
})

test('a writer whose log was deleted through another handle is fenced, for known and new entries', async () => {
  const [store, other] = [open(), open()]
  await store.append('s', [note('a')], { after: 0, fence: await take(store) })
  await store.release('s', 1)
  const fence = await take(store)
  await store.append('s', [note('b')], { after: 1, fence })
  await other.delete('s')
  for (const id of ['a', 'c']) {
    await expect(store.append('s', [note(id)], { after: 2, fence })).rejects.toMatchObject({ code: 'fenced' })
  }
})

test('a reader between two pages fails with store-closed after close', async () => {
  const store = open()
  const notes = Array.from({ length: 300 }, (_, n) => note(`${n}`))
  await store.append('s', notes, { after: 0, fence: await take(store) })
  const pages = store.read('s').pages?.()[Symbol.asyncIterator]()
  await pages?.next()
  await store.close()
  await expect(pages?.next()).rejects.toMatchObject({ code: 'store-closed' })
})

describe('a watcher', () => {
  test('is notified of earlier changes when another watcher exists', async () => {
    const [store, other] = [open({ pollMs: 1 }), open()]
    const abort = new AbortController()
    const first = store.watch('a', abort.signal)[Symbol.asyncIterator]()
    await first.next()
    // The second notification follows all effects of the first delivery.
    const second = first.next()
    await other.deliver('b', 'token', 1, 'ann')
    await other.deliver('a', 'token', 1, 'ann')
    await second
    expect(await store.watch('b', abort.signal)[Symbol.asyncIterator]().next()).toMatchObject({ done: false })
    abort.abort()
  })

  test('that stops iterating keeps no timer after the store is closed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const store = open()
      const hint = store.watch('s', new AbortController().signal)[Symbol.asyncIterator]().next()
      await store.deliver('s', 'token', 1, 'ann')
      await hint
      expect(vi.getTimerCount()).toBe(1)
      await store.close()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('appends of one turn of the event loop', () => {
  test('by several handles of one file to any logs are all stored', async () => {
    const handles = [open(), open(), open()]
    const fences = await Promise.all(handles.map((store, n) => take(store, `log ${n}`)))
    for (let count = 0; count < 30; count++) {
      for (const [n, store] of handles.entries()) {
        for (let more = 0; more < n; more++) {
          const after = count * n + more
          await store.append(`log ${n}`, [note(`${after}`)], { after, fence: fences[n] ?? 0 })
        }
      }
    }
    for (const [n, store] of handles.entries()) {
      const elsewhere = handles[(n + 1) % 3] ?? store
      expect((await all(elsewhere, `log ${n}`)).map(({ id }) => id)).toEqual(
        Array.from({ length: 30 * n }, (_, k) => `${k}`),
      )
    }
  })

  test('do not hide entries of other handles from readers', async () => {
    const [store, other] = [open(), open({ sync: 'never' })]
    const fence = await take(store)
    for (let after = 0; after < 3; after++) await store.append('s', [note(`${after}`)], { after, fence })
    await other.deliver('s', 'token', 'hello', 'user')
    const heard = []
    for await (const { value } of store.inbox('s')) heard.push(value)
    expect(heard).toEqual(['hello'])
  })

  test('are fenced after another writer takes the lease between them', async () => {
    const [store, other] = [open(), open()]
    const lease = await store.lease('s', 'first', 0)
    const fence = lease === 'busy' ? 0 : lease.fence
    for (let after = 0; after < 3; after++) await store.append('s', [note(`${after}`)], { after, fence })
    const next = await take(other)
    await expect(store.append('s', [note('late')], { after: 3, fence })).rejects.toMatchObject({ code: 'fenced' })
    await other.append('s', [note('next')], { after: 3, fence: next })
    expect((await all(store, 's')).map(({ id }) => id)).toEqual(['0', '1', '2', 'next'])
  })

  test('permit the write-ahead log to be truncated, for any number of appends', async () => {
    const store = open({ sync: 'never' })
    const fence = await take(store)
    for (let after = 0; after < 9_000; after++) await store.append('s', [note(`${after}`)], { after, fence })
    // SQLite copies it at 4,000 pages of 4 KiB; each append writes one or two.
    expect(statSync(`${path}-wal`).size).toBeLessThan(6_000 * 4_096)
  })

  test.skipIf(process.env['PROVOST_TEST_FULL'] !== '1')(
    'permit the truncation while other handles read all the time (in full runs)',
    async () => {
      const store = open({ sync: 'never' })
      const fence = await take(store)
      // The two reads overlap, so that one is always active.
      const reading = `
        const { workerData, parentPort } = require('node:worker_threads')
        const { DatabaseSync } = require('node:sqlite')
        const handles = [0, 1].map(() => new DatabaseSync(workerData, { readOnly: true, timeout: 5_000 }))
        const view = (db) => db.exec('begin; select * from fences')
        view(handles[0])
        parentPort.postMessage('reading')
        for (let turn = 0; ; turn++) {
          view(handles[(turn + 1) % 2])
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
          handles[turn % 2].exec('commit')
        }`
      const reader = new Worker(reading, { eval: true, workerData: path })
      await once(reader, 'message')
      const long = 'x'.repeat(100_000)
      // 200 MB. On a busy machine a reader may sleep for longer than an attempt, so not every attempt has to succeed.
      for (let after = 0; after < 2_048; after++) await store.append('s', [note(`${after}`, long)], { after, fence })
      await reader.terminate()
      expect(statSync(`${path}-wal`).size).toBeLessThan(128 * 1024 * 1024)
    },
  )
})

async function all(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}
