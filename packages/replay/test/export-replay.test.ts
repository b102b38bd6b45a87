import { createAgent, RunState } from '@provost/agent'
import type { AgentStream, Orchestrator } from '@provost/agent'
import { agentic } from '@provost/agent'
import { collect } from '@provost/agent/test/run/run-check'
import { actorOf, answersTo, script } from '@provost/agent/test/run/run-script'
import { gate, pay, payTool, world } from '@provost/agent/test/session/session-world'
import type { Entry, SessionStore } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { replaySession } from '@provost/replay'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { planAndExecute, react } from '@provost/teams'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const key = 'a key of sixteen bytes'

async function linesOf(store: SessionStore, id: string, options: Parameters<typeof exportSession>[2] = {}) {
  const lines: string[] = []
  for await (const line of exportSession(store, id, options)) lines.push(line)
  return lines
}

async function logOf(store: SessionStore, id: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

/** Everything that a run can go through, in a store. */
const ways: Readonly<Record<string, { orchestrator?: Orchestrator; first?: ScriptedStep; numRuns: number }>> = {
  'the loop alone': { numRuns: 50 },
  react: { orchestrator: react({ maxThoughtTokens: 3 }), numRuns: 15 },
  planAndExecute: {
    orchestrator: planAndExecute({ maxReplans: 1 }),
    first: { text: '{"steps": ["one", "two"]}' },
    numRuns: 15,
  },
  'one of our own': {
    async orchestrator(run) {
      await agentic()(run)
      await run.memo('note', async () => 'x')
      await run.say('And again.')
      await agentic()(run)
    },
    numRuns: 15,
  },
}

test.for(Object.entries(ways))(
  '%s: any history is exported and imported as it is, with the same bytes, and its replay finds no difference',
  async ([, { orchestrator, first, numRuns }]) => {
    await fc.assert(
      fc.asyncProperty(script, fc.scheduler(), fc.nat(8), fc.nat(1000), async (random, scheduler, choice, cut) => {
        const play = first ? { ...random, steps: [first, ...random.steps] } : random
        const store = memoryStore()
        const later = <T>(value: T, label: string): Promise<T> => scheduler.schedule(Promise.resolve(value), label)
        const actor = actorOf(play, store, later, orchestrator)
        const watch = async (stream: AgentStream) => {
          actor.watch(stream)
          return scheduler.waitFor(collect(stream))
        }
        let { result } = await watch(actor.agent.stream('Go.', { onApproval: actor.onApproval }))
        for (let round = 0; result.status === 'suspended' && round < 20; round++) {
          const state = RunState.fromJSON(JSON.stringify(result.state), actor.agent)
          ;({ result } = await watch(actor.agent.stream(state, answersTo(result.pending, choice + round))))
        }
        const { sessionId } = result
        const lines = await linesOf(store, sessionId, { key })
        const entries = await logOf(store, sessionId)
        const other = memoryStore()
        expect(await importSession(other, lines, { key })).toMatchObject({ sessionId, trusted: true })
        expect(await logOf(other, sessionId)).toEqual(entries)
        expect(await linesOf(other, sessionId, { key })).toEqual(lines)

        // Without a signature the words are the same, all of them untrusted, and nothing resumes.
        const strange = memoryStore()
        await importSession(strange, lines, { id: 'copy' })
        const asked = createAgent({ name: actor.agent.name, model: scriptedModel([{ text: 'ok' }]), store: strange })
        const next = await asked.run('go on', { sessionId: 'copy' })
        expect(next.status).toBe('completed')

        const outside = await linesOf(store, sessionId, { for: 'outside' })
        await importSession(memoryStore(), outside)

        const { maxSteps } = play
        const options = maxSteps === undefined ? {} : { maxSteps }
        expect(await replaySession(actor.agent, entries, options)).toBeUndefined()
        // A log that ends anywhere has no difference either.
        expect(await replaySession(actor.agent, entries.slice(0, cut % (entries.length + 1)), options)).toBeUndefined()
      }),
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 2 * numRuns : Math.ceil(numRuns / 8), timeout: 60_000 },
    )
  },
)

