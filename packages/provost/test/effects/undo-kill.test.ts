import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { effectServer, findPostgres, startPostgres } from '@provost/testing'
import type { CrashPoint } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { openStore } from './effect-site.ts'
import type { EffectSite } from './effect-site.ts'
import { compensateAll, undoDesk } from './undo-site.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const every: readonly CrashPoint[] = [
  { name: 'after refund', nth: 1 },
  // The first call is the approval.
  { name: 'after call/settled', nth: 2 },
  { name: 'before refund', nth: 2 },
]

const moments = full ? every : every.slice(0, 1)

describe.each(['sqlite', 'postgres'] as const)('a compensation on %s whose process is killed', (kind) => {
  test.skipIf(kind === 'postgres' && findPostgres() === undefined)(
    'is continued by another process, and undoes each effect once',
    async ({ skip }) => {
      skip(!full, 'in full runs')
      const folder = mkdtempSync(join(tmpdir(), 'provost-undo-'))
      const server = kind === 'postgres' ? await startPostgres() : undefined
      const site: EffectSite = { kind, place: server?.url ?? join(folder, 'sessions.db') }
      const store = openStore(site)
      await Promise.all(
        moments.map(async (moment, n) => {
          const bank = await effectServer({ knowsKeys: false })
          const refunds = (): readonly string[] =>
            bank.effects.flatMap(({ body }) => /"refund":"(\d)"/.exec(JSON.stringify(body))?.[1] ?? [])
          const sessionId = `undo-${n}`
          const desk = undoDesk(bank.url, store)
          expect((await desk.run('Pay.', { sessionId })).status).toBe('completed')
          const child = fork(
            fileURLToPath(new URL('undo-child.ts', import.meta.url)),
            [JSON.stringify(site), bank.url, sessionId, JSON.stringify(moment)],
            { execArgv: ['--conditions=@provost/source'] },
          )
          expect((await once(child, 'close'))[1]).toBe('SIGKILL')
          expect(refunds().length).toBeLessThan(3)
          const result = await compensateAll(desk, sessionId, (invoice) => refunds().includes(invoice))
          expect(result).toMatchObject({ status: 'completed', impossible: [] })
          expect(result.undone).toHaveLength(3)
          expect(refunds()).toEqual(['3', '2', '1'])
          await bank.close()
        }),
      )
      await store.close()
      await server?.stop()
      rmSync(folder, { recursive: true })
    },
  )
})
