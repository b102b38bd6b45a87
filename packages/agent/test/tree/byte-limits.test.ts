import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import { defineExtension, ProvostError } from '@provost/core'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, readLog } from '../run/run-check.ts'

const large = 'x'.repeat(50_000)
const input = z.object({ text: z.string() })

/** Calls `echo` again and again, and answers once it has made `calls` calls. */
function caller(calls: number, name = 'echo', text = large): ReturnType<typeof scriptedModel> {
  const step = ({ messages }: ScriptedPrompt) =>
    messages.filter(({ role }) => role === 'tool').length < calls
      ? { toolCalls: [{ name, input: { text } }] }
      : { text: 'done' }
  return scriptedModel([step], { after: 'repeat-last' })
}

const quiet = tool({ name: 'echo', input, execute: () => 'ok' })

function agentWith(options: Partial<AgentOptions<undefined>>): Agent {
  return createAgent({ name: 'clerk', model: caller(10), tools: [quiet], ...options })
}

async function bytesIn(store: SessionStore, log: string): Promise<number> {
  let bytes = 0
  for (const entry of await readLog(store, log)) bytes += Buffer.byteLength(JSON.stringify(entry))
  return bytes
}

describe('host bytes', () => {
  test('end a run whose model writes more arguments than the limit, with a well-formed history', async () => {
    const { result } = await collect(agentWith({ hostBytes: 200_000 }).stream('go'))
    expect(result.status).toBe('failed')
    expect(result.error).toMatchObject({ code: 'host-bytes-exceeded' })
    expect(result.error?.message).toContain('200000')
    assertWellFormed(result.messages)
  })

  test('let a run end that stays below', async () => {
    const result = await agentWith({ hostBytes: 5_000_000 }).run('go')
    expect(result.status).toBe('completed')
  })

  test('of a run take the place of those of the agent', async () => {
    expect((await agentWith({ hostBytes: 1_000 }).run('go', { hostBytes: Infinity })).status).toBe('completed')
    expect((await agentWith({}).run('go', { hostBytes: 1_000 })).error).toMatchObject({ code: 'host-bytes-exceeded' })
  })

  test('are counted before a value is judged: no hook sees the one that is too large', async () => {
    const seen: number[] = []
    const judge = defineExtension({
      name: 'judge',
      hooks: { 'tool.call': ({ input: args }) => void seen.push(JSON.stringify(args).length) },
    })
    const agent = agentWith({ model: caller(1, 'echo', 'y'.repeat(300_000)), extensions: [judge], hostBytes: 200_000 })
    expect((await agent.run('go')).error).toMatchObject({ code: 'host-bytes-exceeded' })
    expect(seen).toEqual([])
  })

  test('withhold a result that is too large from the hooks', async () => {
    const seen: string[] = []
    const read = defineExtension({
      name: 'read',
      hooks: { 'tool.result': ({ output }) => void seen.push(output.type) },
    })
    const long = tool({ name: 'echo', input, maxResultTokens: 1e9, execute: () => 'z'.repeat(300_000) })
    const agent = agentWith({ model: caller(1, 'echo', 'a'), tools: [long], extensions: [read], hostBytes: 200_000 })
    const { result } = await collect(agent.stream('go'))
    expect(result.error).toMatchObject({ code: 'host-bytes-exceeded' })
    expect(seen).toEqual([])
    assertWellFormed(result.messages)
  })

  test('end an answer while the model is still speaking', async () => {
    const text = Array.from({ length: 100 }, () => 'w'.repeat(10_000))
    const { result, events } = await collect(
      agentWith({ model: scriptedModel([{ text }]), hostBytes: 200_000 }).stream('go'),
    )
    expect(result.error).toMatchObject({ code: 'host-bytes-exceeded' })
    const deltas = events.filter(({ type }) => type === 'text.delta').length
    expect(deltas).toBeLessThan(21)
  })

  test('count what a script-like composite calls', async () => {
    let made = 0
    const many = tool({
      name: 'many',
      composite: true,
      input: z.object({ text: z.string() }),
      async execute(_, ctx) {
        for (; made < 20; made++) await ctx.call('echo', { text: large }, { key: String(made) })
        return 'all'
      },
    })
    const agent = agentWith({ model: caller(1, 'many', 'a'), tools: [quiet, many], hostBytes: 200_000 })
    const result = await agent.run('go')
    expect(result.error).toMatchObject({ code: 'host-bytes-exceeded' })
    expect(made).toBe(3)
    assertWellFormed(result.messages)
  })

  test('count what a client says to a run in progress', async () => {
    const agent = agentWith({ model: scriptedModel([{ text: 'ok' }], { after: 'repeat-last' }), hostBytes: 200_000 })
    let sent = 0
    const result = await agent.run('go', { getFollowUp: () => (sent++ < 20 ? [large] : []) })
    expect(result.error).toMatchObject({ code: 'host-bytes-exceeded' })
    expect(sent).toBe(4)
  })
})

