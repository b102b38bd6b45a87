import { createAgent } from '@provost/agent'
import type { Json, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

afterEach(() => void vi.useRealTimers())

const paid: number[] = []

function payer(store: SessionStore, expiresInMs?: number) {
  const ask = { reason: 'money leaves', ...(expiresInMs !== undefined && { expiresInMs }) }
  return createAgent({
    name: 'payer',
    store,
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: JSON.stringify(messages.at(-1)?.content) }
            : { toolCalls: [{ name: 'pay', input: { n: 5 } }] },
      ],
      { after: 'repeat-last' },
    ),
    tools: [
      tool({
        name: 'pay',
        input: z.object({ n: z.number() }),
        needsApproval: () => ask,
        execute: ({ n }) => paid.push(n),
      }),
    ],
  })
}

/** Suspends a session on an approval, and returns its token. */
async function asked(store: SessionStore, expiresInMs?: number): Promise<string> {
  paid.length = 0
  const { pending } = await payer(store, expiresInMs).run('pay', { sessionId: 's' })
  return pending.approvals[0]?.id ?? ''
}

async function resumed(store: SessionStore) {
  const session = await payer(store).resumeSession('s')
  if (session.status !== 'idle') session.resume()
  return session.waitForIdle()
}

describe('a decision that is delivered to the store', () => {
  test('approves where it says so', async () => {
    const store = memoryStore()
    await store.deliver('s', await asked(store), { decision: 'approve' }, 'ann')
    expect((await resumed(store))?.status).toBe('completed')
    expect(paid).toEqual([5])
  })

  const unclear: readonly Json[] = [
    { decision: 'maybe' },
    { decision: 'Approve' },
    { decision: ['approve'] },
    { decision: true },
    { approve: true },
    ['approve'],
    'approve',
    true,
    1,
    null,
    {},
  ]
  test.each(unclear.map((value) => [JSON.stringify(value), value] as const))(
    'denies where it is %s',
    async (_, value) => {
      const store = memoryStore()
      await store.deliver('s', await asked(store), value, 'ann')
      const end = await resumed(store)
      expect([end?.status, paid]).toEqual(['completed', []])
      expect(end?.text).toContain('not approved')
    },
  )

  test('comes too late behind the deadline: the question has expired, whatever the answer', async () => {
    const begin = new Date('2030-01-01T00:00:00Z')
    vi.useFakeTimers({ toFake: ['Date'], now: begin })
    const store = memoryStore()
    const token = await asked(store, 60_000)
    vi.setSystemTime(begin.getTime() + 60_001)
    await store.deliver('s', token, { decision: 'approve' }, 'ann')
    const end = await resumed(store)
    expect([end?.status, paid]).toEqual(['completed', []])
  })

  test('before the deadline counts, however late the run is resumed', async () => {
    const begin = new Date('2030-01-01T00:00:00Z')
    vi.useFakeTimers({ toFake: ['Date'], now: begin })
    const store = memoryStore()
    const token = await asked(store, 60_000)
    vi.setSystemTime(begin.getTime() + 59_000)
    await store.deliver('s', token, { decision: 'approve' }, 'ann')
    vi.setSystemTime(begin.getTime() + 3_600_000)
    expect((await resumed(store))?.status).toBe('completed')
    expect(paid).toEqual([5])
  })
})
