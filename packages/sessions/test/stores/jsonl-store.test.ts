import fs, {
  appendFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { hostname } from 'node:os'
import { join, relative } from 'node:path'

import type { NewEntry, SessionStore } from '@provost/core'
import { jsonlStore } from '@provost/sessions'
import type { JsonlStoreOptions, Torn } from '@provost/sessions'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newFolder } from '../fixture/folder.ts'

let folder: ReturnType<typeof newFolder>
let dir: string
let stores: SessionStore[] = []

beforeEach(() => {
  folder = newFolder()
  dir = join(folder.path, 'store')
})
afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  folder.remove()
})

function open(options?: JsonlStoreOptions): SessionStore {
  const store = jsonlStore(dir, options)
  stores.push(store)
  return store
}

const note = (id: string, value = id): NewEntry => ({
  id,
  at: 1,
  runId: 'run',
  step: 0,
  agent: 'a',
  v: 1,
  type: 'memo',
  key: id,
  value,
})

/** Asserts that the folder is unlocked and writable. */
async function expectFree(): Promise<void> {
  const store = open()
  await write(store, 's', [note('a')])
  expect(await ids(store, 's')).toEqual(['a'])
}

async function write(store: SessionStore, log: string, entries: readonly NewEntry[], after = 0): Promise<void> {
  const lease = await store.lease(log, 'writer', 60_000)
  if (lease === 'busy') throw new Error('busy')
  await store.append(log, entries, { after, fence: lease.fence })
  await store.release(log, lease.fence)
}

async function ids(store: SessionStore, log: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { id } of store.read(log)) found.push(id)
  return found
}

describe('the files of a JSONL store', () => {
  test('are JSON lines after a line that names the log', async () => {
    await write(open(), 'session-1', [note('a'), note('b')])
    const lines = readFileSync(join(dir, 'logs', 'n-session-1.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { log: 'session-1' },
      { id: 'a', offset: 1 },
      { id: 'b', offset: 2 },
    ])
  })

  test('stay in their folder for any name, and are readable by their owner only', async () => {
    const store = open()
    for (const name of ['../../escape', '/tmp/escape', 'a/b', '..', '', 'nul\0', 'x'.repeat(5_000)]) {
      await write(store, name, [note('a')])
      await store.deliver(name, '../t', 1, 'ann')
    }
    expect(readdirSync(folder.path)).toEqual(['store'])
    const files = globSync('**/*.jsonl', { cwd: dir })
    expect(files).toHaveLength(14)
    expect(files.every((file) => /^(?:logs|inbox)[/\\][hn]-[\w-]+\.jsonl$/.test(relative(dir, join(dir, file))))).toBe(
      true,
    )
    expect(files.every((file) => (statSync(join(dir, file)).mode & 0o77) === 0)).toBe(true)
  })

  test('are removed with their session', async () => {
    const store = open()
    await write(store, 's', [note('a')])
    await store.deliver('s', 't', 1, 'ann')
    await store.delete('s')
    expect(globSync('{logs,inbox,blobs}/*', { cwd: dir })).toEqual([])
  })

  test('are rejected when a newer release wrote them', async () => {
    await open().close()
    writeFileSync(join(dir, 'store.json'), '{"version":99,"epoch":1}')
    expect(() => open()).toThrow(expect.objectContaining({ code: 'newer-store' }))
    writeFileSync(join(dir, 'store.json'), '{"version":1,"epoch":1}')
    expect(open().ephemeral).toBeUndefined()
  })
})

