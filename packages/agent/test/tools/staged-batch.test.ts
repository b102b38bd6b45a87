import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentStream, RunOptions } from '@provost/agent'
import type { AgentEvent, Decisions, EventOf, PendingApproval, RunResult, SessionStore, Tool } from '@provost/core'
import { ProvostError } from '@provost/core'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { effectServer, scriptedModel } from '@provost/testing'
import type { EffectServer, ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createWorld, mortal } from '../crash/crash-world.ts'
import type { Death } from '../crash/crash-world.ts'
import { collect, expectLogged, expectSound, readLog } from '../run/run-check.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const input = z.object({ to: z.string(), amount: z.number() })
type Payment = z.output<typeof input>

interface Made {
  readonly agent: Agent
  readonly paid: Payment[]
}

function made({
  steps,
  more = [],
  store,
}: {
  steps: ScriptedStep[]
  more?: readonly Tool[]
  store?: SessionStore
}): Made {
  const paid: Payment[] = []
  const pay = tool({
    name: 'pay',
    stage: true,
    input,
    execute: (payment: Payment) => {
      paid.push(payment)
      if (payment.amount > 1_000) throw new ProvostError('bank-refused', 'The bank refused.')
      return `paid ${payment.to}`
    },
  })
  const model = scriptedModel(steps)
  return { agent: createAgent({ name: 'desk', model, tools: [pay, ...more], store: store ?? memoryStore() }), paid }
}

const pays = (...list: readonly (readonly [to: string, amount: number])[]): ScriptedStep => ({
  toolCalls: list.map(([to, amount]) => ({ name: 'pay', input: { to, amount } })),
})
const three = (): ScriptedStep[] => [pays(['ann', 10], ['bob', 20], ['cy', 30]), { text: 'done' }]

function batchOf({ pending }: Pick<RunResult, 'pending'>): { readonly batch: string; readonly ids: readonly string[] } {
  const { approvals } = pending
  const [batch = '', ...others] = new Set(approvals.map((one) => one.batch))
  expect(others).toEqual([])
  return { batch, ids: approvals.map(({ id }) => id) }
}

async function reportsOf(stream: AsyncIterable<AgentEvent>): Promise<EventOf<'tool.batch.settled'>[]> {
  const reports: EventOf<'tool.batch.settled'>[] = []
  for await (const event of stream) if (event.type === 'tool.batch.settled') reports.push(event)
  return reports
}

const outcomes = (reports: readonly EventOf<'tool.batch.settled'>[]): readonly (readonly string[])[] =>
  reports.map(({ rows }) => rows.map(({ outcome }) => outcome))

