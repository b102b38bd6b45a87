import { agentic, createAgent, foldLog, handoff, RunState } from '@provost/agent'
import type { Agent, Orchestrator } from '@provost/agent'
import { createWorld, mortal } from '@provost/agent/test/crash/crash-world'
import type { Death } from '@provost/agent/test/crash/crash-world'
import { answering, handoffsIn, logOf, recorded, sent, transferTo } from '@provost/agent/test/handoff/handoff-world'
import type { Extension, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { replayHandoffs, replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const refund = tool({ name: 'refund', input: { type: 'object' }, needsApproval: true, execute: () => 'refunded' })

describe('a session that was handed over', () => {
  const team = (store: SessionStore) => {
    const billing = recorded([{ text: 'First.' }, { text: 'Second.' }, transferTo('triage'), { text: 'Fourth.' }], 'b')
    const triage = recorded([transferTo('billing'), { text: 'Third.' }, transferTo('billing')], 't')
    const front: Agent = createAgent({
      name: 'triage',
      instructions: 'TRIAGE',
      model: triage.model,
      handoffs: () => [back],
      store,
    })
    const back: Agent = createAgent({
      name: 'billing',
      instructions: 'BILLING',
      model: billing.model,
      handoffs: () => [front],
    })
    return { front, billing, triage }
  }

  test('stays with the target, also in later runs and objects, until it is handed back', async () => {
    const store = memoryStore()
    const { front, billing, triage } = team(store)
    const session = await front.createSession({ id: 's' })
    expect((await session.stream('one').result).text).toBe('First.')
    expect((await session.stream('two').result).text).toBe('Second.')
    const again = await front.resumeSession('s')
    const stream = again.stream('three')
    const agents = new Set<string>()
    for await (const event of stream) agents.add(event.agent)
    expect((await stream.result).text).toBe('Third.')
    expect([...agents]).toEqual(['billing', 'triage'])
    expect((await again.stream('four').result).text).toBe('Fourth.')
    expect(billing.prompts.map((prompt) => /BILLING|TRIAGE/.exec(sent(prompt))?.[0])).toEqual(Array(4).fill('BILLING'))
    expect(triage.prompts.map((prompt) => /BILLING|TRIAGE/.exec(sent(prompt))?.[0])).toEqual(Array(3).fill('TRIAGE'))
    assertWellFormed(again.messages)
    const log = await logOf(store, 's')
    expect(replayHandoffs(log).map(({ entry, intact }) => [entry.to, intact])).toEqual([
      ['billing', true],
      ['triage', true],
      ['billing', true],
    ])
    expect(await replaySession(front, log)).toBeUndefined()
  })

  test('continues where it was suspended, on another machine', async () => {
    const store = memoryStore()
    const make = () => {
      const back = createAgent({
        name: 'billing',
        model: recorded([{ toolCalls: [{ name: 'refund', input: {} }] }, { text: 'Done.' }], 'b').model,
        tools: [refund],
      })
      return createAgent({ name: 'triage', model: recorded([transferTo('billing')], 't').model, handoffs: [back] })
    }
    const first = make()
    const waiting = await first.run('Refund me.')
    expect(waiting.pending.approvals).toMatchObject([{ agent: 'billing', toolName: 'refund' }])
    const json = JSON.stringify(waiting.state)

    const back = createAgent({ name: 'billing', model: recorded([{ text: 'Done.' }], 'b').model, tools: [refund] })
    const second = createAgent({ name: 'triage', model: 'test/absent', handoffs: [back], store })
    const approvals = [{ id: waiting.pending.approvals[0]?.id ?? '', decision: 'approve' } as const]
    const done = await second.run(RunState.fromJSON(json, second), { approvals })
    expect(done).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(JSON.stringify(done.messages)).toContain('refunded')
  })

  test('is refused where the target is not known, or lacks what governed it', async () => {
    const store = memoryStore()
    const guard = defineExtension({ name: 'guard', scope: 'tree', hooks: {} })
    const back = createAgent({ name: 'billing', model: recorded([{ text: 'Hi.' }], 'b').model, extensions: [guard] })
    const front = createAgent({
      name: 'triage',
      model: recorded([transferTo('billing')], 't').model,
      handoffs: [back],
      store,
    })
    const session = await front.createSession({ id: 's' })
    await session.stream('Go.').result
    const alone = createAgent({ name: 'triage', model: 'x/y', store })
    await expect(alone.resumeSession('s')).rejects.toMatchObject({ code: 'wrong-agent' })
    const { error } = await alone.run('Go on.', { sessionId: 's' })
    expect(error?.code).toBe('wrong-agent')
    const ungoverned = createAgent({ name: 'billing', model: 'x/y' })
    const lacking = createAgent({ name: 'triage', model: 'x/y', handoffs: [ungoverned], store })
    await expect(lacking.resumeSession('s')).rejects.toMatchObject({ code: 'missing-extension' })
  })

  test('keeps to two agents of one name apart', async () => {
    const one = createAgent({ name: 'billing', model: 'x/y' })
    const two = createAgent({ name: 'billing', model: 'x/y' })
    const middle = createAgent({ name: 'middle', model: recorded([transferTo('billing')], 'm').model, handoffs: [two] })
    const front = createAgent({
      name: 'triage',
      model: recorded([transferTo('middle')], 't').model,
      handoffs: [one, middle],
    })
    const { error } = await front.run('Go.')
    expect(error).toMatchObject({ code: 'invalid-agent' })
  })
})

describe('extensions', () => {
  function watch(name: string, scope: 'agent' | 'tree', seen: string[]): Extension<unknown> {
    return defineExtension({
      name,
      scope,
      hooks: {
        'session.start': (ctx) => `${name} for ${ctx.agent.name}`,
        'model.request': (_, ctx) => void seen.push(`${name} ${ctx.agent.name}`),
        event: (event) => void (event.type === 'step.end' && seen.push(`${name} heard ${event.agent}`)),
        'run.end': () => void seen.push(`${name} ended`),
      },
    })
  }

  test('of the tree go along with a handoff, those of an agent stay with it, and the target has its own', async () => {
    const seen: string[] = []
    const target = recorded([{ text: 'Hi.' }], 'b')
    const back = createAgent({ name: 'billing', model: target.model, extensions: [watch('own', 'agent', seen)] })
    const front = createAgent({
      name: 'triage',
      model: recorded([transferTo('billing')], 't').model,
      handoffs: [back],
      extensions: [watch('policy', 'tree', seen), watch('mine', 'agent', seen)],
    })
    await front.run('Go.')
    expect(seen).toEqual([
      'policy triage',
      'mine triage',
      'policy heard triage',
      'mine heard triage',
      'policy billing',
      'own billing',
      'policy heard billing',
      'own heard billing',
      'policy ended',
      'own ended',
      'mine ended',
    ])
    expect(sent(target.prompts[0])).toMatch(/policy for billing.*own for billing/)
    expect(sent(target.prompts[0])).not.toMatch(/for triage/)
  })

  test('of two that govern under one name, both hold', async () => {
    const rule = (word: string) =>
      defineExtension({
        name: 'rule',
        scope: 'tree',
        hooks: {
          'tool.call': (call) => (JSON.stringify(call.input).includes(word) ? { deny: `no ${word}` } : undefined),
        },
      })
    const say = tool({ name: 'say', input: { type: 'object' }, effect: 'none', execute: () => 'said' })
    const calls = ['a', 'b', 'c'].map((word) => ({ name: 'say', input: { word } }))
    const back = createAgent({
      name: 'billing',
      model: recorded([{ toolCalls: calls }, { text: 'Hi.' }], 'b').model,
      tools: [say],
      extensions: [rule('b')],
    })
    const front = createAgent({
      name: 'triage',
      model: recorded([transferTo('billing')], 't').model,
      handoffs: [back],
      extensions: [rule('a')],
    })
    const { messages } = await front.run('Go.')
    const text = JSON.stringify(messages)
    expect(text).toMatch(/no a.*no b.*said/)
  })
})

test('when the session is closed, the agents that had it hear of it, each extension once', async () => {
  const heard: string[] = []
  const bye = (name: string): Extension =>
    defineExtension({ name, hooks: { 'session.stop': (ctx) => void heard.push(`${name} of ${ctx.agent.name}`) } })
  const shared = bye('shared')
  const start = (store: SessionStore): Agent => {
    const billing = createAgent({
      name: 'billing',
      model: scriptedModel([{ text: 'Paid.' }]),
      extensions: [bye('ledger'), shared],
    })
    const tax = createAgent({ name: 'tax', model: 'test/absent', extensions: [bye('tax')] })
    const model = scriptedModel([transferTo('billing')])
    return createAgent({ name: 'desk', model, handoffs: [billing, tax], extensions: [shared, bye('desk')], store })
  }
  const store = memoryStore()
  const session = await start(store).createSession({ id: 's' })
  await session.stream('Go.').result
  await session.close()
  expect(heard).toEqual(['shared of desk', 'desk of desk', 'ledger of billing'])
  heard.length = 0
  await (await start(store).resumeSession('s')).close()
  expect(heard).toEqual(['shared of desk', 'desk of desk', 'ledger of billing'])
})

test('each agent is led by its own orchestrator, from where it took over', async () => {
  const store = memoryStore()
  const led: string[] = []
  const leading =
    (name: string): Orchestrator =>
    async (run) => {
      led.push(`${name}: ${await run.memo('who', () => name)}`)
      await agentic()(run)
      led.push(`${name} is done`)
    }
  const third = createAgent({ name: 'third', model: recorded([{ text: 'Three.' }], 'c').model })
  const second = createAgent({
    name: 'second',
    model: recorded([transferTo('third')], 'b').model,
    orchestrator: leading('two'),
    handoffs: [third],
  })
  const first = createAgent({
    name: 'first',
    model: recorded([transferTo('second')], 'a').model,
    orchestrator: leading('one'),
    handoffs: [second],
    store,
  })
  const { text, status, sessionId } = await first.run('Go.')
  expect({ text, status }).toEqual({ text: 'Three.', status: 'completed' })
  expect(led).toEqual(['one: one', 'two: two'])
  expect(await replaySession(first, await logOf(store, sessionId))).toBeUndefined()
})

describe('a driver that dies at any append', () => {
  const filter = filters.compose(filters.summary(), filters.bySensitivity({ drop: 'secret' }))
  const ended = new Set<string>()

  /** Agents of one process, over a store that may end with it: models answer by what they are asked. */
  function processOf(store: SessionStore): Agent {
    const charge = tool({ name: 'charge', input: { type: 'object' }, idempotent: true, execute: () => 'charged' })
    const answer = answering((text) =>
      text.includes('charged') ? { text: 'All done.' } : { toolCalls: [{ name: 'charge', input: {} }] },
    )
    const back = createAgent({ name: 'billing', instructions: () => 'BILLING', model: answer, tools: [charge] })
    const front = answering((text) =>
      text.includes('Summarise')
        ? { text: 'They want to pay.' }
        : text.includes('looked')
          ? {
              text: 'Over to you.',
              toolCalls: [
                { name: 'transfer_to_billing', input: {} },
                { name: 'charge', input: {} },
              ],
            }
          : { toolCalls: [{ name: 'look', input: {} }] },
    )
    const look = tool({ name: 'look', input: { type: 'object' }, effect: 'read', execute: () => 'looked' })
    return createAgent({
      name: 'triage',
      model: front,
      tools: [look, charge],
      handoffs: [handoff(back, { filter })],
      store,
    })
  }

  async function finish(lives: number, death: Death): Promise<boolean> {
    const world = createWorld()
    const { store, died } = mortal(world, lives, death)
    const work = processOf(store).run('I want to pay.', { sessionId: 's' })
    const first = await Promise.race([work, died])
    const entries = await logOf(world.store, 's')
    const started = foldLog(entries).run
    const agent = processOf(world.store)
    const cursor = { sessionId: 's', runId: started?.id ?? '', offset: entries.length }
    const state = started && RunState.fromJSON({ v: 1, manifest: started.manifest, agent: 'triage', cursor }, agent)
    const { status, text, messages } = await (state
      ? agent.run(state)
      : agent.run('I want to pay.', { sessionId: 's' }))
    expect({ status, text }).toEqual({ status: 'completed', text: 'All done.' })
    assertWellFormed(messages)
    const log = await logOf(world.store, 's')
    expect(handoffsIn(log)).toHaveLength(1)
    expect(replayHandoffs(log)).toMatchObject([
      { intact: true, entry: { filter: { filters: [{ text: 'They want to pay.' }, {}] } } },
    ])
    expect(log.filter(({ id }) => id.endsWith('/note'))).toHaveLength(1)
    ended.add(
      JSON.stringify(
        foldLog(log).messages.map(({ role, content, agent: by }) => [role, by, content]),
        withoutRun,
      ),
    )
    return first !== undefined
  }

  test.each(['unanswered', 'unwritten'] as const)(
    'leaves a log (%s) that another goes on with to the same end',
    async (death) => {
      for (let lives = 0; ; lives += full ? 1 : 3) if (await finish(lives, death)) break
      expect([...ended]).toHaveLength(1)
    },
  )
})

/** What differs from run to run, and from process to process. */
function withoutRun(key: string, value: unknown): unknown {
  if (key === 'toolCallId') return ''
  return typeof value === 'string' ? value.replace(/^[\da-f-]{36}\//, '') : value
}
