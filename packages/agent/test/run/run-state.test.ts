import { createAgent, foldLog, RunState } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import type { Decisions, Extension, RunResult, SessionStore, Tool } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedEntry } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from './run-check.ts'

const input = z.object({ amount: z.number() })

/** What payments were made, by which key. */
interface Till {
  readonly paid: { readonly amount: number; readonly key: string }[]
}

function payOf(till: Till): Tool<{ amount: number }> {
  return tool({
    name: 'pay',
    input,
    needsApproval: true,
    execute({ amount }, { idempotencyKey: key }) {
      till.paid.push({ amount, key })
      return `paid ${amount}`
    },
  })
}

const script: readonly ScriptedEntry[] = [
  ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: 'Thank you.' }
      : { text: 'May I?', toolCalls: [{ name: 'pay', input: { amount: 80 } }] },
]

/** A process with a desk in it. */
function desk(till: Till, store: SessionStore = memoryStore(), extensions: readonly Extension[] = []): Agent {
  return createAgent({
    name: 'desk',
    model: scriptedModel(script, { after: 'repeat-last' }),
    tools: [payOf(till)],
    extensions,
    store,
  })
}

/** A run that waits for an approval, as JSON text, and its one question. */
async function suspend(agent: Agent): Promise<{ json: string; id: string; result: RunResult }> {
  const result = await agent.run('Pay 80.')
  expect(result.status).toBe('suspended')
  const [approval] = result.pending.approvals
  if (!approval) throw new Error('nothing is asked')
  return { json: JSON.stringify(result.state), id: approval.id, result }
}

