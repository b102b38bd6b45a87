import assert from 'node:assert/strict'

import type { ClaimOptions, DueSession, NewEntry, SessionStore } from '@provost/core'
import { mostTakeovers } from '@provost/core'

import { all, started, take, turned, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

type Waking = SessionStore & Required<Pick<SessionStore, 'claimDue' | 'setDue'>>

function isWaking(store: SessionStore): store is Waking {
  return store.claimDue !== undefined && store.setDue !== undefined
}

/** Returns a check on an empty store. A store without a wake index passes: it is optional. */
function wakeCheck(name: string, run: (store: Waking) => Promise<void>): CheckDraft {
  return {
    name,
    async run(bench) {
      const store = await (await bench.place()).open()
      if (isWaking(store)) await run(store)
    },
  }
}

const claimOf = (store: Waking, more: Partial<ClaimOptions> = {}): Promise<readonly DueSession[]> =>
  store.claimDue({ agents: ['desk'], limit: 100, hiddenMs: 60_000, ...more })

async function claimed(store: Waking, more: Partial<ClaimOptions> = {}): Promise<readonly string[]> {
  return (await claimOf(store, more)).map(({ id }) => id).toSorted()
}

/** Claims until a session is due. */
async function dueSoon(store: Waking): Promise<readonly DueSession[]> {
  for (;;) {
    const found = await claimOf(store)
    if (found.length > 0) return found
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

const suspended = (due?: number, seen?: string): NewEntry => {
  const entry = turned('off', 'suspended')
  if (entry.type !== 'run' || entry.op !== 'suspended') return entry
  return { ...entry, ...(due !== undefined && { due }), ...(seen !== undefined && { seen }) }
}

const completed = (seen: string): NewEntry => {
  const entry = turned('off', 'completed')
  return entry.type === 'run' && entry.op === 'ended' ? { ...entry, seen } : entry
}

const nothingRead = '0'

/** Creates a session that rests. Returns after its lease is released. */
async function resting(store: Waking, id: string, last: NewEntry, principal = 'ann'): Promise<void> {
  const fence = await write(store, id, [started('r', { principal }), last])
  await store.release(id, fence)
}

async function lastDelivery(store: SessionStore, id: string): Promise<string> {
  return (await all(store.inbox(id))).at(-1)?.id ?? ''
}

export const wakeChecks: readonly CheckDraft[] = [
  wakeCheck('a session that waits is due at its deadline, and a claim hides it', async (store) => {
    await resting(store, 'past', suspended(Date.now() - 1, nothingRead))
    await resting(store, 'future', suspended(Date.now() + 60_000, nothingRead))
    await resting(store, 'never', suspended(undefined, nothingRead))
    assert.deepEqual(await claimOf(store), [{ id: 'past', agent: 'desk', principal: 'ann', takeovers: 0 }])
    assert.deepEqual(await claimed(store), [])
  }),
  wakeCheck('a claimed session is due again after the hidden time: a claimer may die', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    assert.deepEqual(await claimed(store, { hiddenMs: 5 }), ['s'])
    assert.deepEqual((await dueSoon(store))[0]?.id, 's')
  }),
  wakeCheck('a delivery makes a resting session due at once', async (store) => {
    await resting(store, 'waits', suspended(undefined, nothingRead))
    await resting(store, 'over', completed(nothingRead))
    assert.deepEqual(await claimed(store), [])
    for (const id of ['waits', 'over', 'unknown']) await store.deliver(id, 't', 1, 'ann')
    assert.deepEqual(await claimed(store), ['over', 'waits'])
  }),
  wakeCheck('a delivery that the run has not read makes the session due when the run rests', async (store) => {
    for (const [id, reads] of [
      ['unread', false],
      ['read', true],
    ] as const) {
      const fence = await write(store, id, [started('r')])
      await store.deliver(id, 't', 1, 'ann')
      if (!reads) assert.deepEqual(await claimed(store), [], 'its writer is alive')
      const seen = reads ? await lastDelivery(store, id) : nothingRead
      await store.append(id, [suspended(undefined, seen)], { after: 1, fence })
      await store.release(id, fence)
    }
    assert.deepEqual(await claimed(store), ['unread'])
  }),
  wakeCheck('the end of a run with unread deliveries makes the session due', async (store) => {
    const fence = await write(store, 's', [started('r')])
    await store.deliver('s', 't', 1, 'ann')
    await store.append('s', [completed(nothingRead)], { after: 1, fence })
    await store.release('s', fence)
    assert.deepEqual(await claimed(store), ['s'])
  }),
  wakeCheck('a suspended run that does not say what it has read is due: an earlier release wrote it', async (store) => {
    await resting(store, 's', turned('off', 'suspended'))
    assert.deepEqual(await claimed(store), ['s'])
  }),
  wakeCheck('a run is due when the lease of its writer has expired, and each renewal moves that', async (store) => {
    const lease = await store.lease('s', 'writer', 40)
    assert.ok(lease !== 'busy')
    await store.append('s', [started('r')], { after: 0, fence: lease.fence })
    await take(store, 's', 'writer', 60_000)
    await store.lease('other', 'writer', 1)
    // As long as the first lease would have lasted.
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.deepEqual(await claimed(store), [])
    await store.lease('s', 'writer', 1)
    assert.deepEqual(await dueSoon(store), [{ id: 's', agent: 'desk', takeovers: 0 }])
    assert.ok((await store.lease('s', 'heir', 1)) !== 'busy')
    assert.deepEqual(await dueSoon(store), [{ id: 's', agent: 'desk', takeovers: 1 }])
  }),
  wakeCheck('a run whose lease is released is due soon, and one that rests is not', async (store) => {
    const fence = await write(store, 's', [started('r')])
    await resting(store, 'rests', suspended(undefined, nothingRead))
    await store.release('s', fence)
    assert.deepEqual(
      (await dueSoon(store)).map(({ id }) => id),
      ['s'],
    )
  }),
  wakeCheck('a due session with a living writer is hidden and not returned', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    const fence = await take(store, 's')
    assert.deepEqual(await claimed(store, { hiddenMs: 5 }), [])
    await store.release('s', fence)
    assert.deepEqual((await dueSoon(store))[0]?.id, 's')
  }),
  wakeCheck('a claim names its agents, and children are never due', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    const child = await write(store, 'child', [started('r', { parent: 's' }), suspended(1, nothingRead)])
    await store.release('child', child)
    await store.deliver('child', 't', 1, 'ann')
    assert.deepEqual(await claimed(store, { agents: [] }), [])
    assert.deepEqual(await claimed(store, { agents: ['other'] }), [])
    assert.deepEqual(await claimed(store, { limit: 0 }), [])
    assert.deepEqual(await claimed(store, { agents: ['other', 'desk', 'desk'] }), ['s'])
  }),
  wakeCheck('principals take turns, the sessions of one come in order, and some can be left out', async (store) => {
    const due: readonly (readonly [string, number, string])[] = [
      ...Array.from({ length: 8 }, (_, n) => [`a${n}`, 10 + n, 'ann'] as const),
      ['b', 100, 'bob'],
      ['c', 101, 'cid'],
    ]
    for (const [id, at, principal] of due) await resting(store, id, suspended(at, nothingRead), principal)
    assert.deepEqual(await claimed(store, { limit: 4, except: ['cid'] }), ['a0', 'a1', 'a2', 'b'])
    assert.deepEqual(await claimed(store, { except: ['ann'] }), ['c'])
    assert.deepEqual(await claimed(store, { limit: 2 }), ['a3', 'a4'])
  }),
  wakeCheck('the next due time can be set, except over an unread delivery and a living writer', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    await store.setDue('s', { at: Date.now() + 60_000, seen: nothingRead })
    assert.deepEqual(await claimed(store), [])
    await store.setDue('s', { at: 1 })
    assert.deepEqual(await claimed(store), ['s'])
    await store.setDue('s', {})
    await store.deliver('s', 't', 1, 'ann')
    const seen = await lastDelivery(store, 's')
    await store.setDue('s', { seen })
    assert.deepEqual(await claimed(store), [])
    await store.setDue('s', { seen: nothingRead })
    assert.deepEqual(await claimed(store), ['s'])
    const fence = await take(store, 's')
    await store.setDue('s', { at: 1 })
    await store.release('s', fence)
    assert.deepEqual(await claimed(store), [])
    await store.setDue('unknown', { at: 1 })
  }),
  wakeCheck('the next due time is not set over entries that the caller has not read', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    await store.setDue('s', { after: 1 })
    assert.deepEqual(await claimed(store), ['s'])
    await store.setDue('s', { at: 1, after: 1 })
    assert.deepEqual(await claimed(store), [])
    await store.setDue('s', { at: 1, after: 2 })
    assert.deepEqual(await claimed(store), ['s'])
  }),
  wakeCheck('a session in quarantine is not due, also not by a delivery, until it is released', async (store) => {
    await write(store, 's', [started('r')])
    await take(store, 's', 'writer', 1)
    for (let n = 0; n <= mostTakeovers; n++) {
      while ((await store.leaseState('s')).holder === 'alive') await new Promise((resolve) => setTimeout(resolve, 1))
      await store.lease('s', `writer ${n}`, 1).catch(() => {})
    }
    assert.notEqual((await store.leaseState('s')).quarantinedAt, undefined)
    await store.deliver('s', 't', 1, 'ann')
    await store.setDue('s', { at: 1 })
    assert.deepEqual(await claimed(store), [])
    await store.releaseQuarantine('s')
    assert.deepEqual(await claimed(store), ['s'])
  }),
  wakeCheck('a deleted session is not due', async (store) => {
    await resting(store, 's', suspended(1, nothingRead))
    await store.delete('s')
    assert.deepEqual(await claimed(store), [])
  }),
  {
    name: 'claimers at the same time get different sessions, and together all',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const stores = [await place.open(), await place.open(), await place.open()]
      const [first] = stores
      if (!first || !isWaking(first)) return
      const ids = Array.from({ length: 30 }, (_, n) => `s${String(n).padStart(2, '0')}`)
      for (const id of ids) await resting(first, id, suspended(1, nothingRead))
      const found: string[] = []
      const claimAll = async (store: SessionStore): Promise<void> => {
        if (!isWaking(store)) return
        while (found.length < ids.length) found.push(...(await claimed(store, { limit: 4 })))
      }
      await Promise.all(stores.map(claimAll))
      assert.deepEqual(found.toSorted(), ids)
    },
  },
]