describe('a torn end of a file', () => {
  const path = (): string => join(dir, 'logs', 'n-s.jsonl')

  test.for<[string, string]>([
    ['half a line', '{"id":"c","off'],
    ['half an append', '{"id":"c","offset":3} \n'],
    ['half an append and half a line', '{"id":"c","offset":3} \n{"id":"d"'],
    ['zeros', '\0\0\0\0\0\0'],
  ])('with %s is cut off, reported, and overwritten', async ([, torn]) => {
    const first = open()
    await write(first, 's', [note('a'), note('b')])
    await first.close()
    appendFileSync(path(), torn)
    const told: Torn[] = []
    const store = open({ onRepair: (one) => void told.push(one) })
    expect(await ids(store, 's')).toEqual(['a', 'b'])
    expect(told).toEqual([{ path: path(), bytes: torn.length }])
    await write(store, 's', [note('c')], 2)
    expect(await ids(store, 's')).toEqual(['a', 'b', 'c'])
  })

  test('after the header alone leaves an empty log', async () => {
    const first = open()
    await write(first, 's', [note('a')])
    await first.close()
    writeFileSync(path(), '{"log":"s"} \n{"id":"a"')
    const store = open({ onRepair() {} })
    expect(await ids(store, 's')).toEqual([])
    await write(store, 's', [note('b')])
    expect(await ids(store, 's')).toEqual(['b'])
  })

  test('becomes a process warning without onRepair', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const first = open()
    await write(first, 's', [note('a')])
    await first.close()
    appendFileSync(path(), 'torn')
    expect(await ids(open(), 's')).toEqual(['a'])
    expect(warn).toHaveBeenCalledWith(expect.stringContaining(path()), { code: 'PROVOST_TORN_LOG' })
  })

  test('is repaired, while a damaged line in the middle is an error', async () => {
    const first = open()
    await write(first, 's', [note('a'), note('b')])
    await first.close()
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('"id":"a"', '"id":"'))
    await expect(ids(open(), 's')).rejects.toMatchObject({ code: 'log-damaged' })
  })
})

describe('a manipulated store', () => {
  async function damagedBy(meddle: (lines: string[]) => readonly string[]): Promise<SessionStore> {
    const store = open()
    await write(store, 's', [note('a'), note('b'), note('c')])
    await store.close()
    const path = join(dir, 'logs', 'n-s.jsonl')
    writeFileSync(path, meddle(readFileSync(path, 'utf8').split('\n')).join('\n'))
    return open()
  }

  test.for<[string, (lines: string[]) => readonly string[]]>([
    ['lacks a line', (lines) => lines.toSpliced(2, 1)],
    ['has a line twice', (lines) => lines.toSpliced(2, 0, lines[2] ?? '')],
    ['has its lines in another order', ([whose = '', a = '', b = '', ...rest]) => [whose, b, a, ...rest]],
    ['holds a line that is no entry', (lines) => lines.toSpliced(2, 1, '{}')],
  ])('is rejected when a log %s', async ([, meddle]) => {
    const store = await damagedBy(meddle)
    await expect(ids(store, 's')).rejects.toMatchObject({ code: 'log-damaged' })
  })

  test('is rejected when an inbox contains a line that is not a delivery', async () => {
    const store = open()
    await store.deliver('s', 't', 1, 'ann')
    writeFileSync(join(dir, 'inbox', 'n-s.jsonl'), '{"a":1}\n')
    await store.close()
    await expect(open().deliver('s', 't', 1, 'ann')).rejects.toMatchObject({ code: 'log-damaged' })
  })

  test.for(['', 'x', 'null', '{"version":1}', '{"version":1,"epoch":-1}', '{"version":1,"epoch":9007199254740991}'])(
    'is rejected when its store.json contains %j, since fences must rise across processes',
    async (text) => {
      await open().close()
      writeFileSync(join(dir, 'store.json'), text)
      expect(() => open()).toThrow(expect.objectContaining({ code: 'log-damaged' }))
      expect(readFileSync(join(dir, 'store.json'), 'utf8')).toBe(text)
    },
  )
})