/** A store as it is where its data outlives the process. */
function lasting(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

function agentOf(options: Partial<AgentOptions> & { steps: readonly ScriptedEntry[] }): Agent {
  const { steps, ...more } = options
  return createAgent({ name: 'desk', model: scriptedModel(steps), store: memoryStore(), ...more, output: undefined })
}

describe('a suspended approval', () => {
  test('is asked in the result, in the event and in the state alike', async () => {
    const till: Till = { paid: [] }
    const seen = await collect(desk(till).stream('Pay 80.'))
    expectSound(seen)
    const { result, events, runId } = seen
    expect(result.status).toBe('suspended')
    expect(result.pending.approvals).toMatchObject([
      { toolName: 'pay', input: { amount: 80 }, agent: 'desk', runPath: [runId] },
    ])
    expect(only(events, 'tool.approval.requested')).toMatchObject(result.pending.approvals)
    expect(only(events, 'agent.suspended')).toMatchObject([{ pending: result.pending }])
    expect(till.paid).toEqual([])
  })

  test.for<[string, Omit<NonNullable<Decisions['approvals']>[number], 'id'>, number[], string]>([
    ['approve runs the call as shown', { decision: 'approve' }, [80], 'paid 80'],
    ['deny does not run it, and says why', { decision: 'deny', reason: 'too much' }, [], 'too much'],
    ['edited arguments run in place of those shown', { decision: 'approve', args: { amount: 8 } }, [8], 'paid 8'],
    ['edited arguments that do not fit are refused', { decision: 'approve', args: { amount: 'x' } }, [], 'amount'],
  ])('goes to another process as JSON and back: %s', async ([, decision, paid, said]) => {
    const till: Till = { paid: [] }
    const { json, id, result } = await suspend(desk(till))
    // The other process has nothing of the first one but the text.
    const store = memoryStore()
    const there = desk(till, store)
    const seen = await collect(there.stream(RunState.fromJSON(json, there), { approvals: [{ id, ...decision }] }))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Thank you.', runId: result.runId })
    expect(seen.events.map(({ type }) => type).slice(0, 2)).toEqual(['agent.resumed', 'turn.start'])
    expect(till.paid.map(({ amount }) => amount)).toEqual(paid)
    const answer = seen.result.messages.find(({ role }) => role === 'tool')
    expect(JSON.stringify(answer?.content)).toContain(said)
  })

  test('can be read from text and from parsed JSON, and again from its own JSON', async () => {
    const agent = desk({ paid: [] })
    const { json, id } = await suspend(agent)
    const state = RunState.fromJSON(JSON.parse(json), agent)
    expect(JSON.stringify(state)).toBe(json)
    expect(JSON.stringify(RunState.fromJSON(json, agent))).toBe(json)
    expect(await agent.run(state, { approvals: [{ id, decision: 'approve' }] })).toMatchObject({ status: 'completed' })
  })

  test('stays asked when it is resumed without a decision', async () => {
    const till: Till = { paid: [] }
    const agent = desk(till)
    const { json, id } = await suspend(agent)
    const again = await agent.run(RunState.fromJSON(json, agent))
    expect(again.status).toBe('suspended')
    expect(again.pending.approvals.map((approval) => approval.id)).toEqual([id])
    const third = await agent.run(again.state, { approvals: [{ id, decision: 'approve' }] })
    expect(third).toMatchObject({ status: 'completed', text: 'Thank you.' })
    expect(till.paid).toHaveLength(1)
  })

  test('with a store that lasts, the state is a cursor and carries no entries', async () => {
    const till: Till = { paid: [] }
    const store = lasting()
    const { json, id } = await suspend(desk(till, store))
    expect(JSON.parse(json)).not.toHaveProperty('entries')
    const there = desk(till, store)
    const result = await there.run(RunState.fromJSON(json, there), { approvals: [{ id, decision: 'approve' }] })
    expect(result).toMatchObject({ status: 'completed' })
    await expectLogged(store, result)
  })

  test('keeps the principal, and nothing of the app value', async () => {
    const secret = { token: 'never-stored' }
    const seen: unknown[] = []
    const till: Till = { paid: [] }
    const looks = defineExtension({
      name: 'looks',
      hooks: {
        'tool.call': (_, ctx) => {
          seen.push([ctx.principal?.id, ctx.context])
        },
      },
    })
    const agent = desk(till, memoryStore(), [looks])
    const first = await agent.run('Pay 80.', { principal: { id: 'ann' }, context: secret })
    const json = JSON.stringify(first.state)
    expect(json).not.toContain('never-stored')
    const [approval] = first.pending.approvals
    const there = desk(till, memoryStore(), [looks])
    await there.run(RunState.fromJSON(json, there), {
      context: 'given again',
      approvals: [{ id: approval?.id ?? '', decision: 'approve' }],
    })
    expect(seen).toEqual([
      ['ann', secret],
      ['ann', 'given again'],
    ])
  })
})

describe('the same state resumed twice', () => {
  test('in one store pays once: the second one finds the run ended', async () => {
    const till: Till = { paid: [] }
    const store = memoryStore()
    const agent = desk(till, store)
    const { json, id } = await suspend(agent)
    const resume = () =>
      collect(agent.stream(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] }))
    const first = await resume()
    const log = await readLog(store, first.result.sessionId)
    const second = await resume()
    expect(till.paid).toHaveLength(1)
    expect(second.result).toMatchObject({ status: 'completed', text: 'Thank you.', messages: first.result.messages })
    expect(await readLog(store, first.result.sessionId)).toEqual(log)
    expectSound(second)
  })

  test('at once pays once: one of them finds the session taken', async () => {
    const till: Till = { paid: [] }
    const agent = desk(till)
    const { json, id } = await suspend(agent)
    const resume = () =>
      collect(agent.stream(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] }))
    const both = await Promise.all([resume(), resume()])
    both.forEach(expectSound)
    expect(till.paid).toHaveLength(1)
    expect(both.map(({ result }) => result.error?.code ?? result.status).toSorted()).toEqual([
      'completed',
      'session-busy',
    ])
  })

  test('after its decision was taken stays as it was decided first', async () => {
    const till: Till = { paid: [] }
    const agent = desk(till)
    const { json, id } = await suspend(agent)
    await agent.run(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'deny' }] })
    const second = await agent.run(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] })
    expect(second.status).toBe('completed')
    expect(till.paid).toEqual([])
  })

  test('on two machines with no common store has the same idempotency key to tell the service', async () => {
    const till: Till = { paid: [] }
    const { json, id } = await suspend(desk(till))
    for (const machine of [desk(till), desk(till)]) {
      await machine.run(RunState.fromJSON(json, machine), { approvals: [{ id, decision: 'approve' }] })
    }
    expect(new Set(till.paid.map(({ key }) => key)).size).toBe(1)
  })

  test('continues from the log where the log is ahead of the state', async () => {
    const till: Till = { paid: [] }
    const ids: string[] = []
    const agent = agentOf({
      steps: [
        { toolCalls: [{ name: 'pay', input: { amount: 1 } }] },
        { toolCalls: [{ name: 'pay', input: { amount: 2 } }] },
        { text: 'Both.' },
      ],
      tools: [payOf(till)],
    })
    const first = await agent.run('Pay twice.')
    ids.push(...first.pending.approvals.map(({ id }) => id))
    const second = await agent.run(first.state, { approvals: ids.map((id) => ({ id, decision: 'approve' })) })
    ids.push(...second.pending.approvals.map(({ id }) => id))
    // The old state, with all decisions that were ever taken.
    const third = await agent.run(first.state, { approvals: ids.map((id) => ({ id, decision: 'approve' })) })
    expect(third).toMatchObject({ status: 'completed', text: 'Both.' })
    expect(till.paid.map(({ amount }) => amount)).toEqual([1, 2])
  })
})

