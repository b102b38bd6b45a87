import { memoryStore } from 'provost'
import { createSandbox } from 'provost/code-mode'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

import { twoTurns } from '../../../two-turns.mjs'

const memory = memoryStore()
const isolation = 'bun' in process.versions || 'deno' in process.versions ? 'engine' : 'thread'

const parts = {
  memory: () => twoTurns(() => memory),
  sqlite: () => twoTurns(() => sqliteStore(process.env.STORE)),
  postgresql: () => twoTurns(() => postgresStore(process.env.DATABASE_URL)),
  async 'code-mode'() {
    const sandbox = createSandbox({ isolation, workers: 1 })
    const code = 'const n: number = await tools.add({ a: 1, b: 2 }); return n + 4'
    const { value, error } = await sandbox.run(code, { tools: { add: ({ a, b }) => a + b } })
    await sandbox.close()
    return `script ${JSON.stringify(value ?? error?.message)}`
  },
}

/** Runs one of the parts in the process of Next. */
export async function GET(_request, { params }) {
  const { part } = await params
  try {
    return new Response(await parts[part]())
  } catch (error) {
    return new Response(String(error?.stack ?? error), { status: 500 })
  }
}
