// A worker takes what is due from the store: here an approval that arrives while no process has the run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, resolveWaits, tool, z } from 'provost'
import { createWorker } from 'provost/server'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => `refunded ${amount}`,
})
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'Refunded.' }])
const folder = mkdtempSync(join(tmpdir(), 'provost-'))
const store = sqliteStore(join(folder, 'sessions.db'))
const desk = createAgent({ name: 'desk', model, tools: [refund], store })

// A process starts the run and ends: only the store has it now.
const session = await desk.createSession({ id: 'ann-17' })
const { status, pending } = await session.stream('Refund 80 euros').result
await session.close()
console.log(status) // → suspended

// Another process decides, without the agent.
const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'boss' }) as const)
await resolveWaits(store, 'ann-17', { approvals })

const worker = createWorker({ agents: [desk], store, concurrency: 8 })
for (let open = true; open; await sleep(10)) {
  open = false
  for await (const info of store.list()) open ||= info.status !== 'idle'
}
const answer = (await desk.resumeSession('ann-17')).messages.at(-1)
console.log(JSON.stringify(answer?.content)) // → [{"type":"text","text":"Refunded."}]

await worker.close()
await store.close()
rmSync(folder, { recursive: true })
