// A run waits in a file for its approval. The process that asked has ended; another one resumes it, and the effect happens
// once, also when the same state is resumed again.
// Changed: a suspended run returns its state, so no process has to catch an event and take a snapshot in time.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { createAgent, RunState, tool, z } from 'provost'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const role = process.argv[2]
if (role === 'ask' || role === 'resume') await work(role, process.argv[3] ?? '')
else await supervise()

async function work(task: 'ask' | 'resume', folder: string): Promise<void> {
  const open = tool({
    name: 'open_gate',
    effect: 'write',
    needsApproval: true,
    input: z.object({ gate: z.number() }),
    execute: ({ gate }) => appendFileSync(join(folder, 'effects'), `opened ${gate}\n`),
  })
  const asks = { toolCalls: [{ name: 'open_gate', input: { gate: 3 } }] }
  const model = scriptedModel(task === 'ask' ? [asks] : [{ text: 'It is open.' }])
  const store = sqliteStore(join(folder, 'log.db'))
  const agent = createAgent({ name: 'keeper', model, tools: [open], store })
  const file = join(folder, 'run.json')
  if (task === 'ask') return writeFileSync(file, JSON.stringify((await agent.run('Open gate 3.')).state))

  const { waits, state } = JSON.parse(readFileSync(join(folder, 'decision.json'), 'utf8')) as Decided
  const approvals = waits.map((id) => ({ id, decision: 'approve' as const, by: 'olga' }))
  for (let time = 1; time <= 2; time++)
    console.log((await agent.run(RunState.fromJSON(state, agent), { approvals })).text)
}

interface Decided {
  readonly waits: readonly string[]
  readonly state: string
}

async function supervise(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-approval-'))
  const run = (task: string) =>
    promisify(execFile)(process.execPath, ['--conditions=@provost/source', import.meta.filename, task, folder])
  await run('ask')
  const state = readFileSync(join(folder, 'run.json'), 'utf8')
  const store = sqliteStore(join(folder, 'log.db'))
  const { cursor } = JSON.parse(state) as { cursor: { sessionId: string } }
  const waits: string[] = []
  for await (const entry of store.read(cursor.sessionId)) if (entry.type === 'wait') waits.push(entry.token)
  writeFileSync(join(folder, 'decision.json'), JSON.stringify({ waits, state }))
  const { stdout } = await run('resume')
  assert.equal(stdout, 'It is open.\nIt is open.\n')
  assert.equal(readFileSync(join(folder, 'effects'), 'utf8'), 'opened 3\n')
  rmSync(folder, { recursive: true })
  console.log('asked, approved and resumed in three processes, opened once') // → asked, approved and resumed in three processes, opened once
}
