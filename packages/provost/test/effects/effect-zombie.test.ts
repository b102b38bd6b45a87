import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { effectServer, findPostgres, startPostgres } from '@provost/testing'
import type { EffectServer } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import type { EffectAnswer, EffectMessage, EffectTask } from './effect-child.ts'
import { openStore, settleCase, tellsSuccess, toldIn } from './effect-site.ts'
import type { EffectSite } from './effect-site.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** With a key or without, looked up or asked about. */
const every = (['agent', 'script', 'composite'] as const).flatMap((way) =>
  [true, false].flatMap((keyed) =>
    [true, false].map((lookup) => ({ way, keyed, lookup, repeats: keyed, timeoutMs: 20_000 })),
  ),
)

const cases = every.filter((_, n) => full || n % 5 === 0)

/** A human who is certain: what was sent before they look has had its effect. */
function humanAt(bank: EffectServer | undefined): () => Promise<boolean> {
  return async () => {
    await bank?.settled()
    return (bank?.effects.length ?? 0) > 0
  }
}

describe.each(['sqlite', 'postgres'] as const)('a process on %s that stops after its request was sent', (kind) => {
  test.skipIf(kind === 'postgres' && findPostgres() === undefined)(
    'does not repeat the effect or replace its result when it continues after another process resumed',
    async ({ skip }) => {
      skip(!full, 'in full runs')
      const folder = mkdtempSync(join(tmpdir(), 'provost-zombie-'))
      const server = kind === 'postgres' ? await startPostgres() : undefined
      const site: EffectSite = { kind, place: server?.url ?? join(folder, 'sessions.db') }
      const store = openStore(site)
      const cells = await Promise.all(
        cases.map(async (one, n) => ({
          sessionId: `zombie-${n}`,
          one,
          bank: await effectServer({ knowsKeys: false, faults: [{ delayMs: 60 }] }),
        })),
      )
      const tasks: readonly EffectTask[] = cells.map(({ sessionId, one, bank }) => ({
        sessionId,
        at: { name: 'in-flight', nth: 1 },
        one: { ...one, bank: bank.url },
      }))
      const child = fork(
        fileURLToPath(new URL('effect-child.ts', import.meta.url)),
        [JSON.stringify(site), JSON.stringify(tasks), 'stop'],
        { execArgv: ['--conditions=@provost/source'] },
      )
      const stopped = new Set<string>()
      const allStopped = Promise.withResolvers<void>()
      child.on('message', ({ kind: said, sessionId }: EffectMessage) => {
        if (said === 'asks') return void child.send({ sessionId, took: true } satisfies EffectAnswer)
        stopped.add(sessionId)
        if (stopped.size === tasks.length) allStopped.resolve()
      })
      const closed = once(child, 'close')
      await allStopped.promise
      const endings = await Promise.all(
        tasks.map(({ one, sessionId }, n) => settleCase(one, sessionId, store, humanAt(cells[n]?.bank))),
      )
      const told = (): Promise<readonly (readonly string[])[]> =>
        Promise.all(tasks.map(({ sessionId }) => toldIn(store, sessionId)))
      const before = await told()
      child.kill('SIGCONT')
      expect((await closed)[0]).toBe(0)
      expect(endings.map(({ status }) => status)).toEqual(cases.map(() => 'completed'))
      expect(endings.map(({ asked }, n) => asked > 0 || (cells[n]?.bank.lookups ?? 0) > 0)).toEqual(
        cases.map(() => true),
      )
      expect(await told()).toEqual(before)
      expect(before.map((texts) => texts.some(tellsSuccess))).toEqual(cases.map(() => true))
      expect(cells.map(({ bank }) => bank.effects.length)).toEqual(cases.map(() => 1))
      await Promise.all(cells.map(({ bank }) => bank.close()))
      await store.close()
      await server?.stop()
      rmSync(folder, { recursive: true })
    },
  )
})