describe('a state is refused', () => {
  const hostile = (json: string, key: string): string => json.replace('{', `{"${key}":{"polluted":true},`)

  test.for<[string, (json: string) => unknown, string]>([
    ['of a newer version', (json) => ({ ...JSON.parse(json), v: 2 }), 'newer-state'],
    ['of another agent', (json) => ({ ...JSON.parse(json), agent: 'other' }), 'wrong-agent'],
    ['with a __proto__ key', (json) => hostile(json, '__proto__'), 'invalid-state'],
    ['with a __proto__ key, parsed', (json) => JSON.parse(hostile(json, '__proto__')), 'invalid-state'],
    ['with a constructor key', (json) => hostile(json, 'constructor'), 'invalid-state'],
    [
      'with a hostile key inside',
      (json) => json.replace('"manifest":{', '"manifest":{"__proto__":{},'),
      'invalid-state',
    ],
    ['with a hostile key in an entry', (json) => json.replace('"amount":80', '"__proto__":{"a":1}'), 'invalid-state'],
    ['that is no JSON', (json) => json.slice(0, -1), 'invalid-state'],
    ['that is empty', () => '{}', 'invalid-state'],
    ['that is null', () => 'null', 'invalid-state'],
    ['that is a list', () => [], 'invalid-state'],
    ['without its cursor', (json) => ({ ...JSON.parse(json), cursor: { sessionId: 's' } }), 'invalid-state'],
    ['without its manifest', (json) => ({ ...JSON.parse(json), manifest: {} }), 'invalid-state'],
    ['with entries that are none', (json) => ({ ...JSON.parse(json), entries: [{ id: 1 }] }), 'invalid-state'],
    ['with entries of no known type', (json) => json.replaceAll('"type":"call"', '"type":"cell"'), 'invalid-state'],
    ['with a message of an unknown role', (json) => json.replace('"role":"user"', '"role":"boss"'), 'invalid-state'],
    [
      'with a child’s entries that are none',
      (json) => ({ ...JSON.parse(json), children: { c: [{ id: 'a', offset: 1, type: 'message' }] } }),
      'invalid-state',
    ],
  ])('%s', async ([, forge, code]) => {
    const till: Till = { paid: [] }
    const agent = desk(till)
    const { json, id } = await suspend(agent)
    const read = (): unknown => RunState.fromJSON(forge(json), agent)
    expect(read).toThrow(expect.objectContaining({ name: 'ProvostError', code, hint: expect.stringMatching(/./) }))
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    // The run itself is none the worse.
    const result = await agent.run(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] })
    expect(result.status).toBe('completed')
  })

  test('not for what it does not know, however deep, nor for what data speaks of', async () => {
    const till: Till = { paid: [] }
    const car = { amount: 80, constructor: 'Lotus' }
    const make = () =>
      agentOf({ steps: [{ toolCalls: [{ name: 'pay', input: car }] }, { text: 'Paid.' }], tools: [payOf(till)] })
    const agent = make()
    const { state, pending } = await agent.run('Buy it.')
    const json = JSON.stringify(state)
    expect(json).toContain('Lotus')
    const read = RunState.fromJSON(json.replace('{', `{"later":${'['.repeat(3_000)}${']'.repeat(3_000)},`), agent)
    expect(JSON.stringify(read)).toBe(json)
    const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    await make().run(read, { approvals })
    expect(till.paid).toMatchObject([{ amount: 80 }])
  })

  test('by an agent that lacks a tree-scoped extension of the run', async () => {
    const guard = defineExtension({ name: 'guard', scope: 'tree' })
    const till: Till = { paid: [] }
    const store = memoryStore()
    const { json, id, result } = await suspend(desk(till, store, [guard]))
    const unguarded = desk(till, store)
    expect(() => RunState.fromJSON(json, unguarded)).toThrow(
      expect.objectContaining({ code: 'missing-extension', message: expect.stringContaining('guard') }),
    )
    // Nor does it help to hand over the state itself.
    const seen = await collect(unguarded.stream(result.state, { approvals: [{ id, decision: 'approve' }] }))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'missing-extension' } })
    expect(till.paid).toEqual([])
    const guarded = desk(till, store, [guard])
    const resumed = await guarded.run(RunState.fromJSON(json, guarded), { approvals: [{ id, decision: 'approve' }] })
    expect(resumed.status).toBe('completed')
  })

  test.each(['a composite', 'a remote tool'])('by an agent that lacks %s it stands in', async (kind) => {
    const till: Till = { paid: [] }
    const store = memoryStore()
    const step =
      kind === 'a composite'
        ? tool({
            name: 'shop',
            input: z.object({}),
            composite: true,
            execute: async (_, ctx) => (await ctx.call('pay', { amount: 80 }, { key: 'pay' })).output,
          })
        : tool({ name: 'shop', input: z.object({}) })
    const steps: ScriptedEntry[] = [{ toolCalls: [{ name: 'shop', input: {} }] }]
    const make = (tools: readonly Tool[]): Agent => {
      const model = scriptedModel(steps.splice(0, 1))
      return createAgent({ name: 'desk', model, tools: [payOf(till), ...tools], store })
    }
    const { state, pending, sessionId } = await make([step]).run('Pay 80.')
    const log = await readLog(store, sessionId)
    const decisions: Decisions = {
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
      toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: 'paid 80' })),
    }
    const refused = await make([]).run(state, decisions)
    expect(refused).toMatchObject({
      status: 'failed',
      error: { code: 'missing-tool', hint: expect.stringContaining('shop') },
    })
    expect(await readLog(store, sessionId)).toEqual(log)
    steps.push({ text: 'Thank you.' })
    const resumed = await make([step]).run(state, decisions)
    expect(resumed).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(resumed.messages)).toContain('paid 80')
    expect(till.paid).toHaveLength(pending.approvals.length)
  })

  test('by another agent, and the run stays as it was', async () => {
    const till: Till = { paid: [] }
    const store = memoryStore()
    const { id, result } = await suspend(desk(till, store))
    const log = await readLog(store, result.sessionId)
    const other = createAgent({ name: 'other', model: scriptedModel([]), store })
    const seen = await collect(other.stream(result.state, { approvals: [{ id, decision: 'approve' }] }))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'wrong-agent' } })
    expect(await readLog(store, result.sessionId)).toEqual(log)
  })

  test('by a store that does not know its run', async () => {
    const agent = desk({ paid: [] }, lasting())
    const { json } = await suspend(agent)
    const elsewhere = desk({ paid: [] }, lasting())
    const seen = await collect(elsewhere.stream(RunState.fromJSON(json, elsewhere)))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'unknown-run' } })
  })
})

