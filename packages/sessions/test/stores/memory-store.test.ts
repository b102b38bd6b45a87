import { setImmediate as tick } from 'node:timers/promises'

import type { Entry, NewEntry, SessionInfo, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const log = 'session-1'

function base(id: string, at = 1): Pick<NewEntry, 'id' | 'at' | 'runId' | 'step' | 'agent' | 'v'> {
  return { id, at, runId: 'run', step: 0, agent: 'a', v: 1 }
}

function note(id: string, value = id): NewEntry {
  return { ...base(id), type: 'memo', key: id, value }
}

function started(id: string, principal?: string): NewEntry {
  return {
    ...base(id),
    type: 'run',
    op: 'started',
    manifest: { agent: 'desk', extensions: [], tools: [] },
    ...(principal !== undefined && { principal: { id: principal } }),
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function ids(store: SessionStore, name = log, after?: number): Promise<readonly string[]> {
  return (await all(store.read(name, after))).map(({ id }) => id)
}

/** Returns a store with a held lease. */
async function held(name = log): Promise<{ store: SessionStore; fence: number }> {
  const store = memoryStore()
  return { store, fence: await take(store, 'writer', name) }
}

async function take(store: SessionStore, owner: string, name = log, ttlMs = 1_000): Promise<number> {
  const lease = await store.lease(name, owner, ttlMs)
  if (lease === 'busy') throw new Error('busy')
  return lease.fence
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

describe('a lease', () => {
  test('admits one writer per log at a time', async () => {
    const { store } = await held()
    expect(await store.lease(log, 'other', 1_000)).toBe('busy')
    expect(await store.lease('session-2', 'other', 1_000)).toMatchObject({ fence: expect.any(Number) })
  })

  test('is renewed by its owner and keeps its fence', async () => {
    const { store, fence } = await held()
    vi.advanceTimersByTime(900)
    expect(await take(store, 'writer')).toBe(fence)
    vi.advanceTimersByTime(900)
    expect(await store.lease(log, 'other', 1_000)).toBe('busy')
    await store.append(log, [note('a')], { after: 0, fence })
  })

  test('can be taken after its expiry; the fence rises and the old writer is fenced', async () => {
    const { store, fence } = await held()
    vi.advanceTimersByTime(1_001)
    const later = await take(store, 'other')
    expect(later).toBeGreaterThan(fence)
    await expect(store.append(log, [note('a')], { after: 0, fence })).rejects.toMatchObject({ code: 'fenced' })
    await store.append(log, [note('b')], { after: 0, fence: later })
    expect(await ids(store)).toEqual(['b'])
  })

  test('is released by its fence only', async () => {
    const { store, fence } = await held()
    await store.release(log, fence - 1)
    expect(await store.lease(log, 'other', 1_000)).toBe('busy')
    await store.release(log, fence)
    await store.release(log, fence)
    expect(await take(store, 'other')).toBeGreaterThan(fence)
    await store.release('unknown', 1)
  })

  test('permits no append after its release', async () => {
    const { store, fence } = await held()
    await store.release(log, fence)
    await expect(store.append(log, [note('a')], { after: 0, fence })).rejects.toMatchObject({ code: 'fenced' })
  })

  test('lasts for its duration when the machine clock changes', async () => {
    const { store } = await held()
    vi.setSystemTime(Date.now() + 86_400_000)
    expect(await store.lease(log, 'other', 1_000)).toBe('busy')
  })

  test('is required for an append', async () => {
    await expect(memoryStore().append(log, [note('a')], { after: 0, fence: 0 })).rejects.toMatchObject({
      code: 'fenced',
    })
  })
})

describe('an append', () => {
  test('assigns offsets from 1 without a gap, and freezes stored entries', async () => {
    const { store, fence } = await held()
    expect(await store.append(log, [note('a'), note('b')], { after: 0, fence })).toEqual({ offset: 2, existing: [] })
    expect(await store.append(log, [note('c')], { after: 2, fence })).toEqual({ offset: 3, existing: [] })
    const entries = await all(store.read(log))
    expect(entries.map(({ id, offset }) => [id, offset])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
    expect(entries.every(Object.isFrozen)).toBe(true)
  })

  test('of a known id adds no row and returns the stored entry', async () => {
    const { store, fence } = await held()
    await store.append(log, [note('a', 'first')], { after: 0, fence })
    const again = await store.append(log, [note('a', 'second')], { after: 0, fence })
    expect(again).toMatchObject({ offset: 1, existing: [{ id: 'a', offset: 1, value: 'first' }] })
    expect(await all(store.read(log))).toMatchObject([{ value: 'first' }])
  })

  test('whose response was lost can be repeated, alone and with later entries', async () => {
    const { store, fence } = await held()
    const batch = [note('a'), note('b')]
    await store.append(log, batch, { after: 0, fence })
    expect((await store.append(log, batch, { after: 0, fence })).existing.map(({ id }) => id)).toEqual(['a', 'b'])
    const more = await store.append(log, [...batch, note('c')], { after: 0, fence })
    expect(more).toMatchObject({ offset: 3, existing: [{ id: 'a' }, { id: 'b' }] })
    expect(await ids(store)).toEqual(['a', 'b', 'c'])
  })

  test.for([0, 1, 3, 99])('after a wrong offset (%i of 2) is rejected and stores nothing', async (after) => {
    const { store, fence } = await held()
    await store.append(log, [note('a'), note('b')], { after: 0, fence })
    await expect(store.append(log, [note('c'), note('d')], { after, fence })).rejects.toMatchObject({
      code: 'wrong-offset',
      hint: expect.stringMatching(/./),
    })
    expect(await ids(store)).toEqual(['a', 'b'])
  })

  test('stores all entries or none', async () => {
    const { store, fence } = await held()
    await store.append(log, [note('a')], { after: 0, fence })
    await expect(store.append(log, [note('a'), note('b')], { after: 7, fence })).rejects.toMatchObject({
      code: 'wrong-offset',
    })
    expect(await ids(store)).toEqual(['a'])
  })

  test('of no entries changes nothing', async () => {
    const { store, fence } = await held()
    expect(await store.append(log, [], { after: 0, fence })).toEqual({ offset: 0, existing: [] })
  })

  test('changes one log only, in any order of new and known entries', async () => {
    const op = fc.record({ name: fc.constantFrom('x', 'y'), keys: fc.array(fc.nat(12).map(String), { maxLength: 4 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 12 }), async (ops) => {
        const store = memoryStore()
        const model = new Map<string, string[]>([
          ['x', []],
          ['y', []],
        ])
        const fences = new Map([
          ['x', await take(store, 'w', 'x')],
          ['y', await take(store, 'w', 'y')],
        ])
        for (const { name, keys } of ops) {
          const stored = model.get(name) ?? []
          const fresh = [...new Set(keys)].filter((key) => !stored.includes(key))
          const known = [...new Set(keys)].filter((key) => stored.includes(key))
          const batch = [...new Set(keys)].map((key) => note(key))
          const { offset, existing } = await store.append(name, batch, {
            after: stored.length,
            fence: fences.get(name) ?? 0,
          })
          stored.push(...fresh)
          expect(offset).toBe(stored.length)
          expect(existing.map(({ id }) => id).toSorted()).toEqual(known.toSorted())
        }
        for (const [name, stored] of model) expect(await ids(store, name)).toEqual(stored)
      }),
    )
  })
})

describe('reading', () => {
  test('an unknown log is empty', async () => {
    expect(await ids(memoryStore(), 'unknown')).toEqual([])
  })

  test('starts after an offset', async () => {
    const { store, fence } = await held()
    await store.append(
      log,
      ['a', 'b', 'c'].map((id) => note(id)),
      { after: 0, fence },
    )
    expect(await ids(store, log, 1)).toEqual(['b', 'c'])
    expect(await ids(store, log, 3)).toEqual([])
    expect(await ids(store, log, 9)).toEqual([])
  })

  test('ends where the log ended when it began', async () => {
    const { store, fence } = await held()
    await store.append(log, [note('a'), note('b')], { after: 0, fence })
    const seen: Entry[] = []
    for await (const entry of store.read(log)) {
      seen.push(entry)
      if (seen.length === 1) await store.append(log, [note('c')], { after: 2, fence })
    }
    expect(seen.map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

describe('the inbox', () => {
  test('needs no lease, no session and no waiting reader', async () => {
    const store = memoryStore()
    expect(await store.deliver(log, 'token', { decision: 'approve' }, 'ann')).toBe('accepted')
    expect(await all(store.inbox(log))).toMatchObject([{ token: 'token', value: { decision: 'approve' }, by: 'ann' }])
    expect(await all(store.inbox('other'))).toEqual([])
  })

  test('accepts only the first delivery for a token', async () => {
    const store = memoryStore()
    await store.deliver(log, 'token', 'approve', 'ann')
    expect(await store.deliver(log, 'token', 'deny', 'bob')).toBe('duplicate')
    expect(await store.deliver('other', 'token', 'deny', 'bob')).toBe('accepted')
    expect(await all(store.inbox(log))).toMatchObject([{ value: 'approve', by: 'ann' }])
  })

  test('is read in order from any delivery on, at any size', async () => {
    const store = memoryStore()
    const tokens = Array.from({ length: 25 }, (_, n) => `t${n}`)
    for (const token of tokens) await store.deliver(log, token, null, 'ann')
    const deliveries = await all(store.inbox(log))
    expect(deliveries.map(({ token }) => token)).toEqual(tokens)
    const half = deliveries[9]?.id
    expect((await all(store.inbox(log, half))).map(({ token }) => token)).toEqual(tokens.slice(10))
    expect(await all(store.inbox(log, deliveries.at(-1)?.id))).toEqual([])
  })
})

describe('watching', () => {
  /** Counts the notifications of a session until it is aborted. */
  function watcher(store: SessionStore, sessionId = log) {
    const abort = new AbortController()
    const seen = { hints: 0 }
    const over = (async () => {
      for await (const _ of store.watch(sessionId, abort.signal)) seen.hints++
    })()
    return { seen, abort, over }
  }

  test('notifies of appends and deliveries of its session, and ends with its signal', async () => {
    const { store, fence } = await held()
    const { seen, abort, over } = watcher(store)
    await tick()
    expect(seen.hints).toBe(0)
    await store.append(log, [note('a')], { after: 0, fence })
    await tick()
    expect(seen.hints).toBe(1)
    await store.deliver(log, 't', 1, 'ann')
    await tick()
    expect(seen.hints).toBe(2)
    await store.deliver('other', 't', 1, 'ann')
    await tick()
    expect(seen.hints).toBe(2)
    abort.abort()
    await over
  })

  test('misses no change that arrives while a notification is handled', async () => {
    const store = memoryStore()
    const abort = new AbortController()
    const seen: number[] = []
    const working = Promise.withResolvers<void>()
    const over = (async () => {
      for await (const _ of store.watch(log, abort.signal)) {
        seen.push((await all(store.inbox(log))).length)
        if (seen.length === 1) await working.promise
      }
    })()
    await tick()
    await store.deliver(log, 'a', 1, 'ann')
    await tick()
    await store.deliver(log, 'b', 1, 'ann')
    await store.deliver(log, 'c', 1, 'ann')
    working.resolve()
    await tick()
    expect(seen.at(-1)).toBe(3)
    abort.abort()
    await over
  })

  test('ends at once with an aborted signal', async () => {
    const hints = await all(memoryStore().watch(log, AbortSignal.abort()))
    expect(hints).toEqual([])
  })

  test('notifies each of several watchers', async () => {
    const store = memoryStore()
    const both = [watcher(store), watcher(store)]
    await tick()
    await store.deliver(log, 't', 1, 'ann')
    await tick()
    expect(both.map(({ seen }) => seen.hints)).toEqual([1, 1])
    for (const { abort } of both) abort.abort()
    await Promise.all(both.map(({ over }) => over))
  })
})

describe('blobs', () => {
  test('are stored unchanged under their SHA-256', async () => {
    const store = memoryStore()
    const bytes = new TextEncoder().encode('hello')
    const hash = await store.putBlob(bytes)
    expect(hash).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
    bytes.fill(0)
    expect(new TextDecoder().decode(await store.blob(hash))).toBe('hello')
    expect(await store.putBlob(new TextEncoder().encode('hello'))).toBe(hash)
    expect(await store.blob('unknown')).toBeUndefined()
  })
})

describe('the list of sessions', () => {
  async function filled(): Promise<SessionStore> {
    const store = memoryStore()
    const sessions: readonly (readonly [string, readonly NewEntry[]])[] = [
      ['s3', [started('r3', 'bob')]],
      ['s1', [started('r1', 'ann'), { ...base('e1'), type: 'run', op: 'ended', status: 'completed' }]],
      ['s2', [started('r2', 'ann'), { ...base('e2', 7), type: 'run', op: 'suspended' }]],
      ['s4', [started('r4'), { ...base('e4'), type: 'run', op: 'ended', status: 'failed' }]],
      ['no-run', [note('a')]],
    ]
    for (const [name, entries] of sessions) {
      await store.append(name, entries, { after: 0, fence: await take(store, 'w', name) })
    }
    return store
  }
  const idsOf = (rows: readonly SessionInfo[]): readonly string[] => rows.map(({ id }) => id)

  test('has a row for each session, in the order of their ids, and none for other logs', async () => {
    expect(await all((await filled()).list())).toEqual([
      { id: 's1', agent: 'desk', status: 'idle', principal: 'ann', updatedAt: 1 },
      { id: 's2', agent: 'desk', status: 'suspended', principal: 'ann', updatedAt: 7 },
      { id: 's3', agent: 'desk', status: 'running', principal: 'bob', updatedAt: 1 },
      { id: 's4', agent: 'desk', status: 'failed', updatedAt: 1 },
    ])
  })

  test('can be filtered and read in pages', async () => {
    const store = await filled()
    expect(idsOf(await all(store.list({ principal: 'ann' })))).toEqual(['s1', 's2'])
    expect(idsOf(await all(store.list({ status: 'failed' })))).toEqual(['s4'])
    expect(idsOf(await all(store.list({ principal: 'ann', status: 'suspended' })))).toEqual(['s2'])
    expect(idsOf(await all(store.list({ limit: 2 })))).toEqual(['s1', 's2'])
    expect(idsOf(await all(store.list({ after: 's2', limit: 2 })))).toEqual(['s3', 's4'])
    expect(idsOf(await all(store.list({ principal: 'unknown' })))).toEqual([])
  })
})

describe('deleting a session', () => {
  test('removes its log, those of its children, and its inbox, and nothing else', async () => {
    const store = memoryStore()
    const label = { integrity: 'trusted', confidentiality: 'internal', sources: [] } as const
    const child = (callId: string, name: string): NewEntry => ({
      ...base(callId),
      type: 'child',
      op: 'spawned',
      callId,
      log: name,
      agent: 'b',
      label,
    })
    const logs: readonly (readonly [string, readonly NewEntry[]])[] = [
      [log, [started('r1'), child('c1', 'child')]],
      ['child', [child('c2', 'grandchild')]],
      ['grandchild', [note('g')]],
      ['other', [started('r2')]],
    ]
    for (const [name, entries] of logs)
      await store.append(name, entries, { after: 0, fence: await take(store, 'w', name) })
    await store.deliver(log, 't', 1, 'ann')
    await store.deliver('other', 't', 1, 'ann')
    await store.delete(log)
    for (const gone of [log, 'child', 'grandchild']) expect(await ids(store, gone)).toEqual([])
    expect(await all(store.inbox(log))).toEqual([])
    expect(await ids(store, 'other')).toEqual(['r2'])
    expect(await all(store.inbox('other'))).toHaveLength(1)
    expect((await all(store.list())).map(({ id }) => id)).toEqual(['other'])
    await store.delete('never was')
  })

  test('ends its lease: an active writer is fenced, and the next one starts an empty log', async () => {
    const { store, fence } = await held()
    await store.append(log, [note('a')], { after: 0, fence })
    await store.delete(log)
    const write = () => store.append(log, [note('b')], { after: 0, fence })
    await expect(write()).rejects.toMatchObject({ code: 'fenced' })
    const next = await take(store, 'other')
    await expect(write()).rejects.toMatchObject({ code: 'fenced' })
    expect(await store.append(log, [note('b')], { after: 0, fence: next })).toMatchObject({ offset: 1 })
  })
})

test('memoryStore declares that it does not outlive its process', () => {
  expect(memoryStore().ephemeral).toBe(true)
})

test('two stores share no data', async () => {
  const { store, fence } = await held()
  await store.append(log, [note('a')], { after: 0, fence })
  expect(await ids(memoryStore())).toEqual([])
})

test('closing a store ends its watchers', async () => {
  const store = memoryStore()
  const over = all(store.watch(log, new AbortController().signal))
  await tick()
  await store.close()
  expect(await over).toEqual([])
})
