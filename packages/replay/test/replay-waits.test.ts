import { createAgent } from '@provost/agent'
import { extension } from '@provost/agent/test/hooks/hook-scenario'
import type { Entry, SessionStore } from '@provost/core'
import { replaySession } from '@provost/replay'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

const input = z.object({})
const hour = 3_600_000

async function logOf(store: SessionStore, id: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

/** A question is no result: the answer of the model follows from both. */
function model(...names: readonly string[]) {
  return scriptedModel(
    [
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: JSON.stringify(messages.at(-1)?.content) }
          : { toolCalls: names.map((name) => ({ name })) },
    ],
    { after: 'repeat-last' },
  )
}

describe('a replay follows', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00Z') }))
  afterEach(() => void vi.useRealTimers())

  test.each([1, 3])('%i questions of a running tool, answered in process or left', async (count) => {
    const store = memoryStore()
    const order = tool({
      name: 'order',
      input,
      async execute(_, ctx) {
        const all = Array.from({ length: count }, (__, n) => ctx.ask({ message: `What size? ${n}` }))
        return JSON.stringify(await Promise.all(all))
      },
    })
    const agent = createAgent({ name: 'shop', model: model('order', 'order'), tools: [order], store })
    const { sessionId, status } = await agent.run('go', { onInput: ({ message }) => ({ size: message }) })
    expect(status).toBe('completed')
    expect(await replaySession(agent, await logOf(store, sessionId))).toBeUndefined()
    const alone = await agent.run('go')
    const entries = await logOf(store, alone.sessionId)
    expect(await replaySession(agent, entries)).toBeUndefined()
    for (let end = 0; end < entries.length; end++)
      expect(await replaySession(agent, entries.slice(0, end))).toBeUndefined()
  })

  test('remote calls: one delivered, one given up by the clock', async () => {
    const store = memoryStore()
    const courier = tool({ name: 'courier', input, timeoutMs: hour })
    const agent = createAgent({ name: 'a', model: model('courier', 'courier'), tools: [courier], store })
    const first = await agent.run('Fetch.')
    const [one] = first.pending.remoteCalls
    const second = await agent.run(first.state, { toolResults: [{ callId: one?.callId ?? '', output: 'here' }] })
    expect(second.status).toBe('suspended')
    vi.setSystemTime(Date.now() + 2 * hour)
    const last = await agent.run(second.state)
    expect(last.status).toBe('completed')
    expect(await replaySession(agent, await logOf(store, last.sessionId))).toBeUndefined()
  })

  test('approvals and remote calls that the clock gives up together', async () => {
    const store = memoryStore()
    const pay = tool({ name: 'pay', input, execute: () => 'paid' })
    const courier = tool({ name: 'courier', input, timeoutMs: hour })
    const agent = createAgent({
      name: 'a',
      model: model('pay', 'courier', 'pay'),
      tools: [pay, courier],
      store,
      extensions: [
        extension('guard', {
          'tool.call': ({ tool: { name } }) =>
            name === 'pay' ? { ask: { reason: 'sure?', expiresInMs: hour } } : undefined,
        }),
      ],
    })
    const first = await agent.run('Pay.')
    expect(first.pending.approvals).toHaveLength(2)
    vi.setSystemTime(Date.now() + 2 * hour)
    const last = await agent.run(first.state)
    expect(last.status).toBe('completed')
    expect(await replaySession(agent, await logOf(store, last.sessionId))).toBeUndefined()
  })
})