test('a decision about something that was never asked is refused, and the question stays open', async () => {
  const till: Till = { paid: [] }
  const store = memoryStore()
  const agent = desk(till, store)
  const { json, id } = await suspend(agent)
  const wrong: readonly Decisions[] = [
    { approvals: [{ id: 'never/asked', decision: 'approve' }] },
    { toolResults: [{ callId: 'never/called', output: 1 }] },
    { uncertain: [{ callId: id, decision: 'retry' }] },
  ]
  for (const decisions of wrong) {
    const seen = await collect(agent.stream(RunState.fromJSON(json, agent), decisions))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'unknown-wait' } })
  }
  const result = await agent.run(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] })
  expect(result).toMatchObject({ status: 'completed', text: 'Thank you.' })
  expect(till.paid).toHaveLength(1)
})

test('another run in a session that has one waiting is refused, and the one that waits is not touched', async () => {
  const till: Till = { paid: [] }
  const store = memoryStore()
  const agent = desk(till, store)
  const { json, id, result } = await suspend(agent)
  const log = await readLog(store, result.sessionId)
  const seen = await collect(agent.stream('Something else.', { sessionId: result.sessionId }))
  expectSound(seen)
  expect(seen.result).toMatchObject({ status: 'failed', error: { code: 'session-open' }, messages: [] })
  expect(await readLog(store, result.sessionId)).toEqual(log)
  expect((await agent.run(RunState.fromJSON(json, agent), { approvals: [{ id, decision: 'approve' }] })).status).toBe(
    'completed',
  )
})

