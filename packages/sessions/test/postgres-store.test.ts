import { findPostgres, startPostgres, storeConformance } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { open } from './fixture/postgres-place.ts'

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
      const module = new URL('./fixture/postgres-place.ts', import.meta.url).href
      return { open: () => open(argument), remove() {}, remote: { module, argument } }
    },
  })

  afterAll(async () => {
    await suite.close()
    await server.stop()
  })

  test.each(suite.checks)('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })
})
