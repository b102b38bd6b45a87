import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { postgresMemory, sqliteMemory } from '@provost/memory'
import { findPostgres, startPostgres } from '@provost/testing'

import { measureLatency } from './memory/latency.ts'
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

async function inSqlite(items: number) {
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  try {
    const { each: _, ...report } = await measureLatency(items, sqliteMemory(join(folder, 'memory.db')))
    return report
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function inPostgres(items: number) {
  if (findPostgres() === undefined) return 'PostgreSQL is not installed'
  const server = await startPostgres()
  try {
    const { each: _, ...report } = await measureLatency(items, postgresMemory(server.url))
    return report
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
