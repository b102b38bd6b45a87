// A session whose run crashes one process after another is quarantined until an operator releases it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, ProvostError } from 'provost'
import { exportSession } from 'provost/sessions'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const model = process.env.PROVOST_MODEL ?? scriptedModel([{ text: 'Hello.' }])
const folder = mkdtempSync(join(tmpdir(), 'provost-'))
const store = sqliteStore(join(folder, 'sessions.db'))
const agent = createAgent({ name: 'desk', model, store })
await agent.run('Hello', { sessionId: 'ann-17' })

// Writers that take the session over and die: their leases expire without renewal or release.
for (let n = 1; n <= 6; n++) {
  await store.lease('ann-17', `process ${n}`, 1)
  while ((await store.leaseState('ann-17')).holder === 'alive') await new Promise(setImmediate)
}

const next = await agent.resumeSession('ann-17').catch((error: unknown) => error)
console.log(next instanceof ProvostError && next.code) // → session-quarantined

for await (const { id, status } of store.list({ status: 'quarantined' })) {
  console.log(id, status) // → ann-17 quarantined
  let lines = 0
  for await (const _ of exportSession(store, id)) lines++
  console.log(lines > 3) // → true
  console.log(await store.releaseQuarantine(id)) // → true
}
console.log((await agent.resumeSession('ann-17')).messages.length) // → 2

await store.close()
rmSync(folder, { recursive: true })
