import { createAgent } from '@provost/agent'
import type { Agent, Session } from '@provost/agent'
import type { Compensation } from '@provost/core'
import type { SessionStore, Tool } from '@provost/core'
import { ProvostError } from '@provost/core'
import { exportSession, importSession, listEffects, memoryStore } from '@provost/sessions'
import { crashAt, effectServer, scriptedModel } from '@provost/testing'
import type { CrashPoint, EffectServer, ScriptedStep } from '@provost/testing'
import { rich, secretRef, tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

let bank: EffectServer

beforeEach(async () => {
  bank = await effectServer()
})

afterEach(() => bank.close())

async function post(body: object, key: string, signal: AbortSignal): Promise<string> {
  const headers = { 'idempotency-key': key }
  const response = await fetch(`${bank.url}/effects`, { method: 'POST', headers, body: JSON.stringify(body), signal })
  if (!response.ok) throw new ProvostError('bank-refused', `The bank answered ${response.status}.`)
  const { id }: { id: number } = JSON.parse(await response.text())
  return `receipt ${id}`
}

interface Making {
  readonly keyed?: boolean
  /** Passed after the bank has undone the payment. */
  readonly moment?: (name: string) => Promise<void>
}

function payTool({ keyed = false, moment }: Making = {}): Tool<{ invoice: string }, string> {
  return tool({
    name: 'pay',
    input: z.object({ invoice: z.string() }),
    timeoutMs: 2000,
    execute: ({ invoice }, { idempotencyKey, signal }) => post({ pay: invoice }, idempotencyKey, signal),
    async compensate(receipt, { input, idempotencyKey, signal }) {
      await post({ refund: input.invoice, receipt }, idempotencyKey, signal)
      await moment?.('refunded')
    },
    ...(keyed && { effectKey: ({ invoice }: { invoice: string }) => invoice }),
  })
}

const mail = tool({ name: 'mail', input: z.object({ to: z.string() }), effect: 'egress', execute: () => 'sent' })
const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'seen' })

const pay = (...invoices: readonly string[]): ScriptedStep => ({
  toolCalls: invoices.map((invoice) => ({ name: 'pay', input: { invoice } })),
})
const done: ScriptedStep = { text: 'done' }

function deskWith(steps: readonly ScriptedStep[], making: Making = {}, store: SessionStore = memoryStore()): Agent {
  return createAgent({
    name: 'desk',
    model: scriptedModel(steps, { after: 'repeat-last' }),
    tools: [payTool(making), mail, look],
    store,
  })
}

/** Pays invoices 1, 2 and 3, one after the other. */
async function paid(making: Making = {}, store: SessionStore = memoryStore()): Promise<Session> {
  const session = await deskWith([pay('1'), pay('2'), pay('3'), done], making, store).createSession({ id: 'shop' })
  await session.stream('pay').result
  return session
}

const approve = { onApproval: () => 'approve' as const }
const refunds = (): readonly unknown[] =>
  bank.effects.flatMap(({ body }) => (JSON.stringify(body).includes('refund') ? [body] : []))
const all = [
  { refund: '3', receipt: 'receipt 3' },
  { refund: '2', receipt: 'receipt 2' },
  { refund: '1', receipt: 'receipt 1' },
]
const names = ({ undone }: Compensation): readonly string[] => undone.map(({ toolName }) => toolName)

/** Approves what a suspended compensation waits for. */
async function approveLater(session: Pick<Session, 'compensate'>, { pending }: Compensation): Promise<Compensation> {
  const approvals = pending?.approvals.map(({ id }) => ({ id, decision: 'approve' as const })) ?? []
  return session.compensate({ decisions: { approvals } })
}

