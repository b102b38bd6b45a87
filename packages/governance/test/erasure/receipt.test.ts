import { compensationLog, createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import type { ErasureReceipt } from '@provost/governance'
import { erasePrincipal, eraseSession, verifyAudit, verifyReceipt } from '@provost/governance'
import { fromMessageStore, linkWork, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { desk, key, runDesk } from '../audit/audited-desk.ts'

let receipt: ErasureReceipt
let kept: string

beforeAll(async () => {
  const store = memoryStore()
  const { sessionId } = await runDesk(desk(store))
  receipt = await eraseSession(store, sessionId, { by: 'dpo', reason: 'asked by mail', key, previous: 'first' })
  kept = JSON.stringify(receipt)
})

const changed = (change: (copy: { [name: string]: unknown }) => void): unknown => {
  const copy = JSON.parse(kept)
  change(copy)
  return copy
}
const codes = (value: unknown, options = {}): readonly string[] =>
  verifyReceipt(value, { key, ...options }).problems.map(({ kind }) => kind)

describe('the receipt of an erased session', () => {
  test('verifies without the data, and holds none of it', () => {
    expect(verifyReceipt(JSON.parse(kept), { key, previous: 'first' })).toMatchObject({ ok: true, problems: [] })
    expect(receipt).toMatchObject({ by: 'dpo', sessions: [{ logs: 2, entries: expect.any(Number) }] })
    for (const secret of ['pin 4711', 'pin 0815', 'Send the PIN', 'bob is new']) expect(kept).not.toContain(secret)
  })

  test('has an audit chain that verifyAudit verifies, for the session and its children', () => {
    const [session] = receipt.sessions
    const report = verifyAudit(session?.chain ?? '', { key, ...(session?.head && { head: session.head }) })
    expect(report).toMatchObject({ ok: true, problems: [] })
    expect(report.links).toBeGreaterThan(2)
    expect(report.deleted.length).toBeGreaterThan(5)
  })

  test('shows each change of it', () => {
    expect(codes(changed((copy) => (copy['by'] = 'eve')))).toEqual(['receipt-changed'])
    expect(codes(changed((copy) => (copy['sessions'] = [])))).toEqual(['receipt-changed'])
    expect(codes(JSON.parse(kept), { key: 'another' })).toContain('receipt-changed')
    expect(codes(JSON.parse(kept), { previous: 'second' })).toEqual(['other-previous'])
    expect(codes(JSON.parse(kept), { principal: 'ann' })).toEqual(['other-principal'])
    expect(verifyReceipt(JSON.parse(kept)).problems[0]).toEqual({ kind: 'key-needed' })
    expect(() => verifyReceipt({})).toThrow(expect.objectContaining({ code: 'invalid-receipt' }))
  })

  test('shows a forged chain, even if the forger seals the receipt again', async () => {
    const store = memoryStore()
    const { sessionId } = await runDesk(desk(store))
    const whole = await eraseSession(store, sessionId, { by: 'dpo' })
    const [session] = whole.sessions
    const lines = session?.chain.trimEnd().split('\n') ?? []
    const forged = { ...whole, sessions: [{ ...session, chain: lines.toSpliced(1, 1).join('\n') }] }
    expect(verifyReceipt(forged, { key }).problems.map(({ kind }) => kind)).toContain('chain')
  })
})

async function isEmpty(store: SessionStore, log: string): Promise<boolean> {
  for await (const _ of store.read(log)) return false
  return true
}

test('an erasure takes the log of the compensations of a session with it', async () => {
  const store = memoryStore()
  const pay = tool({
    name: 'pay',
    effect: 'write',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => `paid ${to}`,
    compensate: () => 'paid back',
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { to: 'Ann Example' } }] }, { text: 'done' }])
  const session = await createAgent({ name: 'desk', model, tools: [pay], store }).createSession({ id: 's' })
  await session.stream('pay').result
  expect(await session.compensate({ onApproval: () => 'approve' })).toMatchObject({ undone: [{ toolName: 'pay' }] })
  const log = compensationLog('s')
  expect(await isEmpty(store, log)).toBe(false)
  const { sessions } = await eraseSession(store, 's', { by: 'dpo', key })
  expect(sessions.map(({ id }) => id)).toEqual(['s', log])
  expect(await isEmpty(store, log)).toBe(true)
})

test('an erasure that failed among linked work finds the rest when it is repeated', async () => {
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'a' }, { text: 'b' }]), store })
  for (const id of ['s', 'work']) await (await agent.createSession({ id })).stream('hi').result
  await linkWork(store, 's', 'work')
  let isDown = true
  const failing: SessionStore = {
    ...store,
    async erase(id, receiptId) {
      if (id === 'work' && isDown) throw new Error('The store is down.')
      return (await store.erase?.(id, receiptId)) ?? []
    },
  }
  await expect(eraseSession(failing, 's', { by: 'dpo' })).rejects.toThrow('down')
  isDown = false
  await eraseSession(failing, 's', { by: 'dpo' })
  expect(await isEmpty(store, 'work')).toBe(true)
})

test('an erasure names who orders it, and needs a store with tombstones', async () => {
  await expect(eraseSession(memoryStore(), 's', { by: '' })).rejects.toMatchObject({ code: 'invalid-option' })
  const other = fromMessageStore({ load: async () => [], append: async () => {}, exists: async () => false })
  await expect(eraseSession(other, 's', { by: 'dpo' })).rejects.toMatchObject({ code: 'erasure-unsupported' })
})

test('a principal without sessions gets a receipt too', async () => {
  const none = await erasePrincipal(memoryStore(), { id: 'ann' }, { by: 'dpo', key })
  expect(none.sessions).toEqual([])
  expect(verifyReceipt(none, { key, principal: 'ann' })).toEqual({ ok: true, problems: [], links: 0 })
  expect(JSON.stringify(none)).not.toContain('ann')
})
