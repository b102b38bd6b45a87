import { once } from 'node:events'
import { existsSync, realpathSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { basename, dirname, join } from 'node:path'

import { createMemory, postgresMemory } from '@provost/memory'
import { postgresStore } from '@provost/sessions'
import { findPostgres, startPostgres } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { memoryConformance } from '../fixture/memory-conformance.ts'
import { vectorConformance } from '../fixture/vector-conformance.ts'

/** Whether the installed server has the extension, at the paths of Debian or of a build from source. */
function hasPgvector(): boolean {
  const found = findPostgres()
  if (found === undefined) return false
  const bin = dirname(realpathSync(join(found, 'initdb')))
  const shares = [`/usr/share/postgresql/${basename(dirname(bin))}`, `${bin}/../share`, `${bin}/../share/postgresql`]
  return shares.some((share) => existsSync(join(share, 'extension/vector.control')))
}

describe.skipIf(findPostgres() === undefined)('postgresMemory (needs PostgreSQL)', () => {
  let server: PostgresServer
  let client: Client

  beforeAll(async () => {
    server = await startPostgres()
    client = new Client({ connectionString: server.url })
    await client.connect()
  })
  afterAll(async () => {
    await client.end()
    await server.stop()
  })

  // One schema for all tests without a name: emptying tables is faster than creating them.
  const nameless = 'nameless'
  async function empty(schema: string): Promise<void> {
    const { rows } = await client.query('select 1 from pg_tables where schemaname = $1', [schema])
    const tables = ['items', 'shelves', 'vectors']
    if (rows.length > 0) await client.query(tables.map((table) => `delete from ${schema}.${table}`).join('; '))
  }
  afterEach(() => empty(nameless))

  async function dump(name: string): Promise<string> {
    const { rows } = await client.query('select tablename as name from pg_tables where schemaname = $1', [name])
    let text = ''
    for (const { name: table } of rows) {
      const found = await client.query(`select x::text as row from ${name}.${table} x`)
      text += found.rows.map(({ row }) => row).join('\n')
    }
    return text
  }

  memoryConformance({
    remote: true,
    open: (name = nameless) => postgresMemory(server.url, { schema: name, connections: 2 }),
    dump,
  })

  // With the extension, the tests without it run in full runs only.
  const without = hasPgvector() && process.env['PROVOST_TEST_FULL'] !== '1' ? [] : ['process' as const]
  describe.each(without)('embeddings, compared in the %s', (engine) => {
    vectorConformance({
      remote: true,
      engine,
      open: () => postgresMemory(server.url, { schema: nameless, connections: 2, vectors: 'in-process' }),
      dump: () => dump(nameless),
      written: ({ buffer }) => Buffer.from(buffer).toString('hex'),
    })
  })

  describe.skipIf(!hasPgvector())('embeddings, compared by pgvector (needs it on the server)', () => {
    const schema = 'with_pgvector'
    beforeAll(async () => void (await client.query('create schema "Ext"; create extension vector schema "Ext"')))
    afterAll(async () => void (await client.query('drop extension vector cascade')))
    afterEach(() => empty(schema))
    vectorConformance({
      remote: true,
      engine: 'pgvector',
      open: () => postgresMemory(server.url, { schema, connections: 2 }),
      dump: () => dump(schema),
      written: (vector) => `[${vector.join(',')}]`,
    })

    test('embeddings stored before the extension was installed are compared by it', async () => {
      const embedder = async (all: readonly string[]): Promise<number[][]> => all.map(({ length }) => [length, 1])
      const before = postgresMemory(server.url, { schema, connections: 1, vectors: 'in-process' })
      const writer = createMemory({ store: before, embedder })
      await writer.remember('tea', { source: 's' })
      await writer.close()
      const reader = createMemory({ store: postgresMemory(server.url, { schema, connections: 1 }), embedder })
      expect(await reader.recall('pot')).toMatchObject([{ text: 'tea', why: { similarity: expect.closeTo(1) } }])
      expect((await client.query(`select bytes from ${schema}.vectors`)).rows).toEqual([{ bytes: null }])
      await reader.close()
    })
  })

  test('processes that start at once on an empty database create its tables once', async () => {
    const memories = Array.from({ length: 4 }, () =>
      createMemory({ store: postgresMemory(server.url, { schema: 'at once', connections: 1 }) }),
    )
    await Promise.all(memories.map((memory, i) => memory.remember(`tea ${i}`, { source: 's' })))
    expect(await memories[0]?.recall('tea')).toHaveLength(4)
    for (const memory of memories) await memory.close()
  })

  test('a memory of a session store is stored beside the sessions', async () => {
    const store = postgresStore(server.url, { schema: 'beside' })
    const memory = createMemory({ store })
    await memory.remember('tea', { source: 's' })
    expect((await client.query('select text from beside_memory.items')).rows).toEqual([{ text: 'tea' }])
    await memory.close()
    await store.close()
  })

  test('a server that goes away is a retryable error, for reads and for writes', async () => {
    const [, name, folder = ''] = /\/(\w+)\?host=(.*)$/u.exec(server.url) ?? []
    const sockets = new Set<Socket>()
    const proxy = createServer((near) => {
      const far = connect(`${decodeURIComponent(folder)}/.s.PGSQL.5432`)
      for (const socket of [near, far]) {
        sockets.add(socket)
        socket.on('error', () => {})
      }
      near.pipe(far).pipe(near)
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    const address = proxy.address()
    const port = typeof address === 'object' ? address?.port : 0
    const url = `postgres://provost@127.0.0.1:${port}/${name}`
    const memory = createMemory({ store: postgresMemory(url, { schema: nameless, connections: 1 }) })
    await memory.remember('tea', { source: 's' })
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => proxy.close(resolve))
    const calls = [() => memory.remember('milk', { source: 's' }), () => memory.recall('tea')]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'store-unreachable', retryable: true })
    await memory.close()
  })

  test('an unreachable server is a retryable error', async () => {
    const memory = createMemory({ store: postgresMemory('postgres://unknown@127.0.0.1:1/none') })
    await expect(memory.recall('x')).rejects.toMatchObject({ code: 'store-unreachable', retryable: true })
    await memory.close()
  })
})