describe('session.compensate', () => {
  it('undoes effects, the last one first, with their input, their result and keys of their own', async () => {
    const session = await paid()
    const result = await session.compensate(approve)
    expect(result).toMatchObject({ status: 'completed', impossible: [] })
    expect(names(result)).toEqual(['pay', 'pay', 'pay'])
    expect(refunds()).toEqual(all)
    expect(new Set(bank.effects.map(({ key }) => key)).size).toBe(6)
  })

  it('asks once about the whole list, and waits for the answer in any process', async () => {
    const store = memoryStore()
    const session = await paid({}, store)
    const first = await session.compensate()
    expect(first.status).toBe('suspended')
    expect(first.undone).toEqual([])
    expect(first.pending?.approvals).toMatchObject([
      { toolName: 'approve_compensation', input: { effects: [{ toolName: 'pay', input: { invoice: '3' } }, {}, {}] } },
    ])
    expect(refunds()).toEqual([])
    const other = await deskWith([done], {}, store).resumeSession('shop')
    expect((await approveLater(other, first)).undone).toHaveLength(3)
    expect(refunds()).toEqual(all)
  })

  it.each([
    ['unsigned', {}],
    ['for outside', { for: 'outside', key: 'a key of sixteen bytes' }],
  ] as const)('undoes nothing that an export states which is %s', async (_, given) => {
    const from = memoryStore()
    await paid({}, from)
    const store = memoryStore()
    const { key } = { key: undefined, ...given }
    await importSession(store, exportSession(from, 'shop', given), key === undefined ? {} : { key })
    const session = await deskWith([done], {}, store).resumeSession('shop')
    expect(await session.compensate(approve)).toEqual({ status: 'completed', undone: [], impossible: [] })
    expect(refunds()).toEqual([])
  })

  it('undoes the effects of a session that a signed export moved here', async () => {
    const from = memoryStore()
    await paid({}, from)
    const store = memoryStore()
    const key = 'a key of sixteen bytes'
    await importSession(store, exportSession(from, 'shop', { key }), { key })
    const session = await deskWith([done], {}, store).resumeSession('shop')
    expect(names(await session.compensate(approve))).toEqual(['pay', 'pay', 'pay'])
  })

  it('undoes nothing that is denied, and asks again later', async () => {
    const session = await paid()
    const denied = await session.compensate({ onApproval: () => ({ decision: 'deny', reason: 'Not today.' }) })
    expect(denied).toMatchObject({ status: 'denied', undone: [], reason: expect.stringContaining('Not today.') })
    expect(refunds()).toEqual([])
    await session.compensate(approve)
    expect(refunds()).toEqual(all)
  })

  it('leaves out what the human strikes from the list', async () => {
    const session = await paid()
    const first = await session.compensate()
    const [asked] = first.pending?.approvals ?? []
    const { effects } = z.object({ effects: z.array(z.unknown()) }).parse(asked?.input)
    const decided = { id: asked?.id ?? '', decision: 'approve', args: { effects: effects.slice(1) } } as const
    let result = await session.compensate({ decisions: { approvals: [decided] } })
    if (result.status === 'suspended') result = await approveLater(session, result)
    expect(result).toMatchObject({ status: 'completed', undone: [{}, {}], impossible: [{ toolName: 'pay' }] })
    expect(refunds()).toEqual(all.slice(1))
  })

  it('skips what was undone before', async () => {
    const session = await paid()
    await session.compensate(approve)
    expect(await session.compensate()).toEqual({ status: 'completed', undone: [], impossible: [] })
    expect(refunds()).toEqual(all)
  })

  it('lists what cannot be undone, and leaves out calls that only read', async () => {
    const steps = [{ toolCalls: [{ name: 'mail', input: { to: 'ann' } }, { name: 'look' }] }, pay('1'), done]
    const session = await deskWith(steps).createSession()
    await session.stream('go').result
    const result = await session.compensate(approve)
    expect(result.impossible).toMatchObject([{ toolName: 'mail', reason: 'The tool mail has no "compensate".' }])
    expect(names(result)).toEqual(['pay'])
  })

  it('lists effects with an unknown outcome', async () => {
    bank.fail('lose-reply')
    const session = await deskWith([pay('1'), done]).createSession()
    await session.stream('go').result
    expect(await session.compensate(approve)).toMatchObject({
      undone: [],
      impossible: [{ toolName: 'pay', reason: 'It is unknown whether it took place.' }],
    })
  })

  it('undoes effects after a message, an offset or a time', async () => {
    const moments = async (session: Session): Promise<readonly (string | number | Date)[]> => {
      const offset = await session.stream('second').result.then(({ state }) => state.cursor.offset)
      const message = session.messages.findLast(({ role }) => role === 'user')
      return [message?.id ?? '', offset, new Date(Date.now() + 60_000)]
    }
    const store = memoryStore()
    const desk = deskWith([pay('1'), done, pay('2'), done], {}, store)
    const session = await desk.createSession({ id: 'shop' })
    await session.stream('first').result
    const [message = '', offset = 0, time = 0] = await moments(session)
    expect((await session.compensate({ since: time, ...approve })).undone).toEqual([])
    expect((await session.compensate({ since: offset, ...approve })).undone).toEqual([])
    await session.compensate({ since: message, ...approve })
    expect(refunds()).toEqual([{ refund: '2', receipt: 'receipt 2' }])
    await session.compensate({ since: new Date(0), ...approve })
    expect(refunds()).toHaveLength(2)
  })

  it('rejects an unknown message, an offset after the end, and an unknown option', async () => {
    const session = await paid()
    await expect(session.compensate({ since: 'none' })).rejects.toMatchObject({ code: 'unknown-message' })
    await expect(session.compensate({ since: Date.now() })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(session.compensate({ since: new Date('?') })).rejects.toMatchObject({ code: 'invalid-option' })
    const wrong: object = { approve: true }
    await expect(session.compensate(wrong)).rejects.toMatchObject({ code: 'unknown-option' })
  })

  it('rejects a session with a suspended run', async () => {
    const ask = tool({ name: 'ask', input: z.object({}), needsApproval: true, execute: () => 'x' })
    const model = scriptedModel([{ toolCalls: [{ name: 'ask' }] }])
    const session = await createAgent({ name: 'desk', model, tools: [ask] }).createSession()
    await session.stream('go').result
    await expect(session.compensate()).rejects.toMatchObject({ code: 'session-open' })
  })

  it('undoes effects of children, in the order of all effects', async () => {
    const clerk = createAgent({ name: 'clerk', model: scriptedModel([pay('2'), done]), tools: [payTool()] })
    const steps = [pay('1'), { toolCalls: [{ name: 'clerk', input: { task: 'pay' } }] }, pay('3'), done]
    const tools = [payTool(), clerk.toTool({ name: 'clerk', description: 'pays' })]
    const session = await createAgent({ name: 'desk', model: scriptedModel(steps), tools }).createSession()
    await session.stream('go').result
    expect((await session.compensate(approve)).impossible).toEqual([])
    expect(refunds()).toEqual(all)
  })

  it('finds the tools of spawned agents in "agents", and lists their effects as impossible without it', async () => {
    const clerk = createAgent({ name: 'clerk', model: scriptedModel([pay('1'), done]), tools: [payTool()] })
    const delegate = tool({
      name: 'delegate',
      input: z.object({}),
      composite: true,
      execute: async (_, ctx) => (await ctx.spawn(clerk, 'pay', { key: 'clerk' })).status,
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'delegate' }] }, done])
    const session = await createAgent({ name: 'desk', model, tools: [delegate] }).createSession()
    await session.stream('go').result
    const without = await session.compensate(approve)
    expect(without).toMatchObject({ undone: [], impossible: [{ toolName: 'pay' }] })
    expect(without.impossible[0]?.reason).toContain('clerk')
    await session.compensate({ agents: [clerk], ...approve })
    expect(refunds()).toEqual([{ refund: '1', receipt: 'receipt 1' }])
  })

  it('leaves the effects before a fork to the original', async () => {
    const store = memoryStore()
    const session = await paid({}, store)
    const fork = await session.fork()
    expect(await fork.compensate(approve)).toEqual({ status: 'completed', undone: [], impossible: [] })
    expect((await session.compensate(approve)).undone).toHaveLength(3)
  })

  it('continues with the other effects when a compensation fails, and tries it again the next time', async () => {
    const session = await paid()
    bank.fail(undefined, 'reject')
    const result = await session.compensate(approve)
    expect(result).toMatchObject({ status: 'completed', undone: [{}, {}], impossible: [{ toolName: 'pay' }] })
    expect(result.impossible[0]?.reason).toContain('422')
    expect(refunds()).toEqual([all[0], all[2]])
    await session.compensate(approve)
    expect(refunds()).toEqual([all[0], all[2], all[1]])
  })

  it.each(['done', 'retry'] as const)(
    'asks a human about a compensation whose reply was lost (%s)',
    async (decision) => {
      const session = await paid()
      bank.fail('lose-reply')
      expect((await session.compensate(approve)).impossible).toHaveLength(1)
      const second = await session.compensate(approve)
      expect(second.status).toBe('suspended')
      const [asked] = second.pending?.uncertain ?? []
      expect(refunds()).toEqual(all)
      const uncertain = [{ callId: asked?.callId ?? '', decision }]
      expect(await session.compensate({ decisions: { uncertain } })).toMatchObject({ undone: [{}], impossible: [] })
      expect(refunds()).toEqual(all)
    },
  )

  it('stops when it is aborted, and undoes the rest later', async () => {
    const stop = new AbortController()
    const session = await paid({ moment: async () => stop.abort() })
    await expect(session.compensate({ ...approve, signal: stop.signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(refunds()).toEqual([all[0]])
    let result = await session.compensate(approve)
    const uncertain = result.pending?.uncertain.map(({ callId }) => ({ callId, decision: 'done' as const })) ?? []
    if (result.status === 'suspended') result = await session.compensate({ decisions: { uncertain } })
    expect(result.status).toBe('completed')
    expect(refunds()).toEqual(all)
  })

  it('marks effects with a key as compensated, so that a repetition is put to a human', async () => {
    const store = memoryStore()
    const session = await paid({ keyed: true }, store)
    await session.compensate(approve)
    const states: string[] = []
    for await (const { key, state } of listEffects(store, { scope: 'session', scopeId: 'shop' })) {
      states.push(`${key} ${state}`)
    }
    expect(states).toEqual(['1 compensated', '2 compensated', '3 compensated'])
    const again = await deskWith([pay('1'), done], { keyed: true }, store).resumeSession('shop')
    const result = await again.stream('again').result
    expect(result.pending.approvals[0]?.reason).toContain('was undone')
  })

  it('undoes an effect once that took place again after it was undone', async () => {
    const store = memoryStore()
    const session = await paid({ keyed: true }, store)
    await session.compensate(approve)
    const again = await deskWith([pay('1'), done], { keyed: true }, store).resumeSession('shop')
    await again.stream('again', approve).result
    expect((await again.compensate(approve)).undone).toHaveLength(1)
    expect(refunds()).toHaveLength(4)
  })

  it('lists an effect whose result was shortened for the model or withheld by a hook', async () => {
    const long = tool({
      name: 'long',
      input: z.object({}),
      maxResultTokens: 10,
      execute: () => 'word '.repeat(500),
      compensate: () => {},
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'long' }] }, done])
    const session = await createAgent({ name: 'desk', model, tools: [long] }).createSession()
    await session.stream('go').result
    expect(await session.compensate(approve)).toMatchObject({
      undone: [],
      impossible: [{ toolName: 'long', reason: 'The log does not have its complete result.' }],
    })
  })

  it('undoes an effect whose result is content for the model, with its value', async () => {
    const seen: unknown[] = []
    const chart = tool({
      name: 'chart',
      input: z.object({}),
      execute: () => rich({ id: 7 }, { content: [{ type: 'text', text: 'a chart' }] }),
      compensate: (output) => void seen.push(output),
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'chart' }] }, done])
    const session = await createAgent({ name: 'desk', model, tools: [chart] }).createSession()
    await session.stream('go').result
    await session.compensate(approve)
    expect(seen).toEqual([{ id: 7 }])
  })

  it('undoes an effect of a tool that returns nothing', async () => {
    let undone = 0
    const press = tool({ name: 'press', input: z.object({}), execute: () => {}, compensate: () => void undone++ })
    const model = scriptedModel([{ toolCalls: [{ name: 'press' }] }, done])
    const session = await createAgent({ name: 'desk', model, tools: [press] }).createSession()
    await session.stream('go').result
    await session.compensate(approve)
    expect(undone).toBe(1)
  })

  it('gives the compensation the secrets of the tool, in its input too, but not in the result', async () => {
    const seen: unknown[] = []
    const send = tool({
      name: 'send',
      input: z.object({ token: z.string() }),
      secrets: ['key'],
      execute: ({ token }) => `with ${token}`,
      compensate: (output, { input, secrets }) => void seen.push(output, input.token, secrets.key),
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'send', input: { token: '⟦secret:key⟧' } }] }, done])
    const store = memoryStore()
    const secrets = { key: secretRef(() => 'open-sesame') }
    const session = await createAgent({ name: 'desk', model, tools: [send], secrets, store }).createSession({ id: 's' })
    await session.stream('go').result
    const result = await session.compensate(approve)
    expect(result.impossible).toEqual([])
    expect(seen).toEqual(['with [secret key]', 'open-sesame', 'open-sesame'])
    for await (const entry of store.read('s')) expect(JSON.stringify(entry)).not.toContain('open-sesame')
  })

  it('lets a tool.call listener of the session deny a compensation', async () => {
    const session = await paid()
    session.on('tool.call', ({ tool: { name }, input }) =>
      name === 'undo/desk/pay' && JSON.stringify(input).includes('receipt 2') ? { deny: 'Keep it.' } : undefined,
    )
    const result = await session.compensate(approve)
    expect(result.impossible).toMatchObject([{ toolName: 'pay', reason: expect.stringContaining('Keep it.') }])
    expect(refunds()).toEqual([all[0], all[2]])
  })

  it('undoes an effect that a lookup found', async () => {
    const pays = tool({
      name: 'pay',
      input: z.object({ invoice: z.string() }),
      execute: ({ invoice }, ctx) => post({ pay: invoice }, ctx.idempotencyKey, ctx.signal),
      lookup: () => ({ output: 'receipt 1' }),
      compensate: (receipt, { input, idempotencyKey, signal }) =>
        post({ refund: input.invoice, receipt }, idempotencyKey, signal),
    })
    bank.fail('lose-reply')
    const model = scriptedModel([pay('1'), pay('1'), done])
    const session = await createAgent({ name: 'desk', model, tools: [pays] }).createSession()
    await session.stream('go').result
    expect(await session.compensate(approve)).toMatchObject({ undone: [{}], impossible: [] })
    expect(refunds()).toEqual([{ refund: '1', receipt: 'receipt 1' }])
  })

  it('undoes an effect that a lookup found after the process of its call died', async () => {
    const store = memoryStore()
    const world = dying(store, { name: 'paid', nth: 1 })
    const desk = (steps: readonly ScriptedStep[], its: SessionStore, moment?: Crash['moment']): Agent => {
      const pays = tool({
        name: 'pay',
        input: z.object({ invoice: z.string() }),
        async execute({ invoice }, ctx) {
          const receipt = await post({ pay: invoice }, ctx.idempotencyKey, ctx.signal)
          await moment?.('paid')
          return receipt
        },
        lookup: () => ({ output: 'receipt 1' }),
        compensate: (receipt, { input, idempotencyKey, signal }) =>
          post({ refund: input.invoice, receipt }, idempotencyKey, signal),
      })
      return createAgent({ name: 'desk', model: scriptedModel(steps), tools: [pays], store: its })
    }
    const doomed = await desk([pay('1')], world.store, world.moment).createSession({ id: 'shop' })
    doomed.send('go')
    await world.died
    const session = await desk([done], store).resumeSession('shop')
    expect((await session.resume().result).status).toBe('completed')
    expect(await session.compensate(approve)).toMatchObject({ undone: [{}], impossible: [] })
    expect(refunds()).toEqual([{ refund: '1', receipt: 'receipt 1' }])
  })
})