describe('the lock of a folder', () => {
  const lock = (): string => join(dir, 'lock')
  const locked = { code: 'store-locked', message: expect.stringContaining(`process ${process.pid}`) }

  test('rejects a second store and names the holder until the first store closes', async () => {
    const first = open()
    expect(() => jsonlStore(dir)).toThrow(expect.objectContaining(locked))
    await first.close()
    await expectFree()
  })

  test('of a dead process is taken over', async () => {
    await open().close()
    // No process has this id: it is above the limit of every system.
    writeFileSync(lock(), JSON.stringify({ pid: 2 ** 30, host: hostname() }))
    await expectFree()
  })

  test('of a dead process is taken over when another process has its id now', async () => {
    await open().close()
    writeFileSync(lock(), JSON.stringify({ pid: process.ppid, host: hostname(), birth: 'another boot 1' }))
    await expectFree()
  })

  test.runIf(process.platform === 'linux')('of a living process is respected', async () => {
    await open().close()
    writeFileSync(lock(), JSON.stringify({ pid: process.ppid, host: hostname() }))
    expect(() => open()).toThrow(expect.objectContaining({ code: 'store-locked' }))
  })

  test('of another machine is respected, because its process cannot be checked', async () => {
    await open().close()
    writeFileSync(lock(), JSON.stringify({ pid: 2 ** 30, host: 'elsewhere' }))
    expect(() => open()).toThrow(
      expect.objectContaining({ message: expect.stringContaining('elsewhere'), hint: expect.stringContaining(lock()) }),
    )
  })

  test('with invalid content is taken over', async () => {
    await open().close()
    writeFileSync(lock(), 'x')
    await expectFree()
  })
})

test.for(['always', 'interval', 'never'] as const)(
  'a store with sync %s writes and reads its entries',
  async (sync) => {
    const store = open({ sync })
    await write(store, 's', [note('a')])
    await store.close()
    expect(await ids(open(), 's')).toEqual(['a'])
  },
)

test.for(['ENOSPC', 'EDQUOT', 'EFBIG'])(
  'a full disk (%s) fails with store-full, and the append succeeds once there is room',
  async (code) => {
    const store = open()
    const lease = await store.lease('s', 'writer', 60_000)
    const fence = lease === 'busy' ? 0 : lease.fence
    const full = Object.assign(new Error('no room'), { code })
    const writing = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw full
    })
    syncBuiltinESMExports()
    const append = () => store.append('s', [note('a')], { after: 0, fence })
    try {
      await expect(append()).rejects.toMatchObject({ code: 'store-full', cause: full })
      await expect(store.deliver('s', 't', 1, 'ann')).rejects.toMatchObject({ code: 'store-full' })
      await expect(store.putBlob(new Uint8Array(9))).rejects.toMatchObject({ code: 'store-full' })
    } finally {
      writing.mockRestore()
      syncBuiltinESMExports()
    }
    expect(await append()).toEqual({ offset: 1, existing: [] })
  },
)

test('a lease lasts for its duration when the machine clock changes', async () => {
  const store = open()
  await store.lease('s', 'writer', 60_000)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
  expect(await store.lease('s', 'other', 60_000)).toBe('busy')
  vi.useRealTimers()
})

describe('an inbox', () => {
  test('accepts one delivery for a token while a writer releases its lease', async () => {
    const store = open()
    const lease = await store.lease('s', 'writer', 60_000)
    await store.deliver('s', 'before', 0, 'ann')
    const [first, , second] = await Promise.all([
      store.deliver('s', 'token', 1, 'ann'),
      store.release('s', lease === 'busy' ? 0 : lease.fence),
      store.deliver('s', 'token', 2, 'ben'),
    ])
    expect([first, second].toSorted()).toEqual(['accepted', 'duplicate'])
    const found = []
    for await (const { id } of store.inbox('s')) found.push(id)
    expect(new Set(found).size).toBe(2)
  })

  test('is read again after a failed read', async () => {
    const store = open()
    const inTheWay = join(dir, 'inbox', 'n-s.jsonl')
    mkdirSync(inTheWay)
    await expect(store.deliver('s', 'token', 1, 'ann')).rejects.toThrow('EISDIR')
    rmdirSync(inTheWay)
    expect(await store.deliver('s', 'token', 1, 'ann')).toBe('accepted')
  })
})
