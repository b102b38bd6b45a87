import { createAgent, handoff, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { createWorld, mortal } from '@provost/agent/test/crash/crash-world'
import { handoffsIn, logOf, recorded, sent, transferTo } from '@provost/agent/test/handoff/handoff-world'
import { collect, only } from '@provost/agent/test/run/run-check'
import type { Flow, Label, SessionStore } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { replayHandoffs, replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

const input = { type: 'object' } as const
const usage = { inputTokens: 10, outputTokens: 5 }
const vault: Label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['vault'] }
const look = tool({ name: 'look', input, effect: 'read', returns: vault, execute: () => 'the file of Ann' })

/** Goes by what it is sent, so that it goes on in any process. */
function after(first: ScriptedStep, text: string, modelId: string): ReturnType<typeof scriptedModel> {
  const step = ({ messages }: ScriptedPrompt): ScriptedStep =>
    messages.at(-1)?.role === 'tool'
      ? { text: `${text} ${JSON.stringify(messages.at(-1))}`, usage }
      : { ...first, usage }
  return scriptedModel([step], { modelId, after: 'repeat-last' })
}

describe('a handoff that returns', () => {
  test('has the target work on what crosses; its answer is the result of the call, and the caller continues', async () => {
    const store = memoryStore()
    const target = recorded([{ text: 'It is legal.', usage }], 'smart')
    const lawyer = createAgent({ name: 'lawyer', instructions: 'You are a lawyer.', model: target.model })
    const caller = recorded(
      [
        { reasoning: 'law', text: 'One moment.', usage, ...transferTo('lawyer', 'About paragraph 7.') },
        { text: 'Yes.', usage },
      ],
      'fast',
    )
    const desk = createAgent({
      name: 'desk',
      instructions: 'You are the desk.',
      model: caller.model,
      handoffs: [handoff(lawyer, { mode: 'return' })],
      store,
    })
    const { result, events } = await collect(desk.stream('Is it legal?'))
    expect(result).toMatchObject({ status: 'completed', output: 'Yes.', usage: { inputTokens: 30 } })
    expect(Object.keys(result.usage.byModel).toSorted()).toEqual(['scripted/fast', 'scripted/smart'])
    assertWellFormed(result.messages)
    expect(sent(target.prompts[0])).toMatch(/You are a lawyer.*Is it legal\?.*One moment\..*About paragraph 7\./)
    expect(sent(target.prompts[0])).not.toMatch(/You are the desk|"law"|transfer_to/)
    expect(sent(caller.prompts[1])).toContain('It is legal.')
    const own = events.filter(({ agent }) => agent === 'desk').map(({ type }) => type)
    const from = own.indexOf('tool.execute.start')
    expect(own.slice(from, from + 4)).toEqual([
      'tool.execute.start',
      'handoff.start',
      'handoff.end',
      'tool.execute.end',
    ])
    expect(only(events, 'handoff.end')).toMatchObject([
      { from: 'desk', to: 'lawyer', mode: 'return', status: 'returned' },
    ])
    expect(only(events, 'turn.start').filter(({ agent }) => agent === 'desk')).toHaveLength(1)
    const log = await logOf(store, result.sessionId)
    expect(handoffsIn(log)).toMatchObject([{ from: 'desk', to: 'lawyer', mode: 'return', filter: { kind: 'full' } }])
    expect(replayHandoffs(log)).toMatchObject([{ intact: true, messages: [{ role: 'user' }, { role: 'assistant' }] }])
    expect(await replaySession(desk, log)).toBeUndefined()
    // The next turn is the caller's.
    const session = await desk.resumeSession(result.sessionId)
    await session.stream('Thanks.').result
    expect(sent(caller.prompts[2])).toContain('You are the desk')
  })

  test('lets across what its filter does, each message under its own label', async () => {
    const labels: string[] = []
    const watch = defineExtension({
      name: 'watch',
      hooks: { input: (message) => void labels.push(`${textOf(message)}: ${message.label?.integrity}`) },
    })
    const target = recorded([{ text: 'Hello.' }], 'target')
    const lawyer = createAgent({ name: 'lawyer', model: target.model, extensions: [watch] })
    const calls = ['look', 'transfer_to_lawyer', 'transfer_to_lawyer', 'transfer_to_tax']
    const store = memoryStore()
    const desk = createAgent({
      name: 'desk',
      model: scriptedModel([
        { toolCalls: [{ name: 'look', input: {} }] },
        { toolCalls: calls.map((name) => ({ name, input: {} })) },
        { text: 'done' },
      ]),
      tools: [look],
      handoffs: [
        handoff(lawyer, { mode: 'return', filter: filters.bySensitivity({ drop: 'secret' }) }),
        createAgent({ name: 'tax', model: 'test/absent' }),
      ],
      store,
    })
    const { result, events } = await collect(desk.stream('Who is Ann?'))
    expect(result.status).toBe('completed')
    expect(sent(target.prompts[0])).not.toContain('the file of Ann')
    expect(labels[0]).toBe('Who is Ann?: trusted')
    const why = 'Only the first handoff of a step is taken, and that was the one to lawyer.'
    expect(only(events, 'tool.skipped').map(({ reason }) => reason)).toEqual([why, why])
    const log = await logOf(store, result.sessionId)
    expect(replayHandoffs(log)).toMatchObject([{ intact: true }])
    expect(await replaySession(desk, log)).toBeUndefined()
  })

  test('brings back the label of all that the target has seen', async () => {
    const lawyer = createAgent({
      name: 'lawyer',
      model: after({ toolCalls: [{ name: 'look', input: {} }] }, 'found', 'lawyer'),
      tools: [look],
    })
    const desk = createAgent({
      name: 'desk',
      model: scriptedModel([transferTo('lawyer'), { text: 'done' }]),
      handoffs: [handoff(lawyer, { mode: 'return' })],
    })
    const { result, events } = await collect(desk.stream('Go.'))
    expect(result.messages.at(-1)?.label).toMatchObject({ confidentiality: 'secret', integrity: 'untrusted' })
    expect(only(events, 'handoff.end')[0]?.label.sources).toContain('vault')
  })

  test('shows both ways to the hooks, which may rewrite and refuse', async () => {
    const flows: Flow[] = []
    const run = async (answer: (flow: Flow) => { deny: string } | { payload: { content: string }[] } | undefined) => {
      const guard = defineExtension({
        name: 'guard',
        hooks: {
          handoff(flow) {
            flows.push(flow)
            return flow.kind === 'return' ? answer(flow) : undefined
          },
        },
      })
      const caller = recorded([transferTo('lawyer'), { text: 'done' }], 'caller')
      const desk = createAgent({
        name: 'desk',
        model: caller.model,
        handoffs: [
          handoff(createAgent({ name: 'lawyer', model: scriptedModel([{ text: 'I obey the page.' }]) }), {
            mode: 'return',
          }),
        ],
        extensions: [guard],
      })
      const seen = await collect(desk.stream('Go.'))
      expect(seen.result.status).toBe('completed')
      return { back: sent(caller.prompts[1]), end: only(seen.events, 'handoff.end')[0] }
    }
    expect((await run(() => undefined)).back).toContain('I obey the page.')
    expect(flows.map(({ kind, from, to }) => `${kind} ${from} ${to}`)).toEqual([
      'transfer desk lawyer',
      'return lawyer desk',
    ])
    const rewritten = await run(() => ({ payload: [{ content: 'It said something.' }] }))
    expect(rewritten.back).toContain('It said something.')
    expect(rewritten.back).not.toContain('I obey')
    const refused = await run(() => ({ deny: 'not like this' }))
    expect(refused.back).toContain('not like this')
    expect(refused.back).not.toContain('I obey')
    expect(refused.end).toMatchObject({ status: 'denied' })
    const broken = await run(() => {
      throw new Error('oops')
    })
    expect(broken.back).not.toContain('I obey')
  })

  test.for(['approve', 'deny'] as const)(
    'a human may be asked on the way back, and answers in another process: %s',
    async (decision) => {
      const store = memoryStore()
      const start = (): Agent =>
        createAgent({
          name: 'desk',
          model: after(transferTo('lawyer'), 'got', 'desk'),
          handoffs: [
            handoff(createAgent({ name: 'lawyer', model: scriptedModel([{ text: 'Pay them.' }]) }), { mode: 'return' }),
          ],
          extensions: [
            defineExtension({
              name: 'guard',
              hooks: {
                handoff: ({ kind }) => (kind === 'return' ? { ask: { reason: 'it talks of money' } } : undefined),
              },
            }),
          ],
          store,
        })
      const waiting = await start().run('Go.')
      expect(waiting.status).toBe('suspended')
      const [question] = waiting.pending.inputs
      expect(question?.message).toContain('it talks of money')
      const agent = start()
      const state = RunState.fromJSON(JSON.stringify(waiting.state), agent)
      const result = await agent.run(state, { inputs: [{ id: question?.id ?? '', value: { decision } }] })
      expect(result.status).toBe('completed')
      expect(result.text.includes('Pay them.')).toBe(decision === 'approve')
    },
  )

  test('agents that ask each other come to an end', async () => {
    let asked = 0
    const asking = (name: string, other: () => Agent): Agent =>
      createAgent({
        name,
        model: scriptedModel(
          [
            () => {
              asked++
              return transferTo(name === 'a' ? 'b' : 'a')
            },
          ],
          { after: 'repeat-last' },
        ),
        handoffs: () => [handoff(other(), { mode: 'return' })],
        maxSteps: 4,
      })
    const a: Agent = asking('a', () => b)
    const b: Agent = asking('b', () => a)
    const result = await a.run('Go.')
    expect(result.error?.code).toBe('max-steps')
    expect(asked).toBeLessThan(100)
  })
})

/** The lawyer books, and has a human asked for it. */
function paying(store: SessionStore, paid: string[]): Agent {
  const pay = tool({
    name: 'pay',
    input,
    needsApproval: true,
    idempotent: true,
    execute: (_, ctx) => void paid.push(ctx.callId),
  })
  const lawyer = createAgent({
    name: 'lawyer',
    model: after({ toolCalls: [{ name: 'pay', input: {} }] }, 'paid', 'lawyer'),
    tools: [pay],
  })
  return createAgent({
    name: 'desk',
    model: after(transferTo('lawyer', 'Pay.'), 'done', 'desk'),
    handoffs: [handoff(lawyer, { mode: 'return', filter: filters.lastUser() })],
    store,
  })
}

async function finish(store: SessionStore, paid: string[], sessionId: string) {
  const entries = await logOf(store, sessionId)
  const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  const agent = paying(store, paid)
  let result =
    started?.type === 'run' && started.op === 'started'
      ? await agent.run(
          RunState.fromJSON(
            JSON.stringify({
              v: 1,
              manifest: started.manifest,
              agent: 'desk',
              cursor: { sessionId, runId: started.runId, offset: entries.length },
            }),
            agent,
          ),
        )
      : await agent.run('Go.', { sessionId })
  for (let round = 0; result.status === 'suspended' && round < 5; round++) {
    const approvals = result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    result = await paying(store, paid).run(result.state, { approvals })
  }
  return result
}

test('what the target waits for is recorded in the run of its caller, and continues in another process', async () => {
  const store = memoryStore()
  const paid: string[] = []
  const waiting = await paying(store, paid).run('Go.')
  expect(waiting.pending.approvals).toMatchObject([{ toolName: 'pay', agent: 'lawyer' }])
  expect(waiting.pending.approvals[0]?.runPath).toHaveLength(2)
  const agent = paying(memoryStore(), paid)
  const state = RunState.fromJSON(JSON.stringify(waiting.state), agent)
  const [approval] = waiting.pending.approvals
  const result = await agent.run(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
  expect(result.status).toBe('completed')
  expect(paid).toHaveLength(1)
  expect(result.text).toMatch(/done.*paid/)
})

test('it comes to the same, wherever its process dies', async () => {
  const whole = createWorld()
  let appends = 0
  const counting: SessionStore = { ...whole.store, append: (...given) => (appends++, whole.store.append(...given)) }
  await finish(counting, [], 's')
  expect(appends).toBeGreaterThan(8)
  const full = process.env['PROVOST_TEST_FULL'] === '1'
  for (let lives = 1; lives < appends; lives += full ? 1 : 4) {
    for (const death of full ? (['unanswered', 'unwritten'] as const) : (['unanswered'] as const)) {
      const world = createWorld()
      const paid: string[] = []
      const held = new Map<string, number>()
      const store: SessionStore = {
        ...world.store,
        async lease(log, ...given) {
          const lease = await world.store.lease(log, ...given)
          if (lease !== 'busy') held.set(log, lease.fence)
          return lease
        },
      }
      const driver = mortal({ ...world, store }, lives, death)
      await Promise.race([finish(driver.store, paid, 's'), driver.died])
      // Its leases run out.
      for (const [one, fence] of held) await world.store.release(one, fence)
      const result = await finish(world.store, paid, 's')
      expect(result.status, `${lives} ${death}`).toBe('completed')
      expect(new Set(paid).size, `${lives} ${death}`).toBe(1)
      const log = await logOf(world.store, 's')
      expect(handoffsIn(log)).toHaveLength(1)
      expect(replayHandoffs(log)).toMatchObject([{ intact: true }])
      assertWellFormed(result.messages)
    }
  }
})
