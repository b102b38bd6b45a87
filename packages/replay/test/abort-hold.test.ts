import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { Agent, AgentStream, RunState } from '@provost/agent'
import type { AbortOptions } from '@provost/agent'
import { missing, transcript } from '@provost/agent/test/hooks/hook-scenario'
import { expectLogged, readLog } from '@provost/agent/test/run/run-check'
import { defineExtension } from '@provost/core'
import type { AgentEvent, RunResult, Tool } from '@provost/core'
import { replaySession } from '@provost/replay'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const input = z.object({})
const hold: AbortOptions = { onPendingApprovals: 'hold' }
/** Repetitions from each place: a race shows in some of many runs only. All of them are 72 for each agent. */
const times = process.env['PROVOST_TEST_FULL'] === '1' ? 12 : 1

/** What the tools have done. */
interface Deeds {
  paid: number
  looked: number
}

/** Tools of which one asks a human, one ends soon, one ends late, and one does not stop. */
function toolsOf(deeds: Deeds): readonly Tool[] {
  const look = (name: string, ms: number, heeds = true): Tool =>
    tool({
      name,
      effect: 'read',
      input,
      execute: async (_, { signal }) => {
        await sleep(ms, undefined, heeds ? { signal } : {})
        return `looked ${++deeds.looked}`
      },
    })
  const pay = tool({ name: 'pay', input, needsApproval: true, execute: () => `paid ${++deeds.paid}` })
  return [pay, look('look', 0), look('late', 5000), look('deaf', 400, false)]
}

const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ name, input: { task: 'work' } })) })

function worker(name: string, deeds: Deeds, ...names: readonly string[]): Tool {
  const task = `${name}: done`
  return createAgent({
    name,
    model: scriptedModel(
      [({ messages }) => (messages.some(({ role }) => role === 'tool') ? { text: task } : calls(...names))],
      {
        after: 'repeat-last',
      },
    ),
    tools: toolsOf(deeds),
  }).toTool({ name, description: 'Works.' })
}

/** Agents whose first step leads to one question to a human. */
const agents: Readonly<
  Record<string, (deeds: Deeds) => { readonly names: readonly string[]; readonly tools: readonly Tool[] }>
> = {
  'one call': (deeds) => ({ names: ['pay'], tools: toolsOf(deeds) }),
  'a call before others': (deeds) => ({ names: ['pay', 'look', 'late'], tools: toolsOf(deeds) }),
  'a call behind others': (deeds) => ({ names: ['look', 'late', 'pay'], tools: toolsOf(deeds) }),
  'a call beside one that does not stop': (deeds) => ({ names: ['deaf', 'pay'], tools: toolsOf(deeds) }),
  'a child': (deeds) => ({ names: ['child'], tools: [worker('child', deeds, 'pay')] }),
  'a child whose other calls run': (deeds) => ({ names: ['child'], tools: [worker('child', deeds, 'late', 'pay')] }),
  'a child beside a call': (deeds) => ({
    names: ['late', 'child'],
    tools: [...toolsOf(deeds), worker('child', deeds, 'pay')],
  }),
  'one of two children': (deeds) => ({
    names: ['busy', 'child'],
    tools: [worker('child', deeds, 'pay'), worker('busy', deeds, 'late')],
  }),
  'a composite whose other calls run': (deeds) => {
    const both = tool({
      name: 'both',
      composite: true,
      input,
      async execute(_, ctx) {
        const late = ctx.call('late', {}, { key: 'late' })
        const { value } = await ctx.call('pay', {}, { key: 'pay' })
        return [value ?? null, (await late).outcome]
      },
    })
    return { names: ['both'], tools: [both, ...toolsOf(deeds)] }
  },
  'a grandchild': (deeds) => {
    const child = createAgent({
      name: 'child',
      model: scriptedModel(
        [({ messages }) => (messages.some(({ role }) => role === 'tool') ? { text: 'done' } : calls('late', 'inner'))],
        {
          after: 'repeat-last',
        },
      ),
      tools: [...toolsOf(deeds), worker('inner', deeds, 'late', 'pay')],
    })
    return { names: ['child'], tools: [child.toTool({ name: 'child', description: 'Works.' })] }
  },
}

const asks = (event: AgentEvent): boolean => event.type === 'tool.approval.requested'

/** The places from which a run can be aborted while a human is asked. Each returns the result of the run. */
const places: Readonly<
  Record<string, (make: (hear?: (event: AgentEvent) => unknown) => Agent, options: AbortOptions) => Promise<RunResult>>
