import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { memoryStore } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { scripted } from './scripted.ts'
import { createTeam } from './team.ts'

const folder = mkdtempSync(join(tmpdir(), 'team-'))
after(() => rmSync(folder, { recursive: true }))

const complaint = 'My shirt came torn. Order 17.'

test('the question of a specialist reaches the caller of the desk', async () => {
  const asked: string[] = []
  const stream = createTeam(scripted(), memoryStore()).stream(complaint, {
    onApproval: ({ agent, toolName, input }) => {
      asked.push(`${agent} ${toolName} ${JSON.stringify(input)}`)
      return 'approve'
    },
  })
  const refunds: unknown[] = []
  for await (const event of stream) {
    if (event.type === 'tool.execute.end' && event.toolName === 'refund') refunds.push(event.output)
  }
  assert.deepEqual(asked, ['billing refund {"orderId":"17","euros":80}'])
  assert.deepEqual(refunds, [{ type: 'text', value: 'refunded 80 euros on order 17' }])
  assert.equal((await stream.result).status, 'completed')
})

test('another process approves: the refund runs there, once', async () => {
  const file = join(folder, 'sessions.db')
  const first = sqliteStore(file)
  const { status, sessionId } = await createTeam(scripted(), first).run(complaint)
  assert.equal(status, 'suspended')
  await first.close()

  const store = sqliteStore(file)
  const session = await createTeam(scripted(), store).resumeSession(sessionId)
  const refunds: unknown[] = []
  session.on('tool.execute.end', ({ toolName, output }) => {
    if (toolName === 'refund') refunds.push(output)
  })
  await session.resolve({
    approvals: session.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const })),
  })
  await session.waitForIdle()
  assert.deepEqual(refunds, [{ type: 'text', value: 'refunded 80 euros on order 17' }])
  assert.equal(session.status, 'idle')
  await session.close()
  await store.close()
})

test('a denied refund does not run', async () => {
  const stream = createTeam(scripted(), memoryStore()).stream(complaint, { onApproval: () => 'deny' })
  const started: string[] = []
  for await (const event of stream) if (event.type === 'tool.execute.start') started.push(event.toolName)
  assert.equal(started.includes('refund'), false)
})