describe('a remote tool', () => {
  const far = tool({ name: 'far', input: z.object({ n: z.number() }), output: z.object({ ok: z.boolean() }) })
  const steps = [{ toolCalls: [0, 1, 2].map((n) => ({ name: 'far', input: { n } })) }, { text: 'All back.' }]
  const ok = { ok: true }

  test('suspends the run with every call of the step, and says so', async () => {
    const seen = await collect(agentOf({ steps, tools: [far] }).stream('Go.'))
    expectSound(seen)
    expect(seen.result.status).toBe('suspended')
    expect(seen.result.pending.remoteCalls.map((call) => call.input)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }])
    expect(only(seen.events, 'tool.remote.requested')).toMatchObject(seen.result.pending.remoteCalls)
    expect(only(seen.events, 'tool.execute.start')).toEqual([])
  })

  test.for([[[0, 1, 2]], [[2, 0, 1]], [[1], [2], [0]], [[2, 1], [0]], [[0], [0, 1], [2]]])(
    'continues with results in any order and number: %j',
    async (rounds) => {
      const store = memoryStore()
      const agent = agentOf({ steps, tools: [far], store })
      let result = await agent.run('Go.')
      const calls = result.pending.remoteCalls
      for (const round of rounds) {
        const toolResults = round.map((n) => ({ callId: calls[n]?.callId ?? '', output: ok }))
        const seen = await collect(
          agent.stream(RunState.fromJSON(JSON.stringify(result.state), agent), { toolResults }),
        )
        expectSound(seen)
        ;({ result } = seen)
      }
      expect(result).toMatchObject({ status: 'completed', text: 'All back.' })
      // The message of results keeps the order of the calls.
      const message = result.messages.find(({ role }) => role === 'tool')
      expect(message?.content.map((part) => part.type === 'tool-result' && part.callId)).toEqual(
        calls.map(({ callId }) => callId),
      )
      await expectLogged(store, result)
    },
  )

  test('whose result does not fit its schema gets an error result, and the run continues', async () => {
    const agent = agentOf({ steps, tools: [far] })
    const first = await agent.run('Go.')
    const toolResults = first.pending.remoteCalls.map(({ callId }, n) => ({
      callId,
      output: n === 1 ? { ok: 'yes' } : ok,
    }))
    const seen = await collect(agent.stream(first.state, { toolResults }))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed' })
    expect(only(seen.events, 'tool.execute.end')).toHaveLength(2)
    expect(only(seen.events, 'tool.execute.error')).toHaveLength(1)
    // Whatever comes from outside is not trusted.
    for (const { label } of only(seen.events, 'tool.execute.end')) expect(label.integrity).toBe('untrusted')
  })

  test('keeps its result when the human says something new before it is read', async () => {
    const store = memoryStore()
    const near = tool({ name: 'near', input: z.object({ n: z.number() }), execute: ({ n }) => n })
    const calls = ['far', 'near'].map((name) => ({ name, input: { n: 1 } }))
    const agent = agentOf({ steps: [{ toolCalls: calls }, { text: 'Back.' }], tools: [far, near], store })
    const first = await agent.run('Go.')
    const [call] = first.pending.remoteCalls
    const stream = agent.stream(first.state, { toolResults: [{ callId: call?.callId ?? '', output: ok }] })
    stream.steer('And hurry.')
    const seen = await collect(stream)
    expectSound(seen)
    expect(only(seen.events, 'tool.skipped')).toEqual([])
    expect(only(seen.events, 'tool.execute.end')).toMatchObject([{ toolName: 'far', output: { value: ok } }])
  })

  test('can be answered while the run is alive, and early', async () => {
    const agent = agentOf({
      steps: [{ toolCalls: [{ name: 'far', input: { n: 1 } }] }, { text: 'Back.' }],
      tools: [far],
    })
    const stream = agent.stream('Go.')
    await stream.resolve({ toolResults: [{ callId: `${stream.runId}/1/call/0`, output: ok }] })
    const seen = await collect(stream)
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Back.' })
  })
})