describe('the calls of staged tools in one step', () => {
  it('wait as one batch, and one approval runs each of them once', async () => {
    const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'looked' })
    const step = pays(['ann', 10], ['bob', 20])
    const calls = [...(step.toolCalls ?? []), { name: 'look', input: {} }]
    const { agent, paid } = made({ steps: [{ toolCalls: calls }, { text: 'done' }], more: [look] })
    const first = await agent.run('pay them')
    expect(first.status).toBe('suspended')
    expect(first.pending.approvals).toMatchObject([
      { toolName: 'pay', input: { to: 'ann', amount: 10 }, reason: 'pay is staged' },
      { toolName: 'pay', input: { to: 'bob', amount: 20 } },
    ])
    const { batch } = batchOf(first)
    expect(batch).not.toBe('')
    expect(paid).toEqual([])
    const stream = agent.stream(first.state, { batches: [{ id: batch, decision: 'approve', by: 'olga' }] })
    const reports = await reportsOf(stream)
    expect((await stream.result).status).toBe('completed')
    expect(paid.map(({ to }) => to)).toEqual(['ann', 'bob'])
    expect(reports).toMatchObject([
      {
        batch,
        rows: first.pending.approvals.map(({ callId }) => ({ callId, toolName: 'pay', outcome: 'ok' })),
      },
    ])
  })

  it('run without the rows that are struck and with the arguments that are edited; a report tells how each ended', async () => {
    const steps = [pays(['ann', 10], ['bob', 20], ['cy', 2_000]), { text: 'done' }]
    const store = memoryStore()
    const { agent, paid } = made({ steps, store })
    const first = await agent.run('pay them')
    const { batch, ids } = batchOf(first)
    const [ann = '', bob = ''] = ids
    const edits = { [bob]: { to: 'bob', amount: 21 } }
    const stream = agent.stream(first.state, { batches: [{ id: batch, decision: 'approve', except: [ann], edits }] })
    const seen = await collect(stream)
    const { events } = seen
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(paid).toEqual([
      { to: 'bob', amount: 21 },
      { to: 'cy', amount: 2_000 },
    ])
    const reports = events.filter((event) => event.type === 'tool.batch.settled')
    expect(outcomes(reports)).toEqual([['denied', 'ok', 'error']])
    expect(events.filter((event) => event.type === 'tool.approval.resolved')).toMatchObject([
      { decision: 'deny', reason: 'struck' },
      { decision: 'approve' },
      { decision: 'approve' },
    ])
  })

  it('are all denied by one decision', async () => {
    const { agent, paid } = made({ steps: three() })
    const first = await agent.run('pay them')
    const { batch } = batchOf(first)
    const stream = agent.stream(first.state, { batches: [{ id: batch, decision: 'deny', reason: 'not today' }] })
    expect(outcomes(await reportsOf(stream))).toEqual([['denied', 'denied', 'denied']])
    expect(JSON.stringify((await stream.result).messages)).toContain('not today')
    expect(paid).toEqual([])
  })

  it('can be decided row by row; the batch then decides the rest', async () => {
    const { agent, paid } = made({ steps: three() })
    const first = await agent.run('pay them')
    const { batch, ids } = batchOf(first)
    const [, bob = ''] = ids
    const second = await agent.run(first.state, { approvals: [{ id: bob, decision: 'approve' }] })
    expect(second.status).toBe('suspended')
    expect(paid.map(({ to }) => to)).toEqual(['bob'])
    // The row keeps its own decision, also where the batch names it.
    const last = await agent.run(second.state, { batches: [{ id: batch, decision: 'approve', except: [bob] }] })
    expect(last.status).toBe('completed')
    expect(paid.map(({ to }) => to)).toEqual(['bob', 'ann', 'cy'])
  })

  it('keep a decision of their own that comes with that of the batch', async () => {
    const { agent, paid } = made({ steps: three() })
    const first = await agent.run('pay them')
    const { batch, ids } = batchOf(first)
    const [ann = ''] = ids
    const approvals = [{ id: ann, decision: 'deny' as const }]
    await agent.run(first.state, { approvals, batches: [{ id: batch, decision: 'approve' }] })
    expect(paid.map(({ to }) => to)).toEqual(['bob', 'cy'])
  })

  it('are another batch in the next step, which the decision on the first does not cover', async () => {
    const { agent, paid } = made({ steps: [pays(['ann', 10]), pays(['bob', 20]), { text: 'done' }] })
    const first = await agent.run('pay them')
    const { batch } = batchOf(first)
    const second = await agent.run(first.state, { batches: [{ id: batch, decision: 'approve' }] })
    expect(second.status).toBe('suspended')
    expect(batchOf(second).batch).not.toBe(batch)
    expect(paid.map(({ to }) => to)).toEqual(['ann'])
  })

  it('wait again as another batch where edits are only proposed', async () => {
    const { agent, paid } = made({ steps: three() })
    const first = await agent.run('pay them')
    const { batch, ids } = batchOf(first)
    const [ann = ''] = ids
    const edits = { [ann]: { to: 'ann', amount: 11 } }
    const decision = { id: batch, decision: 'approve', edits, propose: true } as const
    const proposed = agent.stream(first.state, { batches: [decision] })
    expect(outcomes(await reportsOf(proposed))).toEqual([['ok', 'ok']])
    const second = await proposed.result
    expect(second.pending.approvals).toMatchObject([{ input: { to: 'ann', amount: 11 } }])
    expect(batchOf(second).batch).not.toBe(batch)
    const stream = agent.stream(second.state, { batches: [{ id: batchOf(second).batch, decision: 'approve' }] })
    expect(outcomes(await reportsOf(stream))).toEqual([['ok']])
    expect(paid).toHaveLength(3)
  })

  it('are reported as aborted when the run is', async () => {
    const { agent } = made({ steps: three() })
    const session = await agent.createSession()
    const reports: EventOf<'tool.batch.settled'>[] = []
    session.on('tool.batch.settled', (event) => reports.push(event))
    await session.stream('pay them').result
    await session.abort()
    await session.waitForIdle()
    expect(outcomes(reports)).toEqual([['denied', 'denied', 'denied']])
  })

  it('of a child wait in the run above as one batch', async () => {
    const { agent: child, paid } = made({ steps: three() })
    const steps = [{ toolCalls: [{ name: 'payer', input: { task: 'pay' } }] }, { text: 'done' }]
    const tools = [child.toTool({ name: 'payer', description: 'Pays.' })]
    const agent = createAgent({ name: 'top', model: scriptedModel(steps), tools, store: memoryStore() })
    const first = await agent.run('pay them')
    expect(first.pending.approvals).toHaveLength(3)
    const { batch } = batchOf(first)
    const last = await agent.run(first.state, { batches: [{ id: batch, decision: 'approve' }] })
    expect(last.status).toBe('completed')
    expect(paid).toHaveLength(3)
  })

  it('keep their batch in an export', async () => {
    const [from, to] = [memoryStore(), memoryStore()]
    const { agent } = made({ steps: three(), store: from })
    const first = await agent.run('pay them', { sessionId: 'session-1' })
    const { batch } = batchOf(first)
    const key = 'k'.repeat(32)
    await importSession(to, exportSession(from, 'session-1', { key }), { key })
    const { agent: other, paid } = made({ steps: [{ text: 'done' }], store: to })
    const session = await other.resumeSession('session-1')
    await session.resolve({ batches: [{ id: batch, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toHaveLength(3)
  })
})

describe('session.resolve', () => {
  it('decides a batch once: the first decision wins', async () => {
    const { agent, paid } = made({ steps: three() })
    const session = await agent.createSession()
    const { batch } = batchOf(await session.stream('pay them').result)
    await session.resolve({ batches: [{ id: batch, decision: 'approve' }] })
    await expect(session.resolve({ batches: [{ id: batch, decision: 'deny' }] })).rejects.toMatchObject({
      code: 'already-decided',
    })
    await session.waitForIdle()
    expect(paid).toHaveLength(3)
    await expect(session.resolve({ batches: [{ id: batch, decision: 'deny' }] })).rejects.toMatchObject({
      code: 'already-decided',
    })
  })
})

describe('a batch whose delivery breaks off', () => {
  it('keeps the rows that were delivered; the same decision again delivers the others', async () => {
    const { ...store } = memoryStore()
    let left = 1
    const breaking: SessionStore = {
      ...store,
      deliver: async (...given) => {
        if (left-- === 0) throw new Error('the store is gone')
        return store.deliver(...given)
      },
    }
    const { agent, paid } = made({ steps: three(), store: breaking })
    const session = await agent.createSession()
    const { batch } = batchOf(await session.stream('pay them').result)
    const decisions: Decisions = { batches: [{ id: batch, decision: 'approve' }] }
    await expect(session.resolve(decisions)).rejects.toThrow('the store is gone')
    expect(session.pending.approvals).toHaveLength(3)
    await expect(session.resolve(decisions)).rejects.toMatchObject({ code: 'already-decided' })
    await session.waitForIdle()
    expect(paid.map(({ to }) => to)).toEqual(['ann', 'bob', 'cy'])
  })
})

describe('a decision on a batch', () => {
  it('is rejected before anything runs if it names an unknown batch or row', async () => {
    const { agent, paid } = made({ steps: three() })
    const first = await agent.run('pay them')
    const { batch } = batchOf(first)
    const wrong: Decisions[] = [
      { batches: [{ id: 'nothing', decision: 'approve' }] },
      { batches: [{ id: batch, decision: 'approve', except: ['typo'] }] },
      { batches: [{ id: batch, decision: 'approve', edits: { typo: {} } }] },
    ]
    for (const decisions of wrong) {
      const { error } = await agent.run(first.state, decisions)
      expect(error).toMatchObject({ code: 'unknown-wait' })
    }
    expect(paid).toEqual([])
  })

  it.each<[string, object]>([
    ['unknown-option', { exept: ['a'] }],
    ['invalid-options', { except: 'a' }],
    ['invalid-options', { edits: [] }],
    ['invalid-options', { decision: 'deny', except: ['a'] }],
    ['invalid-option', { decision: 'yes' }],
  ])('fails with %s for %j', async (code, more) => {
    const session = await made({ steps: three() }).agent.createSession()
    const decisions: object = { batches: [{ id: 'batch', decision: 'approve', ...more }] }
    await expect(session.resolve(decisions)).rejects.toMatchObject({ code })
  })
})

describe('onBatch', () => {
  async function runWith(onBatch: RunOptions['onBatch']) {
    const { agent, paid } = made({ steps: three() })
    const asked: PendingApproval[] = []
    const onApproval = (approval: PendingApproval): undefined => void asked.push(approval)
    const stream = agent.stream('pay them', { onBatch, onApproval })
    const faults: string[] = []
    for await (const event of stream) if (event.type === 'agent.error') faults.push(event.source.name)
    return { result: await stream.result, paid, asked, faults }
  }

  it('receives the rows of a batch at once, and decides them together', async () => {
    const seen: (readonly PendingApproval[])[] = []
    const { result, paid, asked } = await runWith(async (rows) => {
      seen.push(rows)
      return { decision: 'approve', except: rows.slice(1, 2).map(({ id }) => id) }
    })
    expect(seen.map((rows) => rows.length)).toEqual([3])
    expect(asked).toEqual([])
    expect(result.status).toBe('completed')
    expect(paid.map(({ to }) => to)).toEqual(['ann', 'cy'])
  })

  it('leaves the rows pending where it returns nothing', async () => {
    const { result, asked } = await runWith(() => undefined)
    expect(result.pending.approvals).toHaveLength(3)
    expect(asked).toEqual([])
  })

  it('leaves the rows pending and reports the error where it strikes a row that is unknown', async () => {
    const { result, paid, faults } = await runWith(() => ({ decision: 'approve', except: ['typo'] }))
    expect(result.pending.approvals).toHaveLength(3)
    expect(faults).toEqual(['onBatch'])
    expect(paid).toEqual([])
  })

  it('is replaced by onApproval for each row where it is absent', async () => {
    const { result, paid, asked } = await runWith(undefined)
    expect(asked).toHaveLength(3)
    expect(result.status).toBe('suspended')
    expect(paid).toEqual([])
  })
})

describe('stage', () => {
  it('asks also where needsApproval does not, and adds its reason where it does', async () => {
    const { agent } = made({
      steps: [{ toolCalls: [false, true].map((asks) => ({ name: 'mail', input: { asks } })) }],
      more: [
        tool({
          name: 'mail',
          stage: true,
          input: z.object({ asks: z.boolean() }),
          needsApproval: ({ asks }) => asks && { reason: 'is new' },
          execute: () => 'sent',
        }),
      ],
    })
    const { pending } = await agent.run('mail')
    expect(pending.approvals.map(({ reason }) => reason)).toEqual(['mail is staged', 'is new; mail is staged'])
  })

  it('asks alone about a call that a composite makes', async () => {
    const script = tool({
      name: 'script',
      composite: true,
      input: z.object({}),
      execute: async (_, ctx) => (await ctx.call('pay', { to: 'ann', amount: 1 }, { key: 'a' })).outcome,
    })
    const steps = [{ toolCalls: [{ name: 'script', input: {} }] }, { text: 'done' }]
    const { agent, paid } = made({ steps, more: [script] })
    const first = await agent.run('go')
    const [approval] = first.pending.approvals
    expect(approval).toMatchObject({ toolName: 'pay' })
    expect(approval).not.toHaveProperty('batch')
    await agent.run(first.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(paid).toHaveLength(1)
  })

  it('fails with invalid-tool where it is not a boolean', () => {
    const options: object = { stage: 'yes' }
    expect(() => tool({ name: 'pay', input, ...options, execute: () => 'paid' })).toThrow(
      expect.objectContaining({ code: 'invalid-tool' }),
    )
  })
})

describe('a batch whose process dies', () => {
  let bank: EffectServer
  let requests: Promise<Response>[]

  beforeEach(async () => {
    requests = []
    bank = await effectServer({ knowsKeys: false })
  })

  afterEach(() => bank.close())

  function payer(store: SessionStore, lookup: boolean): Agent {
    const find = async (key: string): Promise<{ output: string } | undefined> => {
      const response = await fetch(`${bank.url}/effects/${key}`)
      return response.status === 404 ? undefined : { output: await response.text() }
    }
    const pay = tool({
      name: 'pay',
      stage: true,
      input,
      async execute(payment: Payment, { idempotencyKey }) {
        const headers = { 'idempotency-key': idempotencyKey }
        const body = JSON.stringify(payment)
        const sent = fetch(`${bank.url}/effects`, { method: 'POST', headers, body })
        requests.push(sent)
        return (await sent).text()
      },
      ...(lookup && { lookup: find }),
    })
    const answer = ({ messages }: ScriptedPrompt): ScriptedStep =>
      messages.at(-1)?.role === 'tool' ? { text: 'done' } : pays(['ann', 10], ['bob', 20], ['cy', 30], ['di', 40])
    const model = scriptedModel([answer], { after: 'repeat-last' })
    return createAgent({ name: 'payer', model, tools: [pay], store, maxParallelTools: 2 })
  }

  /** Decides the batch without its second row; the bank tells about calls of unknown outcome. */
  function answersTo({ pending }: RunResult): Decisions {
    const [first] = pending.approvals
    const struck = pending.approvals.filter((one) => JSON.stringify(one.input).includes('bob')).map(({ id }) => id)
    return {
      ...(first?.batch !== undefined && { batches: [{ id: first.batch, decision: 'approve', except: struck }] }),
      uncertain: pending.uncertain.map(({ callId, input: args }) => {
        const done = bank.effects.find(({ body }) => JSON.stringify(body) === JSON.stringify(args))
        return done ? { callId, decision: 'done', output: 'paid' } : { callId, decision: 'retry' }
      }),
    }
  }

  async function goOn(store: SessionStore, seenBy: SessionStore, lookup: boolean): Promise<readonly AgentEvent[]> {
    const agent = payer(seenBy, lookup)
    const entries = await readLog(store, 's')
    const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
    let stream: AgentStream
    if (started?.type === 'run' && started.op === 'started') {
      const { manifest, runId } = started
      const json = { v: 1, manifest, agent: agent.name, cursor: { sessionId: 's', runId, offset: entries.length } }
      stream = agent.stream(RunState.fromJSON(JSON.stringify(json), agent))
    } else stream = agent.stream('pay them', { sessionId: 's' })
    const events: AgentEvent[] = []
    for (let round = 0; round < 20; round++) {
      for await (const event of stream) events.push(event)
      const result = await stream.result
      if (result.status !== 'suspended') return events
      stream = agent.stream(result.state, answersTo(result))
    }
    throw new Error('The run does not end.')
  }

  const moments = Array.from({ length: 14 }, (_, lives) => lives).filter((lives) => full || lives % 2 === 0)

  it.each(
    moments.flatMap((lives) =>
      (['unanswered', 'unwritten'] as const).flatMap((death) =>
        [true, false].map((lookup): [number, Death, boolean] => [lives, death, lookup]),
      ),
    ),
  )(
    'after %i appends (%s, lookup: %s) runs each approved row once when it is resumed',
    async (lives, death, lookup) => {
      const world = createWorld()
      const driver = mortal(world, lives, death)
      await Promise.race([goOn(world.store, driver.store, lookup), driver.died])
      // What the dead process has sent arrives.
      await Promise.all(requests)
      const events = await goOn(world.store, world.store, lookup)
      const paid = bank.effects.map(({ body }) => JSON.stringify(body)).toSorted()
      expect(paid).toEqual(['{"to":"ann","amount":10}', '{"to":"cy","amount":30}', '{"to":"di","amount":40}'])
      const reports = events.filter((event) => event.type === 'tool.batch.settled')
      const settled = (await readLog(world.store, 's')).filter(
        (entry) => entry.type === 'call' && entry.op === 'settled',
      )
      expect(settled).toHaveLength(4)
      // The process that settles the last row reports.
      expect(outcomes(reports)).toEqual(reports.length > 0 ? [['ok', 'denied', 'ok', 'ok']] : [])
    },
  )
})
