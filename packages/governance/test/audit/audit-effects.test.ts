import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import { auditChain, auditLog, verifyAudit } from '@provost/governance'
import { exportSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const call = { name: 'pay', input: { invoice: '17' } }

interface Desk {
  readonly agent: Agent
  exported(id: string): Promise<string>
  /** The entries of the log of its compensation. */
  compensation(): Promise<readonly Entry[]>
}

/** A desk that pays invoice 17 twice and loses the first reply. */
function desk(lookup?: () => { output: string } | undefined): Desk {
  let requests = 0
  const pay = tool({
    name: 'pay',
    input: z.object({ invoice: z.string() }),
    effectKey: ({ invoice }) => invoice,
    execute({ invoice }) {
      requests += 1
      if (requests === 1) throw Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' })
      return `paid ${invoice}`
    },
    compensate: ({ length }) => `refunded ${length}`,
    ...(lookup && { lookup: (key: string) => Promise.resolve(key === '' ? undefined : lookup()) }),
  })
  const base = memoryStore()
  const logs = new Set<string>()
  const store: SessionStore = {
    ...base,
    append(log, entries, at) {
      logs.add(log)
      return base.append(log, entries, at)
    },
  }
  const model = scriptedModel([{ toolCalls: [call] }, { toolCalls: [call] }, { text: 'done' }])
  return {
    agent: createAgent({ name: 'desk', model, tools: [pay], extensions: [auditLog({ key: 'k' })], store }),
    async exported(id) {
      const lines: string[] = []
      for await (const line of exportSession(store, id)) lines.push(line)
      return lines.join('\n')
    },
    async compensation() {
      const entries: Entry[] = []
      for (const log of logs)
        if (log.includes('/compensate/')) for await (const one of store.read(log)) entries.push(one)
      return entries
    },
  }
}

const verified = (exported: string | readonly Entry[]) => verifyAudit(exported, { key: 'k' })
const told = (exported: string | readonly Entry[]): readonly string[] =>
  verified(exported).effects.map(({ event, toolName, key, state, attempt, by, decidedBy = '' }) =>
    `${event} ${toolName} ${key} ${state} ${attempt} ${by} ${decidedBy}`.trimEnd(),
  )

describe('the audit shows of an effect', () => {
  it('its dispatch, its outcome and its lookup, all linked', async () => {
    const { agent, exported } = desk(() => ({ output: 'found' }))
    const { sessionId } = await agent.run('pay')
    const text = await exported(sessionId)
    expect(told(text)).toEqual([
      'dispatched pay 17 dispatched 1 call',
      'ended pay 17 unknown 1 call',
      'ended pay 17 confirmed 1 lookup',
    ])
    expect(verified(text)).toMatchObject({ ok: true, open: [], deleted: [] })
  })

  it('the question to a human, the answer and the next attempt', async () => {
    const { agent, exported } = desk()
    const session = await agent.createSession()
    session.send('pay')
    const asked = await session.waitForIdle()
    const uncertain =
      asked?.pending.uncertain.map(({ callId }) => ({ callId, decision: 'retry' as const, by: 'ann' })) ?? []
    for await (const _ of session.resume({ uncertain }));
    const text = await exported(session.id)
    expect(told(text)).toEqual([
      'dispatched pay 17 dispatched 1 call',
      'ended pay 17 unknown 1 call',
      'asked pay 17 unknown 1 call',
      'decided pay 17 failed 1 human ann',
      'dispatched pay 17 dispatched 2 call',
      'ended pay 17 confirmed 2 call',
    ])
    expect(verified(text)).toMatchObject({ ok: true, open: [] })
  })

  it('its compensation, in the log of the compensation', async () => {
    const { agent, compensation } = desk(() => undefined)
    const session = await agent.createSession()
    session.send('pay')
    await session.waitForIdle()
    const { status } = await session.compensate({ onApproval: () => 'approve' })
    expect(status).toBe('completed')
    const entries = await compensation()
    expect(told(entries)).toEqual([
      expect.stringMatching(/^dispatched undo\/desk\/pay .* dispatched 1 call$/),
      expect.stringMatching(/^ended undo\/desk\/pay .* confirmed 1 call$/),
    ])
    expect(verified(entries)).toMatchObject({ ok: true, problems: [] })
  })
})

describe('an audit does not verify', () => {
  it('with the state, the key or the attempt of an effect changed', async () => {
    const { agent, exported } = desk(() => ({ output: 'found' }))
    const text = await exported((await agent.run('pay')).sessionId)
    for (const [from, to] of [
      ['"state":"unknown"', '"state":"failed"'],
      ['"key":"17"', '"key":"18"'],
      ['"attempt":1,"state"', '"attempt":2,"state"'],
    ] as const) {
      expect(text).toContain(from)
      expect(verified(text.replaceAll(from, to)).problems.map(({ code }) => code)).toContain('entry-changed')
    }
  })
})

it('the chain of an audit holds no effect key, and verifies without the log', async () => {
  const { agent, exported } = desk(() => ({ output: 'found' }))
  const chain = auditChain(await exported((await agent.run('pay')).sessionId))
  expect(chain).not.toContain('"17"')
  expect(verified(chain)).toMatchObject({ ok: true, effects: [] })
})
