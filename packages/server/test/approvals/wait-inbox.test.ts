import { createAgent } from '@provost/agent'
import type { Principal, SessionStore, Tool } from '@provost/core'
import type { Action, Server, WaitRow } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, refund, serverOf } from '../served.ts'
import { asked, call, decide, operator, outcome, refusal, yes } from './approval-scenario.ts'

describe('GET /api/waits', () => {
  async function inbox(server: Server, query = '', as = 'olga'): Promise<{ waits: readonly WaitRow[]; next?: string }> {
    const response = await ask(server, `/api/waits${query}`, { as })
    if (response.status !== 200) throw new Error(await response.text())
    return response.json()
  }

  async function whole(server: Server, limit: number): Promise<{ rows: readonly WaitRow[]; sizes: readonly number[] }> {
    const rows: WaitRow[] = []
    const sizes: number[] = []
    let after: string | undefined
    do {
      const page = await inbox(server, `?limit=${limit}${after === undefined ? '' : `&after=${after}`}`)
      rows.push(...page.waits)
      sizes.push(page.waits.length)
      after = page.next
    } while (after !== undefined && sizes.length < 100)
    return { rows, sizes }
  }

  test('is available to operators only', async () => {
    const { server } = await asked({ operator })
    expect(await refusal(await ask(server, '/api/waits'))).toEqual({ status: 403, code: 'not-operator' })
    expect(await refusal(await ask(serverOf([]), '/api/waits'))).toEqual({ status: 403, code: 'not-operator' })
    expect(await refusal(await ask(server, '/api/waits?after=x', { as: 'olga' }))).toEqual({
      status: 400,
      code: 'invalid-request',
    })
  })

  test('lists the pending waits of all sessions with their evidence, and the operator decides on them', async () => {
    const { server, id, approval } = await asked({ operator, approvals: { by: 'operator' } })
    const { waits, next } = await inbox(server)
    expect(waits).toEqual([
      {
        ...{ kind: 'approval', sessionId: id, agent: 'desk', requester: 'ann', updatedAt: expect.any(Number) },
        ...{ text: 'refund (write): refund needs approval. Input: {"amount":80}', wait: approval },
      },
    ])
    expect(next).toBeUndefined()
    expect((await decide(server, id, 'olga', yes(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).toContain('refunded 80')
    expect(await inbox(server)).toEqual({ waits: [] })
  })

  test.each<[string, () => SessionStore]>([
    ['memory', memoryStore],
    ['SQLite', () => sqliteStore(':memory:')],
  ])('returns each wait once over all pages, and reads no more logs a page than the limit (%s)', async (_, open) => {
    const inner = open()
    let reads = 0
    const store: SessionStore = {
      ...inner,
      read(log, after) {
        reads++
        return inner.read(log, after)
      },
    }
    const three = { toolCalls: [1, 2, 3].map((n) => ({ name: 'refund', input: { amount: 80 + n } })) }
    const model = scriptedModel([call, three, three, call, three], { after: 'repeat-last' })
    const server = serverOf([], {
      agents: [createAgent({ name: 'desk', model, tools: [refund], store })],
      store,
      operator,
    })
    for (const as of ['ann', 'bob', 'ann', 'cid', 'bob']) await executed(server, { input: 'x' }, as)
    for (const limit of [1, 2, 3, 4, 50]) {
      const { rows, sizes } = await whole(server, limit)
      expect(rows).toHaveLength(11)
      expect(new Set(rows.map(({ wait }) => wait?.id)).size).toBe(11)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
    }
    reads = 0
    await inbox(server, '?limit=2')
    expect(reads).toBeLessThanOrEqual(2)
    await server.close()
    await inner.close()
  })

  test('lists the pending approval of an active run', async () => {
    const started = Promise.withResolvers<void>()
    const slow = tool({
      name: 'slow',
      effect: 'read',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          started.resolve()
          signal.addEventListener('abort', () => resolve('over'))
        }),
    })
    const tools: readonly Tool<never, unknown, unknown>[] = [refund, slow]
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [...call.toolCalls, { name: 'slow', input: {} }] }])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, tools, store })], store, operator })
    const response = await ask(server, '/api/agent/execute', { body: { input: 'go' } })
    await started.promise
    expect((await inbox(server)).waits).toMatchObject([{ kind: 'approval', wait: { toolName: 'refund' } }])
    await ask(server, `/api/agent/session/${response.headers.get('x-session-id')}/abort`, { body: {} })
    await response.text()
    await server.close({ graceMs: 0 })
  })

  test('omits waits that authorize does not permit the operator to decide', async () => {
    const seen: Action[] = []
    const authorize = (principal: Principal, action: Action): boolean => {
      if (principal.id === 'olga') seen.push(action)
      return !('requester' in action) || action.requester?.id !== 'ann' || principal.id === 'ann'
    }
    const { server } = await asked({ operator, authorize })
    expect(await inbox(server)).toEqual({ waits: [] })
    expect(seen).toMatchObject([
      { kind: 'waits' },
      { kind: 'approve', toolName: 'refund', effect: 'write', input: { amount: 80 }, requester: { id: 'ann' } },
    ])
  })

  test('warns about invisible characters in a question', async () => {
    const note = tool({
      name: 'note',
      needsApproval: true,
      input: z.object({ text: z.string() }),
      execute: () => 'noted',
    })
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [{ name: 'note', input: { text: 'a\u202eb\n' } }] }])
    const agent = createAgent({ name: 'desk', model, tools: [note], store })
    const server = serverOf([], { agents: [agent], store, operator })
    await executed(server, { input: 'go' })
    const [row] = (await inbox(server)).waits
    expect(row?.text).toContain(String.raw`Warning: /text holds characters that are not visible: "a\u202eb\n"`)
    expect(row?.text).not.toMatch(/[\u202e\n]/u)
    expect(row?.wait).toMatchObject({ input: { text: 'a\u202eb\n' } })
  })
})
