// An open question of the design: where sessions are kept. Here it is a file. One process waits for a remote tool and ends;
// another one receives the result and resumes.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createAgent, tool, z } from 'provost'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const scan = tool({ name: 'scan', input: z.object({}) })
const script = [{ toolCalls: [{ name: 'scan' }] }, { text: 'The letter says: come at ten.' }]
const clerk = (file: string, from: number) =>
  createAgent({ name: 'clerk', model: scriptedModel(script.slice(from)), tools: [scan], store: sqliteStore(file) })

const [, program, given] = process.argv
const file = fileURLToPath(import.meta.url)
if (program === file && given) {
  // The first process.
  const session = await clerk(given, 0).createSession({ id: 'letter' })
  session.send('What does the letter say?')
  await session.waitForIdle()
  console.log(session.status)
} else {
  const folder = await mkdtemp(join(tmpdir(), 'letters-'))
  const database = join(folder, 'sessions.db')
  const first = execFileSync(process.execPath, ['--conditions=@provost/source', file, database], { encoding: 'utf8' })
  assert.equal(first.trim(), 'suspended')

  const session = await clerk(database, 1).resumeSession('letter')
  const [call] = session.pending.remoteCalls
  await session.resolve({ toolResults: [{ callId: call?.callId ?? '', output: 'come at ten' }] })
  const result = await session.waitForIdle()
  assert.equal(result?.status, 'completed')
  await session.close()
  await rm(folder, { recursive: true })
  console.log(result.text) // → The letter says: come at ten.
}