> = {
  async 'the loop over its events'(make, options) {
    const stream = make().stream('go')
    for await (const event of stream) if (asks(event)) void stream.abort(options)
    return stream.result
  },
  async 'the loop, a moment later'(make, options) {
    const stream = make().stream('go')
    for await (const event of stream) if (asks(event)) void turn().then(() => stream.abort(options))
    return stream.result
  },
  async 'a listener of the session'(make, options) {
    const session = await make().createSession()
    session.on('tool.approval.requested', () => session.abort(options))
    return session.stream('go').result
  },
  async 'an extension'(make, options) {
    let stream: AgentStream | undefined
    stream = make((event) => asks(event) && void stream?.abort(options)).stream('go')
    return stream.result
  },
  async 'agent.abort'(make, options) {
    const agent = make()
    const stream = agent.stream('go')
    for await (const event of stream) if (asks(event)) void agent.abort(options)
    return stream.result
  },
  async onApproval(make, options) {
    const asked = Promise.withResolvers<void>()
    const stream = make().stream('go', { onApproval: () => new Promise(() => asked.resolve()) })
    for await (const event of stream) if (asks(event)) asked.resolve(stream.abort(options))
    return stream.result
  },
}

/** A drain waits for the calls that are under way. */
const quick = new Set(['one call', 'a child'])

describe.each(Object.entries(agents))('an abort that holds the question of %s', (name, world) => {
  test.each(Object.entries(places))('suspends the run, from %s', async (_place, abort) => {
    for (let i = 0; i < times; i++) {
      for (const options of [hold, { ...hold, graceMs: 1 }, ...(quick.has(name) ? [{ ...hold, drain: true }] : [])]) {
        const deeds: Deeds = { paid: 0, looked: 0 }
        const store = memoryStore()
        const { names, tools } = world(deeds)
        const make = (event: (event: AgentEvent) => unknown = () => {}): Agent =>
          createAgent({
            name: 'a',
            store,
            tools,
            extensions: [defineExtension({ name: 'stop', scope: 'tree', hooks: { event } })],
            model: scriptedModel(
              [({ messages }) => (messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : calls(...names))],
              {
                after: 'repeat-last',
              },
            ),
          })
        const held = await abort(make, options)
        expect([held.status, held.pending.approvals.length], `with ${JSON.stringify(options)}`).toEqual([
          'suspended',
          1,
        ])
        await expectLogged(store, held)
        expect(deeds.paid).toBe(0)
        const [approval] = held.pending.approvals
        const state: RunState<string> = held.state ?? missing('state')
        const done = await make().run(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
        expect([done.status, deeds.paid, done.text]).toEqual(['completed', 1, 'Done.'])
        assertWellFormed(done.messages)
        if (i >= 4) continue
        const entries = await readLog(store, done.sessionId)
        expect(await replaySession(make(), entries), 'the replay').toBeUndefined()
        for (let end = entries.length - 1; end > 0; end -= 3)
          expect(await replaySession(make(), entries.slice(0, end)), 'the replay of a part').toBeUndefined()
      }
    }
  })
})

test('calls beside the held one that were running or had not started end as aborted', async () => {
  const deeds: Deeds = { paid: 0, looked: 0 }
  const agent = createAgent({
    name: 'a',
    maxParallelTools: 1,
    tools: toolsOf(deeds),
    model: scriptedModel([calls('late', 'pay', 'look'), { text: 'Done.' }]),
  })
  const stream = agent.stream('go')
  for await (const event of stream) if (asks(event)) void stream.abort(hold)
  const { state, pending } = await stream.result
  const done = await agent.run(state, {
    approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const })),
  })
  expect(transcript(done.messages).slice(2)).toEqual([expect.stringMatching(/ \[paid 1\] /), 'assistant: Done.'])
  expect(deeds).toEqual({ paid: 1, looked: 0 })
})

test('without a question the run ends as aborted', async () => {
  const agent = createAgent({
    name: 'a',
    tools: toolsOf({ paid: 0, looked: 0 }),
    model: scriptedModel([calls('late'), { text: 'Done.' }]),
  })
  const stream = agent.stream('go')
  for await (const event of stream) if (event.type === 'tool.execute.start') void stream.abort(hold)
  expect((await stream.result).status).toBe('aborted')
})

test('with onPendingApprovals fail the run fails beside another open call, also from a handler', async () => {
  const agent = createAgent({
    name: 'a',
    tools: toolsOf({ paid: 0, looked: 0 }),
    model: scriptedModel([calls('pay', 'look'), { text: 'Done.' }]),
  })
  const session = await agent.createSession()
  const stream = session.stream('go')
  session.on('tool.approval.requested', () => void stream.abort({ onPendingApprovals: 'fail' }))
  const { status, error } = await stream.result
  expect([status, error?.code]).toEqual(['failed', 'aborted-while-pending'])
})