describe('a replay', () => {
  test('calls no model and no tool, and says which entry is the first that is another one', async () => {
    const { tool: payIt, done } = payTool()
    const { agent, asked, store } = world([{ toolCalls: [pay(5)] }, { text: 'Paid.' }], { tools: [payIt] })
    const first = await agent.run('Pay.', { sessionId: 's', onApproval: () => 'approve' })
    expect(first.text).toBe('Paid.')
    const entries = await logOf(store, 's')
    const before = [asked.length, done.length]
    expect(await replaySession(agent, entries)).toBeUndefined()
    expect([asked.length, done.length]).toEqual(before)

    // The end of the log was changed.
    const at = entries.length - 1
    const changed = entries.map((entry, index): Entry => {
      return index === at && entry.type === 'run' && entry.op === 'ended' ? { ...entry, output: 'Refused.' } : entry
    })
    const difference = await replaySession(agent, changed)
    expect(difference).toMatchObject({ offset: at + 1, expected: { output: 'Refused.' }, got: { op: 'ended' } })
  })

  test('knows whose arguments a question is about, also once the approver has edited them', async () => {
    const { tool: payIt, done } = payTool()
    const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'a page' })
    let sum = 0
    const rewrites = defineExtension({
      name: 'rewrites',
      hooks: { 'tool.call': (call) => (call.tool.name === 'pay' ? { args: { sum: ++sum } } : undefined) },
    })
    const { agent, store } = world(
      [{ toolCalls: [{ name: 'look', input: {} }] }, { toolCalls: [pay(5)] }, { text: 'Paid.' }],
      { tools: [payIt, look], extensions: [rewrites] },
    )
    const answers = [{ decision: 'approve', args: { sum: 9 } }, { decision: 'approve' }] as const
    let round = 0
    await agent.run('Pay.', { sessionId: 's', onApproval: () => answers[round++] })
    expect([done, round]).toEqual([[2], 2])
    const entries = await logOf(store, 's')
    const integrity = entries.flatMap((entry) => (entry.type === 'wait' ? [entry.about?.label.integrity] : []))
    expect(integrity).toEqual(['untrusted', 'trusted'])
    expect(await replaySession(agent, entries)).toBeUndefined()
  })

  test('finds that a tool became remote, that a call lost its result, and that something follows the end', async () => {
    const look = { name: 'look', input: z.object({}) }
    const local = tool({ ...look, effect: 'read', execute: () => 'seen' })
    const { agent, store } = world([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'Seen.' }], {
      tools: [local],
    })
    await agent.run('Look.', { sessionId: 's' })
    const entries = await logOf(store, 's')

    const remote = createAgent({ name: 'a', model: scriptedModel([]), tools: [tool(look)] })
    const other = await replaySession(remote, entries)
    expect(other).toMatchObject({ expected: { op: 'started' }, got: { type: 'wait', kind: 'remote' } })

    const lost = entries.filter((entry) => !(entry.type === 'call' && entry.op === 'settled'))
    expect(await replaySession(agent, lost)).toMatchObject({ got: expect.stringContaining('the result of') })

    const spoken = entries.find((entry) => entry.type === 'message' && entry.via === 'model')
    const more = spoken ? [...entries, { ...spoken, id: 'x', offset: entries.length + 1 }] : []
    expect(await replaySession(agent, more)).toMatchObject({ got: 'nothing: the run is over' })

    const stranger = createAgent({ name: 'b', model: scriptedModel([]) })
    await expect(replaySession(stranger, entries)).rejects.toMatchObject({ code: 'wrong-agent' })
  })

  test('goes through steers, aborts, failures, edits, forks and several runs of a session', async () => {
    const held = gate('hold')
    const { agent, store } = world(
      [
        { text: 'One.' },
        { toolCalls: [{ name: 'hold', input: {} }] },
        { text: 'Steered.' },
        { error: new Error('down') },
        { text: 'Up again.' },
      ],
      { tools: [held.tool], settings: { maxRetries: 0 } },
    )
    const session = await agent.createSession({ id: 's', messages: [{ role: 'user', content: 'Before.' }] })
    await session.stream('First.').result
    session.send('Second.')
    await held.entered
    session.send('Hurry.')
    held.open()
    await session.waitForIdle()
    session.messages.splice(0, 1, { role: 'user', content: 'Edited.' })
    await session.stream('Third.').result
    await session.stream('Fourth.').result
    const fork = await session.fork()
    expect(await replaySession(agent, store.read('s'))).toBeUndefined()
    await fork.stream('In the fork.').result
    expect(await replaySession(agent, store.read(fork.id))).toBeUndefined()
  })
})

