// Runs the team, and answers its approvals: at once in a terminal, or later from another process.
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'

import type { RunOptions } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { createTeam, modelsOf } from './team.ts'

const { values, positionals } = parseArgs({
  options: { approve: { type: 'string' }, deny: { type: 'string' } },
  allowPositionals: true,
})
const store = sqliteStore(process.env.STORE ?? join(import.meta.dirname, 'sessions.db'))
const desk = createTeam(modelsOf(process.env.PROVOST_MODEL), store)

const waiting = values.approve ?? values.deny
if (waiting === undefined) await ask(positionals[0] ?? 'My shirt came torn. Order 17.')
else await decide(waiting, values.approve === undefined ? 'deny' : 'approve')
await store.close()

/** Asks the team, and prints what its agents do. */
async function ask(question: string): Promise<void> {
  const options: RunOptions = process.stdin.isTTY ? { onApproval } : {}
  const stream = desk.stream(question, options)
  for await (const event of stream) {
    if (event.type === 'tool.execute.start')
      console.log(`${event.agent} → ${event.toolName} ${JSON.stringify(event.input)}`)
    if (event.type === 'text.end') console.log(`${event.agent}: ${event.text}`)
  }
  const { status, sessionId, pending, error } = await stream.result
  for (const { agent, toolName, input } of pending.approvals) {
    console.log(`${agent} asks: may I ${toolName} ${JSON.stringify(input)}?`)
    console.log(`Answer with: npm start -- --approve ${sessionId}`)
  }
  if (error) console.error(error.message, error.hint ?? '')
  if (status === 'failed') process.exitCode = 1
}

async function onApproval({ toolName, input }: { toolName: string; input: unknown }): Promise<'approve' | 'deny'> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`May I ${toolName} ${JSON.stringify(input)}? [y/N] `)
  terminal.close()
  return answer.trim().toLowerCase() === 'y' ? 'approve' : 'deny'
}

/** Answers all approvals of a session that an earlier process left suspended, and prints the rest of its run. */
async function decide(sessionId: string, decision: 'approve' | 'deny'): Promise<void> {
  const session = await desk.resumeSession(sessionId)
  session.on('text.end', ({ agent, text }) => console.log(`${agent}: ${text}`))
  session.on('tool.execute.end', ({ toolName, output }) =>
    console.log(`${toolName} → ${JSON.stringify('value' in output ? output.value : output)}`),
  )
  const approvals = session.pending.approvals.map(({ id }) => ({ id, decision }))
  if (approvals.length === 0) console.log('Nothing waits for an approval in this session.')
  else {
    await session.resolve({ approvals })
    await session.waitForIdle()
  }
  await session.close()
}
