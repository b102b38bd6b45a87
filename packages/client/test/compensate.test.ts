import { createAgent } from '@provost/agent'
import { createClient } from '@provost/client'
import type { Client } from '@provost/client'
import type { Compensation, SessionStore } from '@provost/core'
import { createServer, serve } from '@provost/server'
import type { ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

let refunded: string[] = []
let store: SessionStore
const opened: (() => Promise<void>)[] = []

beforeEach(() => {
  refunded = []
  store = memoryStore()
})

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

const pay = tool({
  name: 'pay',
  input: z.object({ invoice: z.string() }),
  execute: ({ invoice }) => `paid ${invoice}`,
  compensate(_, { input: { invoice } }) {
    if (invoice === 'broken') throw new Error('password 1234')
    refunded.push(invoice)
  },
})

/** A server on a port, and its clients by the name of their principal. */
async function bankDesk(
  invoices: readonly string[],
  options: Partial<ServerOptions> = {},
): Promise<(principal: string) => Client> {
  const steps = invoices.map((invoice) => ({ toolCalls: [{ name: 'pay', input: { invoice } }] }))
  const agent = createAgent({ name: 'desk', model: scriptedModel([...steps, { text: 'done' }]), tools: [pay], store })
  const server = createServer({
    agents: [agent],
    authenticate: (request) => ({ id: request.headers.get('authorization') ?? '' }),
    approvals: { by: 'operator' },
    operator: ({ id }) => id === 'olga',
    ...options,
    store,
  })
  const { port, close } = await serve(server, { port: 0 })
  opened.push(close)
  return (authorization) => createClient({ baseUrl: `http://127.0.0.1:${port}`, headers: { authorization } })
}

const yes = ({ pending }: Compensation): { approvals: { id: string; decision: 'approve' }[] } => ({
  approvals: (pending?.approvals ?? []).map(({ id }) => ({ id, decision: 'approve' })),
})

describe('session.compensate of a client', () => {
  it('undoes the effects after an approval of the requester, the last one first', async () => {
    const as = await bankDesk(['1', '2'], { approvals: { by: 'requester' } })
    const session = as('ann').session()
    await session.execute('pay').result
    const first = await session.compensate()
    expect(first).toMatchObject({ status: 'suspended', pending: { approvals: [{ toolName: 'approve_compensation' }] } })
    expect(refunded).toEqual([])
    const result = await session.compensate({ decisions: yes(first) })
    expect(result).toMatchObject({ status: 'completed', undone: [{ toolName: 'pay' }, {}], impossible: [] })
    expect(refunded).toEqual(['2', '1'])
  })

  it('undoes only the effects after a message', async () => {
    const as = await bankDesk(['1', '2'], { approvals: { by: 'requester' } })
    const session = as('ann').session()
    await session.execute('pay').result
    const { messages } = await session.get()
    const since = messages.find(({ role }) => role === 'tool')?.id
    await session.compensate({ decisions: yes(await session.compensate({ since })) })
    expect(refunded).toEqual(['2'])
    await expect(session.compensate({ since: 'unheard-of' })).rejects.toMatchObject({ code: 'unknown-message' })
  })

  it('waits in the inbox for an operator, who decides as about any call', async () => {
    const as = await bankDesk(['1'])
    const session = as('ann').session()
    await session.execute('pay').result
    const first = await session.compensate()
    await expect(session.compensate({ decisions: yes(first) })).rejects.toMatchObject({ code: 'not-approver' })
    const { waits } = await as('olga').waits()
    expect(waits).toMatchObject([{ sessionId: session.id, kind: 'approval', requester: 'ann', agent: 'desk' }])
    expect(refunded).toEqual([])
    await as('olga').decide(waits[0]?.sessionId ?? '', yes(first))
    expect(refunded).toEqual(['1'])
    expect((await as('olga').waits()).waits).toEqual([])
    await expect(as('olga').decide(session.id ?? '', yes(first))).rejects.toMatchObject({ code: 'already-decided' })
    expect(refunded).toEqual(['1'])
  })

  it('is denied by its requester, who may not approve it', async () => {
    const as = await bankDesk(['1'])
    const session = as('ann').session()
    await session.execute('pay').result
    const [approval] = (await session.compensate()).pending?.approvals ?? []
    const approvals = [{ id: approval?.id ?? '', decision: 'deny', reason: 'A mistake.' }] as const
    expect(await session.compensate({ decisions: { approvals } })).toMatchObject({ status: 'denied' })
    expect(refunded).toEqual([])
  })

  it('is refused to other principals, and where `authorize` does not permit it', async () => {
    const as = await bankDesk(['1'], { authorize: (_, { kind }) => kind !== 'compensate' })
    const session = as('ann').session()
    await session.execute('pay').result
    await expect(session.compensate()).rejects.toMatchObject({ code: 'forbidden' })
    await expect(as('bob').session(session.id).compensate()).rejects.toMatchObject({ code: 'unknown-session' })
  })

  it('has a log that is no session', async () => {
    const as = await bankDesk(['1'])
    const session = as('ann').session()
    await session.execute('pay').result
    await session.compensate()
    const logs: string[] = []
    for await (const { id } of store.list({})) logs.push(id)
    const log = logs.find((id) => id !== session.id) ?? ''
    expect(log).not.toBe('')
    expect((await as('ann').sessions()).sessions.map(({ id }) => id)).toEqual([session.id])
    await expect(as('ann').session(log).get()).rejects.toMatchObject({ code: 'unknown-session' })
    await session.delete()
    expect((await as('olga').waits()).waits).toEqual([])
  })

  it('does not show the text of errors', async () => {
    const as = await bankDesk(['broken'], { approvals: { by: 'requester' } })
    const session = as('ann').session()
    await session.execute('pay').result
    const result = await session.compensate({ decisions: yes(await session.compensate()) })
    expect(result.impossible).toMatchObject([{ toolName: 'pay', error: { code: 'tool-failed' } }])
    expect(JSON.stringify(result)).not.toContain('1234')
  })
})
