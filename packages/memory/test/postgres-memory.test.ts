import { createMemory, postgresMemory } from '@provost/memory'
import { postgresStore } from '@provost/sessions'
import { findPostgres, startPostgres } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { memoryConformance } from './conformance.ts'

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

  // One schema for all that need no name: tables are emptied sooner than made.
  const nameless = 'nameless'
  afterEach(async () => {
    const { rows } = await client.query('select 1 from pg_tables where schemaname = $1', [nameless])
    if (rows.length > 0) await client.query(`truncate ${nameless}.items, ${nameless}.shelves, ${nameless}.vectors`)
  })

  memoryConformance({
    open: (name = nameless) => postgresMemory(server.url, { schema: name, connections: 2 }),
    async dump(name) {
      const { rows } = await client.query('select tablename as name from pg_tables where schemaname = $1', [name])
      let text = ''
      for (const { name: table } of rows) {
        const found = await client.query(`select x::text as row from ${name}.${table} x`)
        text += found.rows.map(({ row }) => row).join('\n')
      }
      return text
    },
  })

  test('processes that start at once on an empty database make its tables once', async () => {
    const memories = Array.from({ length: 4 }, () =>
      createMemory({ store: postgresMemory(server.url, { schema: 'at once', connections: 1 }) }),
    )
    await Promise.all(memories.map((memory, i) => memory.remember(`tea ${i}`, { source: 's' })))
    expect(await memories[0]?.recall('tea')).toHaveLength(4)
    for (const memory of memories) await memory.close()
  })

  test('a memory is kept beside the sessions', async () => {
    const store = postgresStore(server.url, { schema: 'beside' })
    const memory = createMemory({ store })
    await memory.remember('tea', { source: 's' })
    expect((await client.query('select text from beside_memory.items')).rows).toEqual([{ text: 'tea' }])
    await memory.close()
    await store.close()
  })

  test('a server that is not there is named, and may be there later', async () => {
    const memory = createMemory({ store: postgresMemory('postgres://nobody@127.0.0.1:1/none') })
    await expect(memory.recall('x')).rejects.toMatchObject({ code: 'store-unreachable', retryable: true })
    await memory.close()
  })
})
