import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

import type { EnginePlace } from '@provost/testing'
import { engineConformance, findPostgres, findRestate, startRestate } from '@provost/testing'
import type { RestateServer } from '@provost/testing'
import { postgresPlace } from '@provost/testing/test/postgres-place'
import { builtProgram } from '@provost/testing/test/program'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { RestatePlace } from './restate-place.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const binary = findRestate(new URL('../../../bench/restate', import.meta.url).pathname)
const source = new URL('restate-place.ts', import.meta.url)
const isRun = full && binary !== undefined
const module = isRun ? pathToFileURL(await builtProgram(source)).href : source.href

let restate: RestateServer | undefined
beforeAll(async () => {
  if (full && binary !== undefined) restate = await startRestate(binary)
})
afterAll(() => restate?.stop())

/** Returns what the server has of invocations, and all bytes of its files. */
async function storedBy({ admin, folder }: RestateServer): Promise<string> {
  const response = await fetch(`${admin}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query: 'select * from sys_invocation' }),
  })
  const files = globSync('**/*.{log,sst}', { cwd: folder }).map((name) => readFileSync(join(folder, name), 'latin1'))
  return [await response.text(), ...files].join('\n')
}

let places = 0

/** A service of its own on the one server, with a store. */
function placeOn(store: Pick<EnginePlace, 'remove' | 'takeStoreAway'>, storeAt: string): EnginePlace {
  if (!restate) throw new Error('The Restate server does not run.')
  const server = restate
  const { ingress, admin } = server
  const place: RestatePlace = { storeAt, ingress, admin, service: `check-${++places}` }
  return {
    ...store,
    argument: JSON.stringify(place),
    async ready() {
      while (!(await fetch(`${admin}/services/${place.service}`)).ok) await sleep(20)
    },
    stored: () => storedBy(server),
    async killServer() {
      await server.kill()
      return () => server.restart()
    },
  }
}

describe('engine restate on SQLite', () => {
  const checks = engineConformance({
    module,
    place() {
      const folder = mkdtempSync(join(tmpdir(), 'provost-store-'))
      const remove = (): void => rmSync(folder, { recursive: true, force: true })
      return placeOn({ remove }, join(folder, 'sessions.db'))
    },
  })

  test.for(checks)('$name', async ({ run }, { skip }) => {
    skip(!isRun, 'in full runs, with the server of bench/restate')
    await expect(run()).resolves.toBeUndefined()
  })
})

describe('engine restate on PostgreSQL', () => {
  const checks = engineConformance({
    module,
    leaseMs: 1_500,
    outages: ['refused', 'silent'],
    async place() {
      const { storeAt, ...store } = await postgresPlace()
      return placeOn(store, storeAt)
    },
  })

  test.for(checks)('$name', async ({ run }, { skip }) => {
    skip(!isRun || findPostgres() === undefined, 'in full runs, with PostgreSQL and the server of bench/restate')
    await expect(run()).resolves.toBeUndefined()
  })
})
