import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

import type { NewEntry } from '@provost/core'
import { postgresStore } from '@provost/sessions'
import { findPostgres, startPostgres, storeConformance } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { isForFullRuns } from '../fixture/full.ts'
import { open } from '../fixture/postgres-place.ts'

const place = { at: 1, runId: 'run', step: 0, agent: 'desk', v: 1 } as const

describe.skipIf(findPostgres() === undefined)('postgresStore (needs PostgreSQL)', () => {
  let server: PostgresServer
  let schemas = 0

  beforeAll(async () => {
    server = await startPostgres()
  })

  const suite = storeConformance({
    sharing: 'processes',
    place() {
      const argument = `${server.url}#check ${++schemas}`
      const module = new URL('../fixture/postgres-place.ts', import.meta.url).href
      return { open: () => open(argument), remove() {}, remote: { module, argument } }
    },
  })

  afterAll(async () => {
    await suite.close()
    await server.stop()
  })

  test('processes that start at once on an empty database create its tables once', async () => {
    const stores = Array.from({ length: 4 }, () => postgresStore(server.url, { schema: 'at once', connections: 2 }))
    const leases = await Promise.all(stores.map((store, n) => store.lease(`log ${n}`, 'owner', 60_000)))
    expect(leases.every((lease) => lease !== 'busy')).toBe(true)
    for (const store of stores) await store.close()
  })

  test('it tells the owner of a lease, and when it was renewed', async () => {
    const store = postgresStore(server.url, { schema: 'owner' })
    await store.lease('log', 'host:1/a', 60_000)
    const { owner, renewedAt = 0 } = await store.leaseState('log')
    await store.close()
    expect(owner).toBe('host:1/a')
    expect(Math.abs(renewedAt - Date.now())).toBeLessThan(60_000)
  })

  test('a schema of a newer release is rejected', async () => {
    const url = `${server.url}#newer`
    const store = open(url)
    await store.putBlob(new Uint8Array())
    await store.close()
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query(`insert into newer.migrations values ('9999_later', '2100-01-01')`)
    await client.end()
    const late = open(url)
    await expect(late.putBlob(new Uint8Array())).rejects.toMatchObject({ code: 'newer-store' })
    await late.close()
  })

  test('a listener whose connection is lost is replaced', async () => {
    const [store, other] = [open(`${server.url}#cut`), open(`${server.url}#cut`)]
    const abort = new AbortController()
    const tokens = new Set<string>()
    let notified = Promise.withResolvers<void>()
    const over = (async () => {
      for await (const _ of store.watch('s', abort.signal)) {
        for await (const { token } of store.inbox('s')) tokens.add(token)
        notified.resolve()
        notified = Promise.withResolvers()
      }
    })()
    const deliver = async (token: string): Promise<void> => {
      await other.deliver('s', token, 1, 'ann')
      while (!tokens.has(token)) await notified.promise
    }
    await deliver('a')
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'`)
    await client.end()
    await deliver('b')
    expect([...tokens]).toEqual(['a', 'b'])
    abort.abort()
    await over
    await store.close()
    await other.close()
  })

  test('an append notifies its writer of earlier deliveries when their notification was lost', async () => {
    const store = postgresStore(server.url, { schema: 'deaf', pollMs: 600_000 })
    const other = open(`${server.url}#deaf`)
    const entry: NewEntry = {
      ...{ id: 'a', at: 1, runId: 'run', step: 0, agent: 'desk', v: 1 },
      ...{ type: 'memo', key: 'a', value: true },
    }
    const lease = await store.lease('s', 'owner', 60_000)
    const fence = lease === 'busy' ? Number.NaN : lease.fence
    const abort = new AbortController()
    const news = store.watch('s', abort.signal, 'inbox')[Symbol.asyncIterator]()
    await news.next()
    // No connection listens from now on, and the next poll is far away.
    const client = new Client({ connectionString: server.url })
    await client.connect()
    const gone = `select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where query like 'listen %'`
    expect((await client.query(gone)).rows).toEqual([{ count: '1' }])
    await client.end()
    expect(await other.deliver('s', 'steer', 'stop', 'ann')).toBe('accepted')
    const told = news.next()
    await store.append('s', [entry], { after: 0, fence })
    expect(await told).toEqual({ done: false, value: undefined })
    abort.abort()
    await store.close()
    await other.close()
  })

  test('a closed store has no connection left after watchers that start and end quickly', async () => {
    const store = postgresStore(`${server.url}&application_name=quick`, { schema: 'quick' })
    await store.putBlob(new Uint8Array())
    for (let turn = 0; turn < 10; turn++) {
      const abort = new AbortController()
      for await (const _ of store.watch('s', abort.signal)) abort.abort()
    }
    await store.close()
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await vi.waitFor(async () => {
      const left = `select query from pg_stat_activity where application_name = 'quick'`
      expect((await client.query(left)).rows).toEqual([])
    }, 60_000)
    await client.end()
  })

  test('the lease of a dead writer expires in its time when the clock is set back', async () => {
    const store = open(`${server.url}#clock`)
    const client = new Client({ connectionString: server.url })
    await client.connect()
    const ahead = async (time: string): Promise<unknown> => {
      await client.query(`update clock.logs set begun = begun + interval '${time}', until = until + interval '${time}'`)
      return store.lease('s', 'heir', 60_000)
    }
    await store.lease('s', 'dead', 60_000)
    expect(await ahead('50 s')).toBe('busy')
    expect(await ahead('1 day')).not.toBe('busy')
    await client.end()
    await store.close()
  })

  test('ids of entries have no length limit', async () => {
    const store = open(`${server.url}#long`)
    const lease = await store.lease('s', 'x'.repeat(100_000), 60_000)
    const fence = lease === 'busy' ? Number.NaN : lease.fence
    // Random bytes do not compress.
    const long = randomBytes(50_000).toString('base64')
    const entries = [`${long}a`, `${long}b`].map((id): NewEntry => ({ ...place, id, type: 'memo', key: 'k', value: 1 }))
    await store.append('s', entries.slice(0, 1), { after: 0, fence })
    const again = await store.append('s', entries, { after: 0, fence })
    expect(again).toMatchObject({ offset: 2, existing: [{ id: `${long}a`, offset: 1 }] })
    await store.close()
  })

  test('a long id that an earlier version stored unhashed is known and adds no row', async () => {
    const store = open(`${server.url}#whole`)
    const lease = await store.lease('s', 'owner', 60_000)
    const fence = lease === 'busy' ? Number.NaN : lease.fence
    const id = 'a'.repeat(2_000)
    const entries = ['short', id].map((one): NewEntry => ({ ...place, id: one, type: 'memo', key: 'k', value: 1 }))
    await store.append('s', entries, { after: 0, fence })
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query(`update whole.entries set id = '${id}' where "offset" = 2`)
    await client.end()
    const next: NewEntry = { ...place, id: 'next', type: 'memo', key: 'k', value: 2 }
    const again = await store.append('s', [...entries.slice(1), next], { after: 2, fence })
    expect(again).toMatchObject({ offset: 3, existing: [{ id, offset: 2 }] })
    expect(await store.append('s', entries.slice(1), { after: 3, fence })).toMatchObject({ existing: [{ id }] })
    await store.close()
  })

  test('a lost server is a retryable error for every method', async () => {
    const [, name, folder = ''] = /\/(\w+)\?host=(.*)$/u.exec(server.url) ?? []
    const path = `${decodeURIComponent(folder)}/.s.PGSQL.5432`
    const sockets = new Set<Socket>()
    const proxy = createServer((near) => {
      const far = connect(path)
      for (const socket of [near, far]) {
        sockets.add(socket)
        socket.on('error', () => {})
      }
      near.pipe(far).pipe(near)
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    const address = proxy.address()
    const port = typeof address === 'object' ? address?.port : 0
    const store = postgresStore(`postgres://provost@127.0.0.1:${port}/${name}`, { schema: 'away', patienceMs: 0 })
    await store.putBlob(new Uint8Array())
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => proxy.close(resolve))
    const asked = [
      () => store.append('s', [], { after: 0, fence: 1 }),
      () => store.delete('s'),
      () => store.lease('s', 'owner', 1),
      () => store.list()[Symbol.asyncIterator]().next(),
    ]
    for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code: 'store-unreachable', retryable: true })
    await store.close()
  })

  test.for(suite.checks)('$name', async ({ name, run }, { skip }) => {
    skip(isForFullRuns('postgresStore', name), 'in full runs')
    await expect(run()).resolves.toBeUndefined()
  })
})

test('an unreachable server is a retryable error', async () => {
  const store = postgresStore('postgres://unknown@127.0.0.1:1/none')
  await expect(store.lease('s', 'owner', 1)).rejects.toMatchObject({ code: 'store-unreachable', retryable: true })
  await store.close()
})
