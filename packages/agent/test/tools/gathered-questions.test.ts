import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { PendingApproval, RunResult, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound } from '../run/run-check.ts'

const letters = (...list: readonly string[]): ScriptedStep => ({
  toolCalls: list.map((to) => ({ name: 'mail', input: { to } })),
})

interface Desk {
  readonly agent: Agent
  readonly sent: string[]
}

/** A desk whose policy asks about each letter that goes to a stranger. */
function desk(steps: readonly ScriptedStep[], store: SessionStore = memoryStore()): Desk {
  const sent: string[] = []
  const mail = tool({
    name: 'mail',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => {
      sent.push(to)
      return `sent to ${to}`
    },
  })
  const strangers = defineExtension({
    name: 'strangers',
    hooks: {
      'tool.call': ({ input }) =>
        JSON.stringify(input).includes('friend')
          ? undefined
          : { ask: { reason: 'a stranger', evidence: { asked: input } } },
    },
  })
  return {
    agent: createAgent({
      name: 'desk',
      model: scriptedModel([...steps]),
      tools: [mail],
      extensions: [strangers],
      store,
    }),
    sent,
  }
}

function waiting({ pending }: Pick<RunResult, 'pending'>): readonly PendingApproval[] {
  return pending.approvals
}

const batchOf = (rows: readonly PendingApproval[]): string => {
  const [batch, ...others] = new Set(rows.map((row) => row.batch))
  if (batch === undefined || others.length > 0) throw new Error('The rows have no batch of their own.')
  return batch
}

describe('several calls of a step that must be asked about', () => {
  it('are one question that lists each call with its evidence, and one answer decides all of them', async () => {
    const store = memoryStore()
    const { agent, sent } = desk([letters('ann', 'friend', 'bob'), { text: 'done' }], store)
    const first = await agent.run('write to them')
    expect(waiting(first)).toMatchObject([
      { input: { to: 'ann' }, reason: 'a stranger', evidence: { asked: { to: 'ann' } } },
      { input: { to: 'bob' }, reason: 'a stranger', evidence: { asked: { to: 'bob' } } },
    ])
    // A call without a question does not wait for the answer.
    expect(sent).toEqual(['friend'])
    const batch = batchOf(waiting(first))
    const seen = await collect(agent.stream(first.state, { batches: [{ id: batch, decision: 'approve', by: 'olga' }] }))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.status).toBe('completed')
    expect(sent).toEqual(['friend', 'ann', 'bob'])
    expect(seen.events.filter((event) => event.type === 'tool.approval.resolved')).toMatchObject([
      { decision: 'approve', by: 'olga' },
      { decision: 'approve', by: 'olga' },
    ])
  })

  it('are still one question in another process that has only the log', async () => {
    const store = memoryStore()
    const steps = [letters('ann', 'bob', 'cy'), { text: 'done' }]
    const { sessionId } = await desk(steps, store).agent.run('write to them')
    const elsewhere = memoryStore()
    const key = 'k'.repeat(32)
    await importSession(elsewhere, exportSession(store, sessionId, { key }), { key })
    const { agent, sent } = desk(steps.slice(1), elsewhere)
    const session = await agent.resumeSession(sessionId)
    const { approvals } = await session.resume().result.then(({ pending }) => pending)
    const [, bob] = approvals
    await session.resolve({ batches: [{ id: batchOf(approvals), decision: 'approve', except: [bob?.id ?? ''] }] })
    await session.waitForIdle()
    expect(sent).toEqual(['ann', 'cy'])
  })

  it('can be answered call by call', async () => {
    const { agent, sent } = desk([letters('ann', 'bob'), { text: 'done' }])
    const first = await agent.run('write to them')
    const [ann, bob] = waiting(first)
    const second = await agent.run(first.state, { approvals: [{ id: bob?.id ?? '', decision: 'deny' }] })
    expect(waiting(second).map(({ id }) => id)).toEqual([ann?.id])
    const last = await agent.run(second.state, { approvals: [{ id: ann?.id ?? '', decision: 'approve' }] })
    expect(last.status).toBe('completed')
    expect(sent).toEqual(['ann'])
  })

  it('reach onBatch once, and onApproval call by call where there is no onBatch', async () => {
    const steps = [letters('ann', 'bob'), { text: 'done' }]
    const asked: string[] = []
    const together = desk(steps)
    const result = await together.agent.run('write to them', {
      onBatch(rows) {
        asked.push(rows.map(({ input }) => JSON.stringify(input)).join(' '))
        return 'approve'
      },
      onApproval: () => {
        throw new Error('The rows belong to onBatch.')
      },
    })
    expect(result.status).toBe('completed')
    expect(asked).toEqual(['{"to":"ann"} {"to":"bob"}'])
    expect(together.sent).toEqual(['ann', 'bob'])

    const apart = desk(steps)
    const rows: PendingApproval[] = []
    await apart.agent.run('write to them', { onApproval: (row) => (rows.push(row), 'approve') })
    expect(rows).toHaveLength(2)
    expect(apart.sent).toEqual(['ann', 'bob'])
  })

  it('are another question in each step, which an earlier answer does not cover', async () => {
    const { agent, sent } = desk([letters('ann', 'bob'), letters('eve', 'mallory'), { text: 'done' }])
    const first = await agent.run('write to them')
    const batch = batchOf(waiting(first))
    const second = await agent.run(first.state, { batches: [{ id: batch, decision: 'approve' }] })
    expect(waiting(second).map(({ input }) => input)).toEqual([{ to: 'eve' }, { to: 'mallory' }])
    expect(batchOf(waiting(second))).not.toBe(batch)
    const third = await agent.run(second.state, { batches: [{ id: batch, decision: 'approve' }] })
    expect(waiting(third)).toHaveLength(2)
    expect(sent).toEqual(['ann', 'bob'])
  })

  it('ask again alone about a call whose arguments the approver changed', async () => {
    const { agent, sent } = desk([letters('ann', 'bob'), { text: 'done' }])
    const first = await agent.run('write to them')
    const [ann] = waiting(first)
    const edits = { [ann?.id ?? '']: { to: 'anna' } }
    const second = await agent.run(first.state, {
      batches: [{ id: batchOf(waiting(first)), decision: 'approve', edits, propose: true }],
    })
    expect(waiting(second)).toMatchObject([{ input: { to: 'anna' } }])
    expect(waiting(second)[0]?.batch).toBeUndefined()
    expect(sent).toEqual(['bob'])
  })
})

it('a single call that must be asked about has no batch', async () => {
  const { agent } = desk([letters('ann', 'friend'), { text: 'done' }])
  const [ann] = waiting(await agent.run('write to them'))
  expect(ann?.batch).toBeUndefined()
})
