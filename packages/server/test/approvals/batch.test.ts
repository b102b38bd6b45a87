import { createAgent } from '@provost/agent'
import type { PendingApproval } from '@provost/core'
import type { Server, ServerOptions } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, serverOf } from '../served.ts'
import { decide, operator, outcome, pendingIn, refusal } from './approval-scenario.ts'

interface Asked {
  readonly server: Server
  readonly id: string
  readonly rows: readonly PendingApproval[]
  readonly batch: string
  readonly paid: number[]
}

/** A session of Ann in which three payments wait. */
async function asked(options: Partial<ServerOptions> = {}): Promise<Asked> {
  const store = memoryStore()
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    stage: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => `paid ${paid.push(amount)}`,
  })
  const toolCalls = [10, 20, 30].map((amount) => ({ name: 'pay', input: { amount } }))
  const model = scriptedModel([{ toolCalls }, { text: 'done' }])
  const agent = createAgent({ name: 'desk', model, tools: [pay], store })
  const server = serverOf([], { agents: [agent], ...options, store })
  const { id, last } = await executed(server, { input: 'pay' })
  const rows = last.pending.approvals
  return { server, id, rows, batch: rows[0]?.batch ?? '', paid }
}

const decision = (id: string, more: object = {}): object => ({ batches: [{ id, decision: 'approve', ...more }] })

test('a server with authenticate does not start if a staged tool can ask and approvals is not set', () => {
  const store = memoryStore()
  const pay = tool({ name: 'pay', stage: true, input: z.object({}), execute: () => 'paid' })
  const agent = createAgent({ name: 'desk', model: scriptedModel([]), tools: [pay], store })
  expect(() => createServer({ agents: [agent], store, authenticate: () => ({ id: 'ann' }) })).toThrow(
    expect.objectContaining({ code: 'invalid-option' }),
  )
})

describe('a batch over HTTP', () => {
  test('is approved by one request, without the rows that it strikes', async () => {
    const { server, id, rows, batch, paid } = await asked()
    expect(rows.map((row) => row.batch)).toEqual([batch, batch, batch])
    const response = await decide(server, id, 'ann', decision(batch, { except: [rows[1]?.id] }))
    expect(response.status).toBe(202)
    expect(await outcome(server, id)).toContain('struck')
    expect(paid).toEqual([10, 30])
    const late = await decide(server, id, 'ann', decision(batch))
    expect(await refusal(late)).toEqual({ status: 409, code: 'already-decided' })
  })

  test('is approved by a request to execute', async () => {
    const { server, id, batch, paid } = await asked()
    const body = { sessionId: id, ...decision(batch) }
    await (await ask(server, '/api/agent/execute', { body })).text()
    expect(paid).toEqual([10, 20, 30])
  })

  test('is decided once by a request that is repeated with its key', async () => {
    const { server, id, batch, paid } = await asked()
    const headers = { 'idempotency-key': 'key-1' }
    for (let times = 0; times < 2; times++) {
      const path = `/api/agent/session/${id}/approvals`
      expect((await ask(server, path, { body: decision(batch), headers })).status).toBe(202)
      await outcome(server, id)
    }
    expect(paid).toEqual([10, 20, 30])
  })

  test('is rejected as a whole if the principal may not decide on one of its rows', async () => {
    const by: NonNullable<ServerOptions['approvals']>['by'] = (_, { input }) =>
      JSON.stringify(input) !== '{"amount":30}'
    const { server, id, rows, batch, paid } = await asked({ approvals: { by } })
    expect(await refusal(await decide(server, id, 'ann', decision(batch)))).toEqual({
      status: 403,
      code: 'not-approver',
    })
    expect(paid).toEqual([])
    expect((await pendingIn(server, id)).approvals).toHaveLength(3)
    // The requester may always strike a row.
    await decide(server, id, 'ann', decision(batch, { except: [rows[2]?.id] }))
    await outcome(server, id)
    expect(paid).toEqual([10, 20])
  })

  test('belongs to the operator where operators approve', async () => {
    const { server, id, batch, paid } = await asked({ operator, approvals: { by: 'operator' } })
    expect(await refusal(await decide(server, id, 'ann', decision(batch)))).toEqual({
      status: 403,
      code: 'not-approver',
    })
    expect((await decide(server, id, 'olga', decision(batch))).status).toBe(202)
    await outcome(server, id)
    expect(paid).toEqual([10, 20, 30])
  })

  test.each([
    [true, [11, 20, 30]],
    [false, [20, 30]],
  ])('runs edited rows at once if mayEdit is %s; otherwise they wait again', async (mayEdit, expected) => {
    const { server, id, rows, batch, paid } = await asked({
      approvals: { by: 'requester', ...(mayEdit && { mayEdit }) },
    })
    const edits = { [rows[0]?.id ?? '']: { amount: 11 } }
    await decide(server, id, 'ann', decision(batch, { edits }))
    await outcome(server, id)
    expect(paid.toSorted((one, other) => one - other)).toEqual(expected)
    const { approvals } = await pendingIn(server, id)
    expect(approvals.map(({ input }) => input)).toEqual(mayEdit ? [] : [{ amount: 11 }])
    expect(approvals.every((one) => one.batch !== batch)).toBe(true)
  })

  test('that is unknown, or has an unknown row, is rejected', async () => {
    const { server, id, batch, paid } = await asked()
    for (const body of [
      decision('nothing'),
      decision(batch, { except: ['typo'] }),
      decision(batch, { edits: { typo: 1 } }),
    ])
      expect(await refusal(await decide(server, id, 'ann', body))).toMatchObject({ code: 'unknown-wait' })
    const denied = { batches: [{ id: batch, decision: 'deny', except: ['x'] }] }
    expect((await decide(server, id, 'ann', denied)).status).toBe(400)
    expect(paid).toEqual([])
  })
})
