import { createAgent, handoff } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { handoffsIn, logOf, recorded, sent, transferTo } from '@provost/agent/test/handoff/handoff-world'
import type { AgentEvent } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { replayHandoffs, replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

const look = tool({
  name: 'look',
  input: { type: 'object' },
  effect: 'read',
  returns: { confidentiality: 'secret' },
  execute: () => 'the file of Ann',
})

describe('a handoff that transfers', () => {
  test('lets the target continue with the user: its prompt, its tools, its model, and what was said before', async () => {
    const store = memoryStore()
    const target = recorded([{ text: 'Invoice 7 is paid.' }], 'smart')
    const invoice = tool({ name: 'invoice', input: { type: 'object' }, execute: () => 'paid' })
    const billing = createAgent({
      name: 'billing',
      instructions: 'You are billing.',
      model: target.model,
      tools: [invoice],
    })
    const caller = recorded(
      [{ reasoning: 'money', text: 'One moment.', ...transferTo('billing', 'About invoice 7.') }],
      'fast',
    )
    const triage = createAgent({
      name: 'triage',
      instructions: 'You are triage.',
      model: caller.model,
      tools: [look],
      handoffs: [billing],
      store,
    })
    const stream = triage.stream('Is invoice 7 paid?')
    const events: AgentEvent[] = []
    for await (const event of stream) events.push(event)
    const result = await stream.result

    expect(result).toMatchObject({ status: 'completed', output: 'Invoice 7 is paid.' })
    assertWellFormed(result.messages)
    expect(Object.keys(result.usage.byModel)).toEqual(['scripted/fast', 'scripted/smart'])
    const [prompt] = target.prompts
    expect(prompt?.tools.map(({ name }) => name)).toEqual(['invoice'])
    expect(sent(prompt)).toMatch(/You are billing.*Is invoice 7 paid\?.*One moment\..*About invoice 7\./)
    expect(sent(prompt)).not.toMatch(/You are triage|money|transfer_to/)

    const told = events.map(({ type, agent }) => `${agent} ${type}`)
    const from = told.indexOf('triage step.end')
    expect(told.slice(from, from + 7)).toEqual([
      'triage step.end',
      'triage handoff.start',
      'triage handoff.end',
      'triage turn.end',
      'billing turn.start',
      'billing message.start',
      'billing message.end',
    ])
    expect(told.at(-1)).toBe('billing agent.end')
    expect(events.find(({ type }) => type === 'handoff.end')).toMatchObject({
      to: 'billing',
      status: 'accepted',
      label: { confidentiality: 'internal' },
    })
    expect(events.filter(({ type }) => type === 'turn.start')).toMatchObject([
      { trigger: 'input' },
      { trigger: 'handoff' },
    ])

    const log = await logOf(store, result.sessionId)
    expect(handoffsIn(log)).toMatchObject([
      { from: 'triage', to: 'billing', mode: 'transfer', filter: { kind: 'full' } },
    ])
    expect(replayHandoffs(log)).toMatchObject([{ intact: true, messages: [{ role: 'user' }, { role: 'assistant' }] }])
    expect(await replaySession(triage, log)).toBeUndefined()
  })

  test('takes what its filter lets across, with the labels of that', async () => {
    const store = memoryStore()
    const target = recorded([{ text: 'Hello.' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const caller = recorded([{ toolCalls: [{ name: 'look', input: {} }] }, transferTo('billing')], 'caller')
    const filter = filters.bySensitivity({ drop: 'secret' })
    const triage = createAgent({
      name: 'triage',
      model: caller.model,
      tools: [look],
      handoffs: [handoff(billing, { filter })],
      store,
    })
    const { sessionId, messages } = await triage.run('What is in my file?')
    expect(sent(target.prompts[0])).toContain('What is in my file?')
    expect(sent(target.prompts[0])).not.toContain('the file of Ann')
    expect(messages.at(-1)?.label?.confidentiality).toBe('internal')
    const [entry] = handoffsIn(await logOf(store, sessionId))
    expect(entry).toMatchObject({
      filter: { kind: 'bySensitivity', drop: 'secret' },
      label: { confidentiality: 'internal' },
    })
  })

  test('waits for the other calls of its step, whose results cross; further handoffs of the step are not taken', async () => {
    const store = memoryStore()
    const target = recorded([{ text: 'I have your file.' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const shipping = createAgent({ name: 'shipping', model: 'test/absent' })
    const names = ['transfer_to_billing', 'look', 'transfer_to_shipping', 'transfer_to_billing']
    const caller = recorded([{ toolCalls: names.map((name) => ({ name, input: {} })) }], 'caller')
    const triage = createAgent({
      name: 'triage',
      model: caller.model,
      tools: [look],
      handoffs: [billing, shipping],
      store,
    })
    const stream = triage.stream('Go.')
    const skipped: string[] = []
    for await (const event of stream) if (event.type === 'tool.skipped') skipped.push(event.reason)
    const { text, messages, sessionId } = await stream.result
    expect(text).toBe('I have your file.')
    assertWellFormed(messages)
    const why = 'Only the first handoff of a step is taken, and that was the one to billing.'
    expect(skipped).toEqual([why, why])
    expect(sent(target.prompts[0])).toContain('the file of Ann')
    expect(sent(target.prompts[0])).not.toContain('transfer_to')
    const log = await logOf(store, sessionId)
    expect(handoffsIn(log)).toHaveLength(1)
    expect(replayHandoffs(log)).toMatchObject([{ intact: true }])
    expect(await replaySession(triage, log)).toBeUndefined()
  })

  test('waits for the human that another call of its step waits for', async () => {
    const target = recorded([{ text: 'Paid and handed over.' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const pay = tool({ name: 'pay', input: { type: 'object' }, needsApproval: true, execute: () => 'paid' })
    const names = ['transfer_to_billing', 'pay']
    const caller = recorded([{ toolCalls: names.map((name) => ({ name, input: {} })) }], 'caller')
    const triage = createAgent({ name: 'triage', model: caller.model, tools: [pay], handoffs: [billing] })
    const waiting = await triage.run('Go.')
    expect(waiting.status).toBe('suspended')
    const [approval] = waiting.pending.approvals
    const done = await triage.run(waiting.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(done.text).toBe('Paid and handed over.')
    expect(sent(target.prompts[0])).toContain('paid')
  })

  test('begins with a turn of the user, and ends with one, wherever the filter cuts', async () => {
    const target = recorded([{ text: 'Yes?' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const caller = recorded([{ text: 'Passing you on.', ...transferTo('billing') }], 'caller')
    const triage = createAgent({
      name: 'triage',
      model: caller.model,
      handoffs: [handoff(billing, { filter: filters.lastN(1) })],
    })
    await triage.run('Hello?')
    const roles = target.prompts[0]?.messages.map((message) => (message as { role: string }).role)
    expect(roles).toEqual(['user', 'assistant', 'user'])
    expect(sent(target.prompts[0])).not.toContain('Hello?')
  })

  test('ends where agents only hand over to each other', async () => {
    const ping: Agent = createAgent({
      name: 'ping',
      model: recorded([transferTo('pong')], 'ping').model,
      handoffs: () => [pong],
    })
    const pong: Agent = createAgent({
      name: 'pong',
      model: recorded([...Array.from({ length: 10 }, () => transferTo('ping')), { text: 'Enough.' }], 'pong').model,
      handoffs: () => [ping],
    })
    const store = memoryStore()
    const stuck = createAgent({
      name: 'start',
      model: recorded([transferTo('ping')], 'start').model,
      handoffs: [ping],
      store,
    })
    const { status, text, sessionId, messages } = await stuck.run('Go.')
    expect(status).toBe('completed')
    expect(text).toBe('Enough.')
    assertWellFormed(messages)
    expect(handoffsIn(await logOf(store, sessionId))).toHaveLength(20)
    expect(JSON.stringify(messages)).toContain('was handed over 20 times')
  })
})

describe('a summary', () => {
  test('is written by the caller’s model, once, and is in the log', async () => {
    const store = memoryStore()
    const target = recorded([{ text: 'Good.' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const caller = recorded([transferTo('billing'), { text: 'Ann asks about invoice 7.' }], 'caller')
    const filter = filters.compose(filters.stripToolCalls(), filters.summary({ maxTokens: 100 }))
    const triage = createAgent({ name: 'triage', model: caller.model, handoffs: [handoff(billing, { filter })], store })
    const { sessionId, usage } = await triage.run('It is about invoice 7. I am Ann.')
    expect(sent(caller.prompts[1])).toContain('It is about invoice 7')
    expect(sent(target.prompts[0])).toContain('Ann asks about invoice 7.')
    expect(sent(target.prompts[0])).not.toContain('I am Ann')
    expect(Object.keys(usage.byModel)).toEqual(['scripted/caller', 'scripted/target'])
    const log = await logOf(store, sessionId)
    expect(handoffsIn(log)[0]?.filter).toEqual({
      kind: 'compose',
      filters: [{ kind: 'stripToolCalls' }, { kind: 'summary', maxTokens: 100, text: 'Ann asks about invoice 7.' }],
    })
    expect(replayHandoffs(log)).toMatchObject([{ intact: true }])
    expect(await replaySession(triage, log)).toBeUndefined()
  })

  test('that fails changes nothing: the caller continues', async () => {
    const billing = createAgent({ name: 'billing', model: 'test/absent' })
    const broken = { error: Object.assign(new Error('no such key'), { statusCode: 401 }) }
    const caller = recorded([transferTo('billing'), broken, { text: 'I answer myself.' }], 'caller')
    const triage = createAgent({
      name: 'triage',
      model: caller.model,
      handoffs: [handoff(billing, { filter: filters.summary() })],
    })
    const { text, messages } = await triage.run('Go.')
    expect(text).toBe('I answer myself.')
    assertWellFormed(messages)
  })
})

describe('the handoff hook', () => {
  const setup = (hook: NonNullable<Parameters<typeof defineExtension>[0]['hooks']>['handoff']) => {
    const store = memoryStore()
    const target = recorded([{ text: 'Here is billing.' }], 'target')
    const billing = createAgent({ name: 'billing', model: target.model })
    const caller = recorded([transferTo('billing', 'Call 555-0100.'), { text: 'I stay.' }], 'caller')
    const guard = defineExtension({ name: 'guard', scope: 'tree', ...(hook && { hooks: { handoff: hook } }) })
    const triage = createAgent({ name: 'triage', model: caller.model, handoffs: [billing], extensions: [guard], store })
    return { store, target, triage }
  }

  test('sees all that the target would get, and denies it', async () => {
    const seen: string[] = []
    const { triage, target, store } = setup((flow) => {
      seen.push(`${flow.kind} ${flow.from} ${flow.to}`, ...flow.payload.map(textOf))
      return { deny: 'Not to billing.' }
    })
    const stream = triage.stream('Hello.')
    const ends: AgentEvent[] = []
    for await (const event of stream) if (event.type === 'handoff.end') ends.push(event)
    const { text, messages, sessionId } = await stream.result
    expect(seen).toEqual([
      'transfer triage billing',
      'Hello.',
      'triage handed the conversation over to you, billing. What triage says: Call 555-0100.',
    ])
    expect(text).toBe('I stay.')
    expect(ends).toMatchObject([{ status: 'denied', reason: 'Not to billing.' }])
    expect(target.prompts).toEqual([])
    assertWellFormed(messages)
    const log = await logOf(store, sessionId)
    expect(replayHandoffs(log)).toEqual([])
    expect(await replaySession(triage, log)).toBeUndefined()
  })

  test('that throws refuses the handoff', async () => {
    const { triage, target } = setup(() => {
      throw new Error('broken')
    })
    const { text } = await triage.run('Hello.')
    expect(text).toBe('I stay.')
    expect(target.prompts).toEqual([])
  })

  test.each([
    ['approve', 'Here is billing.'],
    ['deny', 'I stay.'],
  ] as const)('asks a human, who may %s', async (decision, said) => {
    const { triage } = setup((_, ctx) => (ctx.approval ? undefined : { ask: { reason: 'to billing?' } }))
    const waiting = await triage.run('Hello.')
    expect(waiting.pending.approvals).toMatchObject([{ toolName: 'transfer_to_billing', reason: 'to billing?' }])
    const id = waiting.pending.approvals[0]?.id ?? ''
    const { text } = await triage.run(waiting.state, { approvals: [{ id, decision }] })
    expect(text).toBe(said)
  })

  test('puts something else in place of what would cross, without the caller’s words', async () => {
    const { triage, target, store } = setup(() => ({ payload: [{ content: 'A customer is here.' }] }))
    const { sessionId } = await triage.run('Hello.')
    expect(sent(target.prompts[0])).toContain('A customer is here.')
    expect(sent(target.prompts[0])).not.toMatch(/Hello|555/)
    const log = await logOf(store, sessionId)
    expect(replayHandoffs(log)).toMatchObject([
      { intact: true, messages: [{ content: [{ text: 'A customer is here.' }] }] },
    ])
    expect(await replaySession(triage, log)).toBeUndefined()
  })
})

describe('agents and their handoffs', () => {
  const some = createAgent({ name: 'some', model: 'test/absent' })
  test.each([
    ['itself', () => [createAgent({ name: 'desk', model: 'x/y' })]],
    ['one twice', () => [some, handoff(some)]],
    ['what is no agent', () => [{ name: 'some' }]],
  ])('%s is refused', async (_, handoffs) => {
    const given = handoffs as () => [Agent]
    expect(() => createAgent({ name: 'desk', model: 'x/y', handoffs: given() })).toThrow(
      expect.objectContaining({ code: 'invalid-agent' }),
    )
  })

  test('a function as a filter is refused when the handoff is made', () => {
    const filter = ((messages: unknown) => messages) as never
    expect(() => handoff(some, { filter })).toThrow(expect.objectContaining({ code: 'invalid-filter' }))
  })

  test('the registry shows the tool, and a tool of that name keeps its own', () => {
    const mine = tool({ name: 'transfer_to_some', input: { type: 'object' }, execute: () => 'mine' })
    const desk = createAgent({ name: 'desk', model: 'x/y', tools: [mine], handoffs: [some] })
    expect(desk.registry.tools.map(({ name }) => name)).toEqual(['transfer_to_some', 'handoffs_transfer_to_some'])
  })
})
