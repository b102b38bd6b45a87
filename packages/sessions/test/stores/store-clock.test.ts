import { join } from 'node:path'

import type { Clock, SessionStore } from '@provost/core'
import { jsonlStore, memoryStore, postgresStore, sqliteStore } from '@provost/sessions'
import { findPostgres, manualClock, startPostgres } from '@provost/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { newFolder } from '../fixture/folder.ts'

const kinds: Readonly<
  Record<string, (folder: string, clock: Clock) => Promise<SessionStore | undefined> | SessionStore>
> = {
  memoryStore: (_, clock) => memoryStore({ clock }),
  jsonlStore: (folder, clock) => jsonlStore(join(folder, 'logs'), { clock }),
  sqliteStore: (folder, clock) => sqliteStore(join(folder, 'store.db'), { clock }),
  postgresStore: async (_, clock) =>
    findPostgres() ? postgresStore((await startPostgres()).url, { clock, schema: 'clock' }) : undefined,
}

describe.each(Object.keys(kinds))('%s with a clock', (kind) => {
  const clock = manualClock()
  let folder: ReturnType<typeof newFolder> | undefined
  let store: SessionStore | undefined

  beforeEach(async () => {
    folder = newFolder()
    store = await kinds[kind]?.(folder.path, clock)
  })

  afterEach(async () => {
    await store?.delete('log')
    await store?.close()
    folder?.remove()
  })

  it('names it', (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    expect(store.clock).toBe(clock)
  })

  it('lets a lease lapse by it, and by nothing else', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    const year = 365 * 86_400_000
    await store.lease('log', 'a', year)
    expect(await store.lease('log', 'b', year)).toBe('busy')
    await clock.advance(year - 1)
    expect((await store.leaseState('log')).holder).toBe('alive')
    await clock.advance(1)
    expect((await store.leaseState('log')).holder).toBe('lapsed')
    expect(await store.lease('log', 'b', year)).toMatchObject({ takeovers: 1 })
  })

  it('dates deliveries and quarantines by it', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    await store.deliver('log', 'token', 1, 'ann')
    const dates: number[] = []
    for await (const { at } of store.inbox('log')) dates.push(at)
    expect(dates).toEqual([clock.now()])
    for (let n = 0; n < 9; n++) {
      await store.lease('log', `owner ${n}`, 1).catch(() => {})
      await clock.advance(2)
    }
    const { quarantinedAt = 0 } = await store.leaseState('log')
    expect(clock.now() - quarantinedAt).toBeLessThan(20)
  })
})
