import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createAgent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import { postgresStore, sqliteStore } from '@provost/sessions'
import { effectFile, findPostgres, scriptedModel, startPostgres } from '@provost/testing'
import { expect, onTestFinished, test } from 'vitest'

import { newFolder } from './folder.ts'

const script = fileURLToPath(new URL('worker-process.ts', import.meta.url))
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** `PROVOST_TEST_KILLS` sets another number, for measurements. */
const kills = Number(process.env['PROVOST_TEST_KILLS'] ?? (full ? 10 : 1))
const stores = full ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)
/** Enough work to be in progress at each kill: each worker has a few sessions of a few steps. */
const steps = full ? Math.max(6, kills * 2) : 4
const sessions = full ? 24 : 3

async function startWorker(...args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--conditions=@provost/source', script, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(child.stdout, 'data')
  return child
}

async function entriesOf(store: SessionStore, id: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

/** Returns how long each interrupted run waited for its next process, in milliseconds. */
function takeovers(logs: readonly (readonly Entry[])[], killed: readonly number[]): readonly number[] {
  return logs
    .flatMap((entries) =>
      entries.flatMap((entry, n) => {
        const before = entries[n - 1]
        if (entry.type !== 'run' || entry.op !== 'resumed' || !before) return []
        const kill = killed.find((at) => at >= before.at && at <= entry.at)
        return kill === undefined ? [] : [entry.at - kill]
      }),
    )
    .toSorted((a, b) => a - b)
}

test.for(stores)('killed workers lose no session and repeat no effect: %s', async (kind, { skip }) => {
  skip(kind === 'postgres' && !findPostgres(), 'PostgreSQL is not installed')
  const { path, remove } = newFolder()
  const database = kind === 'postgres' ? await startPostgres() : undefined
  const where = database?.url ?? join(path, 'sessions.db')
  const effects = join(path, 'effects.txt')
  const outside = effectFile(effects)
  const store = database ? postgresStore(where) : sqliteStore(where)
  const workers: ChildProcess[] = []
  onTestFinished(async () => {
    for (const worker of workers) worker.kill('SIGKILL')
    await store.close()
    await database?.stop()
    remove()
  })
  const agent = createAgent({ name: 'desk', model: scriptedModel([]), store })
  const ids = Array.from({ length: sessions }, (_, n) => `s${n}`)
  for (const id of ids) {
    await (await agent.createSession({ id, principal: { id: `p${Number(id.slice(1)) % 5}` } })).close()
    await store.deliver(id, 'send/1', { mode: 'queue', input: id }, 'ann')
  }
  for (let n = 0; n < 2; n++) workers.push(await startWorker(where, effects, String(steps)))
  const killed: number[] = []
  for (let n = 0; n < kills; n++) {
    const done = outside.read().length
    // Between kills the runs complete a step: a run that completes none is quarantined.
    const enough = Math.min(done + sessions, sessions * steps)
    await expect.poll(() => outside.read().length, { interval: 20 }).toBeGreaterThanOrEqual(enough)
    const [victim] = workers.splice(0, 1)
    const died = victim && once(victim, 'exit')
    killed.push(Date.now())
    victim?.kill('SIGKILL')
    await died
    workers.push(await startWorker(where, effects, String(steps)))
  }
  const open = async (): Promise<number> => {
    let count = 0
    for await (const { status } of store.list()) if (status !== 'idle') count++
    return count
  }
  await expect.poll(open, { interval: 100, timeout: 300_000 }).toBe(0)
  const lines = outside.read()
  expect([lines.length, new Set(lines.map(({ key }) => key)).size]).toEqual([sessions * steps, sessions * steps])
  const logs = await Promise.all(ids.map((id) => entriesOf(store, id)))
  for (const entries of logs) expect(entries.at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'completed' })
  const waits = takeovers(logs, killed)
  if (process.env['PROVOST_TEST_KILLS'] !== undefined) {
    const at = (share: number): number | undefined => waits[Math.floor((waits.length - 1) * share)]
    process.stdout.write(
      `${JSON.stringify({ kind, kills, sessions, taken: waits.length, p50: at(0.5), p99: at(0.99), last: at(1) })}\n`,
    )
  }
})
