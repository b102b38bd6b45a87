import { DatabaseSync } from 'node:sqlite'

import { Client } from 'pg'
import type { Agent, Entry } from 'provost'

import type { Cluster } from './machines.ts'

/** Returns the place of a session in the wake index, which no public function shows. */
async function indexed(storeAt: string, id: string): Promise<string> {
  const sql = 'select status, due_at, mail, takeovers from'
  if (!storeAt.startsWith('postgres:')) {
    const file = new DatabaseSync(storeAt, { readOnly: true })
    const row = file.prepare(`${sql} logs where key = ?`).get(id)
    file.close()
    return JSON.stringify(row)
  }
  const client = new Client({ connectionString: storeAt })
  await client.connect()
  const { rows } = await client.query(`${sql} provost.logs where key = $1`, [id])
  await client.end()
  return JSON.stringify(rows[0])
}

/** Returns what a session does without news, or why it cannot be opened. */
async function restOf(agent: Agent, id: string): Promise<string> {
  try {
    const session = await agent.resumeSession(id)
    const { status, rest, nextDeadline } = session
    await session.close()
    return `status ${status}, rest ${rest}, next deadline ${nextDeadline ?? 'none'}`
  } catch (error) {
    return String(error)
  }
}

/** Describes a session that should have ended: its place in the wake index, its lease, its inbox, and its last entries. */
export async function describeSession({ store, storeAt }: Cluster, agent: Agent, id: string): Promise<string> {
  const { holder, takeovers, until, quarantinedAt } = await store.leaseState(id)
  const left = until === undefined ? '' : `, until in ${until - Date.now()} ms`
  const quarantine = quarantinedAt === undefined ? '' : ', in quarantine'
  const lines = [
    `index: ${await indexed(storeAt, id)}, now ${Date.now()}`,
    `lease: ${holder}${left}, ${takeovers} takeovers${quarantine}`,
    await restOf(agent, id),
  ]
  for await (const { token, value } of store.inbox(id)) lines.push(`inbox: ${token} ${JSON.stringify(value)}`)
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  for (const entry of entries.slice(-12)) lines.push(JSON.stringify(entry))
  return [`session ${id}, ${entries.length} entries`, ...lines.map((line) => `  ${line.slice(0, 400)}`)].join('\n')
}
