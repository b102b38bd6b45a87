import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createAgent } from '@provost/agent'
import { postgresStore, sqliteStore } from '@provost/sessions'
import { effectFile, findPostgres, scriptedModel, startPostgres } from '@provost/testing'
import { expect, onTestFinished, test } from 'vitest'

import { begin, childrenOf, endOf } from './elsewhere-scenario.ts'
import { newFolder } from './folder.ts'

const script = fileURLToPath(new URL('elsewhere-process.ts', import.meta.url))
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** Each is the worker of some parents and of some children, whose effects are in progress. */
const kills = 3
const sessions = 2
/** Two fan-outs of three children with two effects each. */
const effectsEach = 12

async function startWorker(...args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--conditions=@provost/source', script, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(child.stdout, 'data')
  return child
}

test.for(['sqlite', 'postgres'] as const)(
  'killed workers lose no child of a fan-out and repeat no effect: %s',
  async (kind, { skip }) => {
    skip(!full, 'in full runs')
    skip(kind === 'postgres' && !findPostgres(), 'PostgreSQL is not installed')
    const { path, remove } = newFolder()
    const database = kind === 'postgres' ? await startPostgres() : undefined
    const where = database?.url ?? join(path, 'sessions.db')
    const outside = effectFile(join(path, 'effects.txt'))
    const store = database ? postgresStore(where) : sqliteStore(where)
    const workers: ChildProcess[] = []
    onTestFinished(async () => {
      for (const worker of workers) worker.kill('SIGKILL')
      await store.close()
      await database?.stop()
      remove()
    })
    const lead = createAgent({ name: 'lead', model: scriptedModel([]), store })
    const ids = Array.from({ length: sessions }, (_, n) => `s${n}`)
    for (const id of ids) await begin(store, lead, id)
    const all = sessions * effectsEach
    for (let n = 0; n < 2; n++) workers.push(await startWorker(where, join(path, 'effects.txt')))
    for (let n = 1; n <= kills; n++) {
      await expect
        .poll(() => outside.read().length, { interval: 20 })
        .toBeGreaterThanOrEqual(Math.floor((all * n) / (kills + 1)))
      const [victim] = workers.splice(0, 1)
      const died = victim && once(victim, 'exit')
      victim?.kill('SIGKILL')
      await died
      workers.push(await startWorker(where, join(path, 'effects.txt')))
    }
    for (const id of ids) expect(await endOf(store, id)).toMatchObject({ status: 'completed', output: 'all done' })
    const lines = outside.read()
    expect([lines.length, new Set(lines.map(({ key }) => key)).size]).toEqual([all, all])
    for (const id of ids) {
      const children = await childrenOf(store, id)
      expect(children).toHaveLength(6)
      for (const { log } of children) expect(await endOf(store, log)).toMatchObject({ status: 'completed' })
    }
  },
)
