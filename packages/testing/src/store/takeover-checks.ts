import assert from 'node:assert/strict'

import type { LeaseState, SessionInfo, SessionStatus, SessionStore } from '@provost/core'
import { mostTakeovers } from '@provost/core'

import { all, idsOf, note, started, take, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

/** Takes the lease of a log like a writer that dies at once, and waits until it has expired. */
async function die(store: SessionStore, log: string, owner: string): Promise<number> {
  const lease = await store.lease(log, owner, 1)
  if (lease === 'busy') throw new Error(`the lease of ${log} is busy`)
  await lapse(store, log)
  return lease.takeovers
}

async function lapse(store: SessionStore, log: string): Promise<void> {
  while ((await store.leaseState(log)).holder !== 'lapsed') await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Creates a quarantined session, with one entry after its start. */
async function quarantine(store: SessionStore, id: string): Promise<void> {
  const fence = await write(store, id, [started('r', { principal: 'ann' }), note('a')])
  await store.release(id, fence)
  for (let n = 0; n <= mostTakeovers; n++) assert.equal(await die(store, id, `writer ${n}`), n)
  await assert.rejects(store.lease(id, 'one more', 60_000), { code: 'session-quarantined' })
}

/** Returns the state of a lease without its times, and without its owner, which a store need not tell. */
async function stateOf(store: SessionStore, log: string): Promise<Omit<LeaseState, 'until' | 'owner' | 'renewedAt'>> {
  const { until, owner, renewedAt, ...state } = await store.leaseState(log)
  assert.ok(state.holder !== 'none' || (owner === undefined && renewedAt === undefined), 'a free lease has no owner')
  if (renewedAt !== undefined) assert.ok(Math.abs(renewedAt - Date.now()) < 600_000, 'milliseconds since 1970')
  assert.equal(until !== undefined, state.holder === 'alive', 'the end of the lease of a living owner')
  if (until !== undefined) assert.ok(Math.abs(until - Date.now()) < 600_000, 'milliseconds since 1970')
  return state
}

async function listed(store: SessionStore, status: SessionStatus): Promise<readonly SessionInfo[]> {
  return all(store.list({ status }))
}

export const takeoverChecks: readonly CheckDraft[] = [
  {
    name: 'an expired lease that another owner takes counts as a takeover; a released or renewed one does not',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      assert.deepEqual(await stateOf(store, log), { holder: 'none', takeovers: 0 })
      assert.equal(await die(store, log, 'a'), 0)
      assert.deepEqual(await stateOf(store, log), { holder: 'lapsed', takeovers: 0 })
      assert.equal(await die(store, log, 'a'), 0)
      assert.equal(await die(store, log, 'b'), 1)
      const fence = await take(store, log, 'c')
      assert.deepEqual(await stateOf(store, log), { holder: 'alive', takeovers: 2 })
      await store.release(log, fence)
      assert.deepEqual(await stateOf(store, log), { holder: 'none', takeovers: 2 })
      assert.equal(await die(store, log, 'd'), 2)
    },
  },
  {
    name: 'the takeover count of a log is reset by a steady owner, and not by a renewal alone',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      await die(store, log, 'a')
      const fence = await take(store, log, 'b')
      await take(store, log, 'b')
      assert.equal((await store.leaseState(log)).takeovers, 1)
      assert.deepEqual(await store.lease(log, 'b', 60_000, { steady: true }), { fence, takeovers: 0 })
      assert.deepEqual(await stateOf(store, log), { holder: 'alive', takeovers: 0 })
    },
  },
  {
    name: 'a store that tells the owner of a lease tells the one that took it, until its release',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      const fence = await take(store, log, 'host:1/a')
      const { owner = 'host:1/a', renewedAt = 0 } = await store.leaseState(log)
      assert.equal(owner, 'host:1/a')
      await take(store, log, 'host:1/a')
      assert.ok(((await store.leaseState(log)).renewedAt ?? 0) >= renewedAt, 'a renewal is later')
      await store.release(log, fence)
      assert.equal((await store.leaseState(log)).owner, undefined)
      await die(store, log, 'host:2/b')
      assert.equal((await store.leaseState(log)).owner ?? 'host:2/b', 'host:2/b')
    },
  },
  {
    name: 'a lease of a part of a session counts no takeovers',
    async run(bench) {
      const store = await bench.store()
      const log = bench.name()
      for (let n = 0; n < mostTakeovers + 3; n++) {
        const lease = await store.lease(log, `writer ${n}`, 1, { part: true })
        assert.ok(lease !== 'busy')
        assert.equal(lease.takeovers, 0)
        await lapse(store, log)
      }
    },
  },
  {
    name: 'a session whose writers die is quarantined: it can be listed and read but not leased, and nothing else changes',
    async run(bench) {
      const store = await (await bench.place()).open()
      await write(store, 'other', [started('r2', { principal: 'ann' })])
      await quarantine(store, 's')
      const { quarantinedAt, ...state } = await store.leaseState('s')
      assert.deepEqual(state, { holder: 'none', takeovers: mostTakeovers })
      assert.ok(quarantinedAt !== undefined && Math.abs(Date.now() - quarantinedAt) < 60_000)
      const row = { id: 's', agent: 'desk', status: 'quarantined', principal: 'ann', updatedAt: 1 } as const
      assert.deepEqual(await listed(store, 'quarantined'), [row])
      assert.deepEqual(await all(store.list({ principal: 'ann', after: 'other' })), [row])
      assert.deepEqual(
        (await listed(store, 'running')).map(({ id }) => id),
        ['other'],
      )
      assert.deepEqual(await idsOf(store, 's'), ['r', 'a'])
      assert.equal(await store.deliver('s', 't', 1, 'ann'), 'accepted')
      await assert.rejects(store.lease('s', 'writer 0', 60_000), { code: 'session-quarantined' })
      await assert.rejects(store.lease('s', 'writer 0', 60_000, { part: true }), { code: 'session-quarantined' })
    },
  },
  {
    name: 'a released session counts from 0 and has the status of its log again',
    async run(bench) {
      const store = await (await bench.place()).open()
      await quarantine(store, 's')
      assert.equal(await store.releaseQuarantine('never was'), false)
      assert.equal(await store.releaseQuarantine('s'), true)
      assert.equal(await store.releaseQuarantine('s'), false)
      assert.deepEqual(await stateOf(store, 's'), { holder: 'none', takeovers: 0 })
      assert.deepEqual(
        (await listed(store, 'running')).map(({ id }) => id),
        ['s'],
      )
      assert.deepEqual(await listed(store, 'quarantined'), [])
      const fence = await take(store, 's', 'healthy')
      await store.append('s', [note('b')], { after: 2, fence })
      assert.deepEqual(await idsOf(store, 's'), ['r', 'a', 'b'])
    },
  },
  {
    name: 'deleting a session removes its quarantine',
    async run(bench) {
      const store = await (await bench.place()).open()
      await quarantine(store, 's')
      await store.delete('s')
      assert.deepEqual(await stateOf(store, 's'), { holder: 'none', takeovers: 0 })
      await take(store, 's')
    },
  },
  {
    name: 'takeover counts and quarantine outlive the store that recorded them',
    sharing: 'one',
    async run(bench) {
      const place = await bench.place()
      let store = await place.open()
      const fence = await write(store, 's', [started('r')])
      await store.release('s', fence)
      for (let n = 0; n <= mostTakeovers; n++) {
        assert.equal(await die(store, 's', `writer ${n}`), n)
        await store.close()
        store = await place.open()
      }
      await assert.rejects(store.lease('s', 'one more', 60_000), { code: 'session-quarantined' })
      await store.close()
      store = await place.open()
      assert.equal((await listed(store, 'quarantined')).length, 1)
      assert.equal(await store.releaseQuarantine('s'), true)
    },
  },
]
