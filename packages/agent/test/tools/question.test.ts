import type { AgentOptions } from '@provost/agent'
import { createAgent, handoff, whoAsks } from '@provost/agent'
import type { Entry, NewEntry, PendingApproval, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { filters, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const paid: unknown[] = []

function payTool(more: { readonly version?: string; readonly effect?: 'egress'; readonly currency?: boolean } = {}) {
  const { currency, ...rest } = more
  return tool({
    name: 'pay',
    args: { to: 'destination', amount: 'amount' },
    input: z.object({ to: z.string(), amount: z.number(), ...(currency && { currency: z.string().optional() }) }),
    needsApproval: () => ({ reason: 'money leaves', sticky: 'session' as const }),
    execute: (input) => {
      paid.push(input)
      return 'paid'
    },
    ...rest,
  })
}

const call = { name: 'pay', input: { to: 'ann@shop.example', amount: 80 } }

function payer(
  pay: ReturnType<typeof payTool>,
  store: SessionStore,
  steps: readonly ScriptedEntry[] = [{ toolCalls: [call] }, { text: 'done' }],
  more: Partial<AgentOptions> = {},
) {
  paid.length = 0
  return createAgent({ name: 'cashier', model: scriptedModel([...steps]), store, tools: [pay], ...more })
}

function first({ approvals }: { readonly approvals: readonly PendingApproval[] }): PendingApproval {
  const [approval] = approvals
  if (!approval) throw new Error('nothing is pending')
  return approval
}

async function entriesOf(store: SessionStore, id: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

describe('a question', () => {
  it('carries effect, roles, label and the hash of the definition, in events, results, sessions and the log', async () => {
    const store = memoryStore()
    const agent = payer(payTool(), store)
    const seen: unknown[] = []
    const stream = agent.stream('pay ann', {
      sessionId: 's',
      onApproval: (approval) => {
        seen.push(approval)
        return undefined
      },
    })
    for await (const event of stream) if (event.type === 'tool.approval.requested') seen.push(event)
    const { pending } = await stream.result
    const approval = first(pending)
    expect(approval).toMatchObject({
      effect: 'write',
      roles: { '/to': 'destination', '/amount': 'amount' },
      label: { integrity: 'trusted', sources: [] },
      definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(seen).toHaveLength(2)
    for (const one of seen) expect(one).toMatchObject({ effect: 'write', definitionHash: approval.definitionHash })
    const session = await agent.resumeSession('s')
    expect(session.pending.approvals).toEqual([approval])
    const wait = (await entriesOf(store, 's')).find(({ type }) => type === 'wait')
    expect(wait).toMatchObject({ about: { effect: 'write', definitionHash: approval.definitionHash } })
  })

  it('of a child carries the same on the run above', async () => {
    const store = memoryStore()
    const child = payer(payTool(), store)
    const parent = createAgent({
      name: 'boss',
      model: scriptedModel([{ toolCalls: [{ name: 'cashier', input: { task: 'pay ann' } }] }, { text: 'done' }]),
      store,
      tools: [child.toTool({ name: 'cashier', description: 'pays' })],
    })
    const { pending } = await parent.run('go', { sessionId: 'p' })
    expect(first(pending)).toMatchObject({
      effect: 'write',
      roles: { '/to': 'destination' },
      definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const again = await parent.resumeSession('p')
    expect(again.pending.approvals).toEqual(pending.approvals)
  })

  it('about an answer that is held back has a label and no definition', async () => {
    const agent = createAgent({
      name: 'careful',
      model: scriptedModel([{ text: 'hello' }]),
      extensions: [defineExtension({ name: 'ask', hooks: { 'model.response': () => ({ ask: { reason: 'sure?' } }) } })],
    })
    const approval = first((await agent.run('hi')).pending)
    expect(approval).toMatchObject({ effect: 'egress', roles: {}, label: { integrity: 'trusted' } })
    expect(approval).not.toHaveProperty('definitionHash')
  })
})

describe('an approval of a tool that has changed since', () => {
  it.each([
    ['its version', { version: '2' }],
    ['its schema', { currency: true }],
    ['its effect', { effect: 'egress' as const }],
  ])('is asked for again where %s is another', async (_, change) => {
    const store = memoryStore()
    const before = await payer(payTool(), store).run('pay', { sessionId: 's' })
    const asked = first(before.pending)
    const next = payer(payTool(change), store, [{ text: 'done' }])
    const session = await next.resumeSession('s')
    await session.resolve({ approvals: [{ id: asked.id, decision: 'approve', sticky: 'session' }] })
    await session.waitForIdle()
    expect(paid).toEqual([])
    const again = first(session.pending)
    expect(again.id).not.toBe(asked.id)
    expect(again.definitionHash).not.toBe(asked.definitionHash)
    expect(again.reason).toContain('pay has changed since it was asked about')
    await session.resolve({ approvals: [{ id: again.id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([call.input])
  })

  it('is asked for although the tool needs none any more', async () => {
    const store = memoryStore()
    const asked = first((await payer(payTool(), store).run('pay', { sessionId: 's' })).pending)
    const free = tool({ name: 'pay', input: z.object({ to: z.string() }), execute: () => paid.push('free') })
    const next = createAgent({ name: 'cashier', model: scriptedModel([{ text: 'done' }]), store, tools: [free] })
    const session = await next.resumeSession('s')
    await session.resolve({ approvals: [{ id: asked.id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([])
    expect(first(session.pending).reason).toBe('pay has changed since it was asked about')
  })

  it('holds where nothing has changed, in another process', async () => {
    const store = memoryStore()
    const asked = first((await payer(payTool({ version: '1' }), store).run('pay', { sessionId: 's' })).pending)
    const session = await payer(payTool({ version: '1' }), store, [{ text: 'done' }]).resumeSession('s')
    await session.resolve({ approvals: [{ id: asked.id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([call.input])
  })

  it('does not hold for the session either', async () => {
    const store = memoryStore()
    const two = [{ toolCalls: [call] }, { text: 'done' }, { toolCalls: [call] }, { text: 'done' }]
    const agent = payer(payTool(), store, two)
    const asked = first((await agent.run('pay', { sessionId: 's' })).pending)
    const session = await agent.resumeSession('s')
    await session.resolve({ approvals: [{ id: asked.id, decision: 'approve', sticky: 'session' }] })
    await session.waitForIdle()
    expect((await agent.run('pay again', { sessionId: 's' })).status).toBe('completed')
    expect(paid).toHaveLength(2)
    const next = payer(payTool({ version: '2' }), store)
    expect((await next.run('pay again', { sessionId: 's' })).status).toBe('suspended')
    expect(paid).toEqual([])
  })

  it('is asked for again where the log does not say what was asked about', async () => {
    const inner = memoryStore()
    const old: SessionStore = {
      ...inner,
      append: (log, entries, at) =>
        inner.append(
          log,
          entries.map((entry): NewEntry => {
            if (entry.type !== 'wait') return entry
            const { about: _, ...rest } = entry
            return rest
          }),
          at,
        ),
    }
    await payer(payTool(), old).run('pay', { sessionId: 's' })
    const session = await payer(payTool(), inner, [{ text: 'done' }]).resumeSession('s')
    const asked = first(session.pending)
    expect(asked).toMatchObject({ effect: 'egress', label: { integrity: 'untrusted', sources: ['*'] } })
    await session.resolve({ approvals: [{ id: asked.id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([])
    await session.resolve({ approvals: [{ id: first(session.pending).id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([call.input])
  })
})

describe('arguments that the answer proposes', () => {
  it('are a new question about them, which alone lets them run', async () => {
    const store = memoryStore()
    const agent = payer(payTool(), store)
    const asked = first((await agent.run('pay', { sessionId: 's' })).pending)
    const session = await agent.resumeSession('s')
    const args = { to: 'ann@shop.example', amount: 5 }
    await session.resolve({
      approvals: [{ id: asked.id, decision: 'approve', args, propose: true, sticky: 'session' }],
    })
    await session.waitForIdle()
    expect(paid).toEqual([])
    const again = first(session.pending)
    expect(again).toMatchObject({ input: args, reason: expect.stringContaining('the arguments were changed') })
    await session.resolve({ approvals: [{ id: again.id, decision: 'approve' }] })
    await session.waitForIdle()
    expect(paid).toEqual([args])
  })
})

describe('warnings of a question', () => {
  async function warningsFor(to: string, said = 'Pay ann@shop.example, and see https://bank.example/pay') {
    const store = memoryStore()
    const agent = payer(payTool(), store, [{ toolCalls: [{ name: 'pay', input: { to, amount: 1 } }] }])
    return first((await agent.run(said)).pending).warnings ?? []
  }

  it.each([
    ['mixed-scripts', 'ann@sh\u043ep.example'],
    ['lookalike', 'ann@sh\u043ep.example'],
    ['lookalike', 'ann@sh0p.example'],
    ['lookalike', 'ánn@shop.example'],
    ['lookalike', 'https://b\u0430nk.example/pay'],
    ['lookalike', 'https://xn--bnk-6cd.example/pay'],
    ['punycode', 'https://xn--bnk-6cd.example/pay'],
    ['userinfo', 'https://bank.example@evil.example/pay'],
    ['hidden-characters', 'ann\u200b@shop.example'],
    ['hidden-characters', 'ann@shop.example\u202e'],
    ['lookalike', 'ａnn@shοp.example'],
  ])('say %s of %s', async (kind, to) => {
    const warnings = await warningsFor(to)
    expect(warnings.map((one) => one.kind)).toContain(kind)
    for (const { path, text } of warnings) {
      expect(path).toBe('/to')
      expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
  })

  it.each([
    'ann@shop.example',
    'https://bank.example/pay',
    'bob@other.example',
    'https://日本.example/',
    'Ann, please send 40 by 5.30',
    'jürgen@müller.example',
  ])('say nothing of %s', async (to) => {
    expect(await warningsFor(to)).toEqual([])
  })

  it('compare with the destinations of earlier calls', async () => {
    const store = memoryStore()
    const steps = [
      { toolCalls: [{ name: 'pay', input: { to: 'carl@firm.example', amount: 1 } }] },
      { text: 'done' },
      { toolCalls: [{ name: 'pay', input: { to: 'car1@firm.example', amount: 1 } }] },
    ]
    const agent = payer(payTool(), store, steps)
    await agent.run('go', { sessionId: 's', onApproval: () => 'approve' })
    const { pending } = await agent.run('go on', { sessionId: 's' })
    expect(first(pending).warnings).toEqual([
      {
        path: '/to',
        kind: 'lookalike',
        text: '"car1@firm.example" looks like "carl@firm.example" and is another address',
      },
    ])
  })

  it('are bounded, and say that not all was looked through', async () => {
    const many = Array.from({ length: 3_000 }, (_, i) => `a@b${i}\u043e.example`).join(' ')
    const warnings = await warningsFor(`${many} ${'x'.repeat(200_000)}`)
    expect(warnings.length).toBeLessThanOrEqual(21)
    expect(warnings.at(-1)?.kind).toBe('not-checked')
  })
})

describe('who asks', () => {
  const model = scriptedModel([])
  const plain = createAgent({ name: 'plain', model })
  const asking = createAgent({ name: 'asking', model, tools: [payTool()] })

  it('is found among tools, extensions and their tools, targets of handoffs and agents that are tools', () => {
    const deny = defineExtension({ name: 'deny', hooks: { 'tool.call': () => undefined } })
    const found = (more: Partial<AgentOptions>) => whoAsks(createAgent({ name: 'top', model, ...more }))
    expect(whoAsks(plain)).toBeUndefined()
    expect(whoAsks(asking)).toEqual({ agent: 'asking', kind: 'tool', name: 'pay' })
    const mail = { name: 'mail', input: z.object({ to: z.string() }), execute: () => 'sent' }
    expect(found({ tools: [tool(mail)] })).toBeUndefined()
    expect(found({ tools: [tool({ ...mail, effectKey: ({ to }) => to })] })).toMatchObject({ name: 'mail' })
    expect(found({ extensions: [deny] })).toEqual({ agent: 'top', kind: 'extension', name: 'deny' })
    expect(found({ extensions: [{ ...deny, asks: false }] })).toBeUndefined()
    expect(found({ extensions: [defineExtension({ name: 'more', tools: [payTool()] })] })).toMatchObject({
      name: 'pay',
    })
    expect(found({ handoffs: [handoff(asking, { filter: filters.full() })] })).toMatchObject({ agent: 'asking' })
    expect(found({ handoffs: () => [asking] })).toMatchObject({ agent: 'asking' })
    expect(found({ tools: [asking.toTool({ name: 'ask', description: 'asks' })] })).toMatchObject({ agent: 'asking' })
    expect(found({ tools: [plain.toTool({ name: 'ask', description: 'asks' })] })).toBeUndefined()
  })

  it('is denied where it promised not to', async () => {
    const liar = defineExtension({
      name: 'liar',
      asks: false,
      hooks: { 'tool.call': () => ({ ask: { reason: 'x' } }) },
    })
    const store = memoryStore()
    const agent = payer(payTool(), store, [{ toolCalls: [call] }, { text: 'done' }], { extensions: [liar] })
    const { status, pending } = await agent.run('pay')
    expect([status, pending.approvals.length, paid.length]).toEqual(['completed', 0, 0])
  })
})
