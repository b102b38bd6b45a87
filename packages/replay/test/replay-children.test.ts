import { createAgent, handoff } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { readLog } from '@provost/agent/test/run/run-check'
import type { Decisions, Entry, PendingWork, SessionStore, Tool } from '@provost/core'
import { replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

const input = { type: 'object' } as const
const pay = tool({ name: 'pay', input, needsApproval: true, execute: () => 'paid' })
const look = tool({ name: 'look', input, effect: 'read', execute: () => 'seen' })
const courier = tool({ name: 'courier', input })
const size = tool({
  name: 'size',
  input,
  composite: true,
  execute: async (_, ctx) => JSON.stringify(await ctx.wait('size', { message: 'What size?' })),
})

/** Calls its tools once. It goes by what it is sent, in any process. */
function caller(name: string, tools: readonly Tool[], more: Partial<Parameters<typeof createAgent>[0]> = {}): Agent {
  const names = tools.length > 0 ? tools.map((one) => one.name) : ['transfer_to_child']
  return createAgent({
    name,
    tools,
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: `${name} done` }
            : { toolCalls: names.map((one) => ({ name: one })) },
      ],
      { after: 'repeat-last' },
    ),
    ...more,
    output: undefined,
  })
}

const child = caller('child', [pay, courier, look, size])
const other = caller('other', [look])
const asTool = (agent: Agent): Tool =>
  agent.toTool({ name: agent.name, description: agent.name, input, prompt: () => 'Go.' })
const fan = (how: 'concat' | 'first-success'): Tool =>
  tool({
    name: 'fan',
    input,
    composite: true,
    async execute(_, ctx) {
      const children = [child, other].map((agent) => ({ agent, input: 'Go.' }))
      return (await ctx.fanOut({ children, mergeStrategy: how })).output
    },
  })
const middle = caller('middle', [asTool(child), look])

const ways: Record<string, (store: SessionStore) => Agent> = {
  'a child that is a tool': (store) => caller('root', [asTool(child), look], { store }),
  'a child of a child': (store) => caller('root', [look, asTool(middle)], { store }),
  'children side by side, all waited for': (store) => caller('root', [fan('concat')], { store }),
  'children side by side, the first taken': (store) => caller('root', [fan('first-success')], { store }),
  'a handoff that returns': (store) => caller('root', [], { store, handoffs: [handoff(child, { mode: 'return' })] }),
  'a handoff': (store) => caller('root', [], { store, handoffs: [handoff(child, { filter: filters.lastN(2) })] }),
  'a handoff to a caller of children': (store) =>
    caller('root', [], { store, handoffs: [handoff(caller('child', [asTool(middle), fan('concat')]))] }),
}
const agents = new Map([child, other, middle].map((agent) => [agent.name, agent]))

function decisions(pending: PendingWork, decision: 'approve' | 'deny'): Decisions {
  return {
    approvals: pending.approvals.map(({ id }) => ({ id, decision })),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: 'here' })),
    inputs: pending.inputs.map(({ id }) => ({ id, value: 'XL' })),
  }
}

async function logsOf(store: SessionStore, log: string): Promise<readonly (readonly Entry[])[]> {
  const entries = await readLog(store, log)
  const below = entries.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry.log] : []))
  return [entries, ...(await Promise.all(below.map((name) => logsOf(store, name)))).flat()]
}

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** Each log as a whole, and broken off after each of its entries, or some of them. */
async function expectReplay(root: Agent, store: SessionStore, sessionId: string): Promise<void> {
  for (const entries of await logsOf(store, sessionId)) {
    const agent = agents.get(entries.find(({ type }) => type === 'run')?.agent ?? '') ?? root
    for (let end = entries.length; end > 0; end -= full ? 1 : 11)
      expect([end, await replaySession(agent, entries.slice(0, end))]).toEqual([end, undefined])
  }
}

describe('a replay follows what goes through a log to and from', () => {
  test.for(Object.entries(ways))('%s', async ([, make]) => {
    const store = memoryStore()
    const root = make(store)
    for (const decision of ['approve', 'deny'] as const) {
      // All in one go, while the run is alive.
      const alive = root.stream('Go.')
      for await (const event of alive) {
        if (event.type === 'tool.approval.requested')
          await alive.resolve({ approvals: [{ id: event.token, decision }] })
        if (event.type === 'tool.remote.requested')
          await alive.resolve({ toolResults: [{ callId: event.callId, output: 'here' }] })
        if (event.type === 'input.requested') await alive.resolve({ inputs: [{ id: event.token, value: 'XL' }] })
      }
      expect((await alive.result).status).toBe('completed')
      await expectReplay(root, store, (await alive.result).sessionId)
    }
    // One by one, in later runs.
    let result = await root.run('Go.')
    for (let round = 0; result.status === 'suspended' && round < 20; round++) {
      const { approvals, remoteCalls, inputs, uncertain } = result.pending
      const [one] = [
        { approvals: approvals.slice(0, 1), remoteCalls: [], inputs: [], uncertain },
        { approvals: [], remoteCalls: remoteCalls.slice(0, 1), inputs: [], uncertain },
        { approvals: [], remoteCalls: [], inputs: inputs.slice(0, 1), uncertain },
      ].filter((some) => some.approvals.length + some.remoteCalls.length + some.inputs.length > 0)
      if (one) result = await root.run(result.state, decisions(one, 'approve'))
    }
    expect(result.status).toBe('completed')
    await expectReplay(root, store, result.sessionId)
    // Not at all.
    const left = root.stream('Go.')
    for await (const event of left) if (event.type === 'tool.approval.requested') void left.abort({ graceMs: 0 })
    await expectReplay(root, store, (await left.result).sessionId)
  })

  test('an input that was sent to a child', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const root = caller('root', [asTool(middle)], { store })
    const stream = root.stream('Go.', { sessionId: 's' })
    for await (const event of stream) {
      if (event.type !== 'tool.execute.start' || event.toolName !== 'look') continue
      const spawned = (await readLog(store, 's')).find((one) => one.type === 'child' && one.callId === event.runId)
      const log = spawned?.type === 'child' ? spawned.log : ''
      await store.deliver(log, 'send/1', { mode: 'steer', input: 'This.' }, 'ann')
    }
    const { pending, state } = await stream.result
    expect((await root.run(state, decisions(pending, 'approve'))).status).toBe('suspended')
    const tokens = (await logsOf(store, 's')).map((entries) =>
      entries.flatMap((entry) => (entry.type === 'resolved' && entry.token.startsWith('send/') ? [entry.token] : [])),
    )
    expect(tokens.slice(0, 2)).toEqual([[], ['send/1']])
    await expectReplay(root, store, 's')
  })
})
