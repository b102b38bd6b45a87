import { createAgent, foldLog, pendingWork, resolveWaits } from '@provost/agent'
import type { Entry } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

function desk() {
  const store = memoryStore()
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    effect: 'write',
    needsApproval: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => {
      paid.push(amount)
      return 'paid'
    },
  })
  const calls = [5, 7].map((amount) => ({ name: 'pay', input: { amount } }))
  const model = scriptedModel([{ toolCalls: calls }, { text: 'Done.' }])
  return { store, paid, agent: createAgent({ name: 'desk', model, tools: [pay], store }) }
}

async function waitsOf(store: ReturnType<typeof memoryStore>, id: string): Promise<readonly string[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return pendingWork(foldLog(entries)).approvals.map((wait) => wait.id)
}

test('decisions are recorded without the agent, and the run takes them when it is resumed', async () => {
  const { store, paid, agent } = desk()
  const { sessionId } = await agent.run('Pay both')
  const [first = '', second = ''] = await waitsOf(store, sessionId)
  await resolveWaits(store, sessionId, { approvals: [{ id: first, decision: 'approve', by: 'ann' }] })
  await resolveWaits(store, sessionId, { approvals: [{ id: second, decision: 'deny', reason: 'too much', by: 'bob' }] })
  expect(paid).toEqual([])

  const session = await agent.resumeSession(sessionId)
  const { status } = await session.resume().result
  expect({ status, paid }).toEqual({ status: 'completed', paid: [5] })
  const answers: unknown[] = []
  for await (const entry of store.read(sessionId))
    if (entry.type === 'resolved') answers.push({ by: entry.by, value: entry.value })
  expect(answers).toEqual([
    { by: 'ann', value: { decision: 'approve' } },
    { by: 'bob', value: { decision: 'deny', reason: 'too much' } },
  ])
})

test('the first decision on a wait applies, and a later one is rejected', async () => {
  const { store, paid, agent } = desk()
  const { sessionId } = await agent.run('Pay both')
  const [id = ''] = await waitsOf(store, sessionId)
  await resolveWaits(store, sessionId, { approvals: [{ id, decision: 'deny' }] })
  await expect(resolveWaits(store, sessionId, { approvals: [{ id, decision: 'approve' }] })).rejects.toMatchObject({
    code: 'already-decided',
  })
  await (await agent.resumeSession(sessionId)).resume().result
  expect(paid).toEqual([])
})

test('an unknown session and an unknown wait are rejected', async () => {
  const { store, agent } = desk()
  const { sessionId } = await agent.run('Pay both')
  const decisions = { approvals: [{ id: 'elsewhere', decision: 'approve' as const }] }
  await expect(resolveWaits(store, sessionId, decisions)).rejects.toMatchObject({ code: 'unknown-wait' })
  await expect(resolveWaits(store, 'nobody', decisions)).rejects.toMatchObject({ code: 'unknown-session' })
})