describe('a session that waits', () => {
  test('is exported with a signature, and continues elsewhere', async () => {
    const { tool: payIt, done } = payTool()
    const one = world([{ toolCalls: [pay(7)] }], { tools: [payIt] })
    const session = await one.agent.createSession({ id: 's', principal: { id: 'ann' } })
    session.send('Pay.')
    await session.waitForIdle()
    const lines = await linesOf(one.store, 's', { key })

    const two = world([{ text: 'Paid.' }], { tools: [payIt] })
    await importSession(two.store, lines.join(''), { key })
    const again = await two.agent.resumeSession('s')
    const [approval] = again.pending.approvals
    await again.resolve({ approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect((await again.waitForIdle())?.text).toBe('Paid.')
    expect(done).toEqual([7])
  })

  test('for a child is exported with its logs, and continues elsewhere', async () => {
    const { tool: payment, done } = payTool()
    const boss = (store: SessionStore, own: readonly ScriptedStep[], childs: readonly ScriptedStep[]) => {
      const { agent } = world(childs, { name: 'clerk', tools: [payment], store })
      return world(own, { tools: [agent.toTool({ name: 'clerk', description: 'Pays.' })], store }).agent
    }
    const store = memoryStore()
    const asks = [{ toolCalls: [{ name: 'clerk', input: { task: 'Pay.' } }] }]
    const first = await boss(store, asks, [{ toolCalls: [pay(5)] }]).createSession({ id: 's' })
    first.send('go')
    await first.waitForIdle()
    const lines = await linesOf(store, 's', { key })
    const other = memoryStore()
    await importSession(other, lines, { key })
    expect(await linesOf(other, 's', { key })).toEqual(lines)
    const session = await boss(other, [{ text: 'All done.' }], [{ text: 'Paid.' }]).resumeSession('s')
    const approvals = session.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    await session.resolve({ approvals })
    expect((await session.waitForIdle())?.text).toBe('All done.')
    expect(done).toEqual([5])
    // Without a signature it is a record.
    expect(await importSession(memoryStore(), lines)).toMatchObject({ trusted: false })
  })

  test('has no wait and no principal without a signature', async () => {
    const { tool: payIt, done } = payTool()
    const one = world([{ toolCalls: [pay(7)] }], { tools: [payIt] })
    const session = await one.agent.createSession({ id: 's', principal: { id: 'ann' } })
    session.send('Pay.')
    await session.waitForIdle()
    const lines = await linesOf(one.store, 's')

    const two = world([{ text: 'Well.' }], { tools: [payIt] })
    await importSession(two.store, lines)
    const again = await two.agent.resumeSession('s')
    expect([again.status, again.pending.approvals]).toEqual(['idle', []])
    expect(again.messages.every(({ label }) => label?.integrity === 'untrusted')).toBe(true)
    expect((await again.stream('And?').result).text).toBe('Well.')
    assertWellFormed([...again.messages])
    expect(again.messages.map((message) => textOf(message)).at(-1)).toBe('Well.')
    expect(done).toEqual([])
    expect(JSON.stringify(await logOf(two.store, 's'))).not.toContain('ann')
  })
})