describe('maxSteps', () => {
  const steps = [{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'look' }] }, { text: 'There it is.' }]
  const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'nothing' })

  test('ends the run as failed with everything kept, and a higher one continues with it', async () => {
    const store = memoryStore()
    const agent = agentOf({ steps, tools: [look], store, maxSteps: 2 })
    const seen = await collect(agent.stream('Find it.'))
    expectSound(seen)
    const { result } = seen
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'max-steps', message: expect.stringContaining('2') },
    })
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])

    const state = RunState.fromJSON(JSON.stringify(result.state), agent)
    const same = await agent.run(state)
    expect(same).toMatchObject({ status: 'failed', error: { code: 'max-steps' } })
    const more = await collect(agent.stream(state, { maxSteps: 3 }))
    expectSound(more)
    expect(more.result).toMatchObject({ status: 'completed', text: 'There it is.', runId: result.runId })
    expect(more.result.messages.map(({ role }) => role)).toEqual([
      ...result.messages.map(({ role }) => role),
      'assistant',
    ])
    await expectLogged(store, more.result)
  })

  test('of a run goes before that of the agent', async () => {
    const agent = agentOf({ steps, tools: [look], maxSteps: 1 })
    expect(await agent.run('Find it.', { maxSteps: 5 })).toMatchObject({ status: 'completed' })
  })
})

describe('a run that ended otherwise', () => {
  test('by a failure of the model can be tried again', async () => {
    const store = memoryStore()
    const agent = agentOf({
      steps: [{ error: Object.assign(new Error('bad key'), { status: 401 }) }, { text: 'Now.' }],
      store,
    })
    const first = await agent.run('Go.')
    expect(first).toMatchObject({ status: 'failed', error: { code: 'auth' } })
    const seen = await collect(agent.stream(RunState.fromJSON(JSON.stringify(first.state), agent)))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Now.' })
    expect(seen.result.messages.map(({ role }) => role)).toEqual(['user', 'error', 'assistant'])
    await expectLogged(store, seen.result)
  })

  test('by an abort can be gone on with', async () => {
    const store = memoryStore()
    const agent = agentOf({
      steps: [{ text: ['Half ', 'more'], stall: true, failAfterChunks: 1 }, { text: 'Whole.' }],
      store,
    })
    const stream = agent.stream('Go.')
    for await (const event of stream) if (event.type === 'text.delta') void stream.abort()
    const { state } = await stream.result
    const seen = await collect(agent.stream(RunState.fromJSON(JSON.stringify(state), agent)))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Whole.' })
    assertWellFormed(foldLog(await readLog(store, seen.result.sessionId)).messages)
  })
})
