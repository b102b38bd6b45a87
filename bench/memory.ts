import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createMemory, postgresMemory, sqliteMemory } from '@provost/memory'
import type { MemoryStore } from '@provost/memory'
import { findPostgres, startPostgres } from '@provost/testing'

import { median } from './measure.ts'
import { readConversations } from './memory/locomo.ts'
import { measureRecall } from './memory/measure-recall.ts'
import { syntheticConversations } from './memory/synthetic.ts'

const help = `Measures the memory: recall on the synthetic set and on conversations of yours, and the time of a query.

Usage: node --conditions=@provost/source bench/memory.ts [DIR] [options]

  DIR              a file in the format of LoCoMo, or a folder of such files
Options:
  --items 100000   items in the file that is asked (default 100000)
  --postgres       also in a PostgreSQL server that is started for it
  --json           one JSON object on stdout, nothing else
  --help           this text
`

/** Words as frequent as words are: the n-th about 1/n as often as the first. */
function words(count: number, seed: number): () => string {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
  return () => `w${Math.floor(Math.exp(next() * Math.log(count))).toString(36)}`
}

/** Times of this process, and by the clock: a server spends its own. */
async function latency(items: number, store: MemoryStore) {
  const memory = createMemory({ store })
  const principal = { id: 'ann' }
  const word = words(30_000, 7)
  const written = process.cpuUsage()
  for (let i = 0; i < items; i++) {
    const text = Array.from({ length: 14 }, word).join(' ')
    const sessionId = `s${Math.floor(i / 25)}`
    await memory.remember(text, { source: 'bench', kind: 'episode', sessionId, principal })
  }
  const { user, system } = process.cpuUsage(written)
  const asking = words(30_000, 99)
  const queries = Array.from({ length: 300 }, () => Array.from({ length: 6 }, asking).join(' '))
  // As many as V8 needs to make our code fast.
  for (let round = 0; round < 3; round++) for (const query of queries) await memory.recall(query, { principal })
  const cpu: number[] = []
  const wall: number[] = []
  for (const query of queries) {
    const [used, begin] = [process.cpuUsage(), performance.now()]
    await memory.recall(query, { principal })
    wall.push(performance.now() - begin)
    const spent = process.cpuUsage(used)
    cpu.push((spent.user + spent.system) / 1_000)
  }
  const at = (values: readonly number[], part: number): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN
  await memory.close()
  return {
    items,
    rememberCpuMs: (user + system) / 1_000 / items,
    queryCpuMs: { median: median(cpu), p95: at(cpu, 0.95) },
    queryWallMs: { median: median(wall), p95: at(wall, 0.95) },
  }
}

async function inSqlite(items: number) {
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  try {
    return await latency(items, sqliteMemory(join(folder, 'memory.db')))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function inPostgres(items: number) {
  if (findPostgres() === undefined) return 'PostgreSQL is not installed'
  const server = await startPostgres()
  try {
    return await latency(items, postgresMemory(server.url))
  } finally {
    await server.stop()
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    items: { type: 'string', default: '100000' },
    postgres: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(help)
else {
  const [dir] = positionals
  const report = {
    bench: 'memory',
    synthetic: await measureRecall(syntheticConversations()),
    ...(dir !== undefined && { set: dir, given: await measureRecall(readConversations(dir).conversations) }),
    latency: await inSqlite(Number(values.items)),
    ...(values.postgres && { postgres: await inPostgres(Number(values.items)) }),
    node: process.version,
    load: loadavg()[0],
  }
  process.stdout.write(`${JSON.stringify(report, null, values.json ? 0 : 2)}\n`)
}