/** A store seen by one process. It dies at one moment, and its leases expire at once. */
function dying(
  store: SessionStore,
  at: CrashPoint,
): { store: SessionStore; died: Promise<void>; moment: Crash['moment'] } {
  const died = Promise.withResolvers<void>()
  const held = new Map<string, number>()
  const crash = crashAt(at, () => {
    void Promise.all([...held].map(([log, fence]) => store.release(log, fence))).then(() => died.resolve())
  })
  const leasing: SessionStore = {
    ...store,
    async lease(...given) {
      const lease = await store.lease(...given)
      if (lease !== 'busy') held.set(given[0], lease.fence)
      return lease
    },
  }
  return { store: crash.store(leasing), died: died.promise, moment: (name) => crash.moment(name) }
}

type Crash = ReturnType<typeof crashAt>

/** Kills a compensation at a moment, and continues it in another process. Undefined if it ended before the moment. */
async function killedAt(at: number, keyed: boolean): Promise<object | undefined> {
  await bank.close()
  // The bank does not know the keys, so that a repeated refund would count.
  bank = await effectServer({ knowsKeys: false })
  const store = memoryStore()
  await paid({ keyed }, store)
  const world = dying(store, at)
  const doomed = await deskWith([done], { keyed, moment: world.moment }, world.store).resumeSession('shop')
  const end = await Promise.race([world.died.then(() => 'died' as const), doomed.compensate(approve)])
  if (end !== 'died') return undefined
  const session = await deskWith([done], { keyed }, store).resumeSession('shop')
  let result = await session.compensate(approve)
  for (let round = 0; result.status === 'suspended' && round < 5; round++) {
    const uncertain = result.pending.uncertain.map(({ callId, input }) => {
      const { output } = z.object({ output: z.string() }).parse(input)
      const isDone = JSON.stringify(refunds()).includes(JSON.stringify(output))
      return { callId, decision: isDone ? ('done' as const) : ('retry' as const) }
    })
    result = await session.compensate({ ...approve, decisions: { uncertain } })
  }
  const left = await session.compensate(approve)
  return { at, status: result.status, refunds: refunds(), left: left.undone.length + left.impossible.length }
}

describe('a compensation that is killed', () => {
  it.each([{ keyed: true }, { keyed: false }])(
    'is continued by another process at any moment, and undoes each effect once ($keyed)',
    async ({ keyed }) => {
      const every = process.env['PROVOST_TEST_FULL'] === '1' ? 1 : 3
      const ends: object[] = []
      for (let at = 1; ; at += every) {
        const end = await killedAt(at, keyed)
        if (!end) break
        ends.push(end)
      }
      expect(ends.length * every).toBeGreaterThan(20)
      expect(ends).toEqual(
        ends.map((_, index) => ({ at: 1 + index * every, status: 'completed', refunds: all, left: 0 })),
      )
    },
  )
})