describe('log bytes', () => {
  test('end a run, and the log is not much larger than the limit', async () => {
    const store = memoryStore()
    const { result } = await collect(agentWith({ store, logBytes: 300_000 }).stream('go', { sessionId: 's' }))
    expect(result.error).toMatchObject({ code: 'log-bytes-exceeded' })
    expect(await bytesIn(store, 's')).toBeLessThan(310_000)
    assertWellFormed(result.messages)
  })

  test('end a run whose hook writes without end', async () => {
    const chatty = defineExtension({
      name: 'chatty',
      hooks: {
        async 'model.request'(_, ctx) {
          for (let n = 0; n < 100; n++) await ctx.append(String(n), { large })
        },
      },
    })
    expect((await agentWith({ extensions: [chatty], logBytes: 1_000_000 }).run('go')).status).toBe('failed')
  })
})

describe('a tree', () => {
  function tree(limits: Pick<AgentOptions, 'hostBytes' | 'logBytes'>, store = memoryStore()): Agent {
    const child = createAgent({
      name: 'child',
      model: caller(3),
      tools: [quiet],
      hostBytes: Infinity,
      logBytes: Infinity,
    })
    const toolCalls = Array.from({ length: 4 }, (_, n) => ({ name: 'ask', input: { task: `part ${n}` } }))
    const step = ({ messages }: ScriptedPrompt) =>
      messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls }
    return createAgent({
      name: 'root',
      model: scriptedModel([step], { after: 'repeat-last' }),
      tools: [child.toTool({ name: 'ask', description: 'Ask.' })],
      store,
      ...limits,
    })
  }

  test.for(['hostBytes', 'logBytes'] as const)('shares %s: four children have no more than one run', async (limit) => {
    // One child needs 150 kB of the first and 300 kB of the second.
    const result = await tree({ [limit]: limit === 'hostBytes' ? 400_000 : 800_000 }).run('go')
    expect(result.status).toBe('failed')
    expect(result.error).toMatchObject({ code: limit === 'hostBytes' ? 'host-bytes-exceeded' : 'log-bytes-exceeded' })
  })

  test('has room for all of them with a limit that is large enough, and the log says what they used', async () => {
    const store = memoryStore()
    const result = await tree({ hostBytes: 1_000_000 }, store).run('go', { sessionId: 's' })
    expect(result.status).toBe('completed')
    const joined = (await readLog(store, 's')).flatMap((entry) =>
      entry.type === 'child' && entry.op === 'joined' ? [entry.bytes] : [],
    )
    expect(joined).toHaveLength(4)
    for (const bytes of joined) {
      expect(bytes?.host).toBeGreaterThan(150_000)
      expect(bytes?.log).toBeGreaterThan(bytes?.host ?? 0)
    }
  })
})

test('what was used before a suspension counts after it, in another process', async () => {
  const store = memoryStore()
  const ask = tool({ name: 'echo', input, needsApproval: true, execute: () => 'ok' })
  const make = () => agentWith({ model: caller(3), tools: [ask], store, hostBytes: 180_000 })
  let result = await make().run('go', { sessionId: 's' })
  let approvals = 0
  while (result.status === 'suspended' && approvals < 5) {
    const [one] = result.pending.approvals
    approvals++
    result = await make().run(result.state, { approvals: [{ id: one?.id ?? '', decision: 'approve' }] })
  }
  // Three calls of 50 kB fit, and hardly more.
  expect({ approvals, status: result.status }).toEqual({ approvals: 3, status: 'completed' })
  const again = await make().run('go', { sessionId: 's2', hostBytes: 120_000 })
  const [first] = again.pending.approvals
  let next = await make().run(again.state, {
    hostBytes: 120_000,
    approvals: [{ id: first?.id ?? '', decision: 'approve' }],
  })
  const [second] = next.pending.approvals
  next = await make().run(next.state, {
    hostBytes: 120_000,
    approvals: [{ id: second?.id ?? '', decision: 'approve' }],
  })
  expect(next.error).toMatchObject({ code: 'host-bytes-exceeded' })
  // A failed run goes on where the limit is raised.
  const raised = await make().run(next.state, { hostBytes: Infinity })
  expect(raised.status).toBe('suspended')
})

test.for(['hostBytes', 'logBytes'])('%s has to be a number from 1', (option) => {
  for (const value of [0, -1, Number.NaN, 'much']) {
    expect(() => agentWith({ [option]: value })).toThrow(ProvostError)
  }
})
