import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { engineConformance, findRestate, startRestate } from '@provost/testing'
import type { RestateServer } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { RestatePlace } from './restate-place.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const binary = findRestate(new URL('../../../bench/restate', import.meta.url).pathname)

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

describe('engine restate', () => {
  const checks = engineConformance({
    module: new URL('restate-place.ts', import.meta.url).href,
    place() {
      if (!restate) throw new Error('The Restate server does not run.')
      const server = restate
      const folder = mkdtempSync(join(tmpdir(), 'provost-store-'))
      const { ingress, admin } = server
      const place: RestatePlace = { path: join(folder, 'sessions.db'), ingress, admin, service: `check-${++places}` }
      return {
        argument: JSON.stringify(place),
        async ready() {
          while (!(await fetch(`${admin}/services/${place.service}`)).ok) await sleep(20)
        },
        stored: () => storedBy(server),
        async restartServer() {
          await server.kill()
          await server.restart()
        },
        remove: () => rmSync(folder, { recursive: true, force: true }),
      }
    },
  })

  test.for(checks)('$name', async ({ run }, { skip }) => {
    if (!restate) return skip('in full runs, with the server of bench/restate')
    await expect(run()).resolves.toBeUndefined()
  })
})
