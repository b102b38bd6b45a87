import { findPostgres, startPostgres } from '@provost/testing'
import { afterAll, expect, test } from 'vitest'

import { desk, deskFile, makePlace } from './provost-command.ts'

const place = makePlace()
afterAll(() => place.remove())

const full = process.env['PROVOST_TEST_FULL'] === '1'

test.for(['postgres', 'jsonl'] as const)(
  '%s: a session is run, approved elsewhere, resumed and verified',
  async (kind, ctx) => {
    if (!full) ctx.skip('PROVOST_TEST_FULL is not set')
    if (kind === 'postgres' && findPostgres() === undefined) ctx.skip('PostgreSQL is not installed')
    const server = kind === 'postgres' ? await startPostgres() : undefined
    const provost = (...args: readonly string[]) =>
      place.provostWith({ PROVOST_STORE: server?.url ?? 'jsonl:sessions' }, ...args)
    try {
      const suspended = await provost('run', desk, 'refund it', '--session', 's1')
      expect(suspended.code).toBe(3)
      const listed = await provost('runs', '--status', 'suspended', '--json')
      expect(JSON.parse(listed.out)).toMatchObject({ id: 's1', waits: 1 })
      const approved = await provost('approve', 's1', '--by', 'ann', '--agent', deskFile)
      expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('The refund is settled.') })
      const verified = await provost('verify', 's1')
      expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('Valid') })
      if (!server) return
      const unknown = await provost('runs', '--store', server.url.replace(/test_\d+/, 'absent'))
      expect(unknown).toMatchObject({
        code: 1,
        err: expect.stringContaining('store-unusable: The database of the store'),
      })
    } finally {
      await server?.stop()
    }
  },
)
