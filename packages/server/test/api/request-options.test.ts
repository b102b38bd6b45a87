import type { Agent } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import type { RequestOptions, Server } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import { ask, executed, refund } from '../served.ts'

/** A model call as the provider received it. */
type Call = readonly [model: string, temperature: number | undefined, toolChoice: string | undefined]

function model(id: string, calls: Call[]): ReturnType<typeof scriptedModel> {
  const choice = ({ toolChoice }: ScriptedPrompt['options']): string | undefined =>
    toolChoice?.type === 'tool' ? toolChoice.toolName : toolChoice?.type
  return scriptedModel(
    [
      ({ messages, options }): ScriptedStep => {
        calls.push([id, options.temperature, choice(options)])
        const last = messages.at(-1)
        if (last?.role === 'tool') return { text: 'refunded' }
        const asks = JSON.stringify(last).includes('refund')
        return asks ? { toolCalls: [{ name: 'refund', input: { amount: 80 } }] } : { text: 'done' }
      },
    ],
    { modelId: id, after: 'repeat-last' },
  )
}

function world(
  requestOptions?: RequestOptions,
  store: SessionStore = memoryStore(),
  calls: Call[] = [],
): { readonly server: Server; readonly calls: Call[]; readonly store: SessionStore } {
  const agent = createAgent({
    name: 'desk',
    model: model('own', calls),
    tools: [refund],
    settings: { temperature: 0.1 },
    store,
  })
  // Runs start by requests alone.
  const server = createServer({ agents: [agent], store, concurrency: 0, ...(requestOptions && { requestOptions }) })
  return { server, calls, store }
}

const everything = (calls: Call[]): RequestOptions => ({
  models: { fast: model('fast', calls), thorough: model('thorough', calls) },
  temperature: { min: 0, max: 1 },
  toolChoice: true,
})

describe('the options of a request', () => {
  it.for([
    ['model', { model: 'fast' }],
    ['temperature', { temperature: 0.5 }],
    ['toolChoice', { toolChoice: 'none' }],
  ] as const)('are rejected by default: %s', async ([option, options]) => {
    const { server, calls } = world()
    const response = await ask(server, '/api/agent/execute', { body: { input: 'Hi', options } })
    expect(response.status).toBe(400)
    const { error } = await response.json()
    expect(error).toMatchObject({ code: 'invalid-option', message: expect.stringContaining(option) })
    expect(calls).toEqual([])
  })

  it.for([
    [{ model: 'other' }, 'fast, thorough'],
    [{ model: 'toString' }, 'fast, thorough'],
    [{ temperature: 1.5 }, 'from 0 to 1'],
  ] as const)('are rejected outside of what the server permits: %j', async ([options, hint]) => {
    const { server } = world(everything([]))
    const response = await ask(server, '/api/agent/execute', { body: { input: 'Hi', options } })
    const { error } = await response.json()
    expect([response.status, error.code]).toEqual([400, 'invalid-option'])
    expect(error.hint).toContain(hint)
  })

  it('hold for the run of the request, and not for the next one', async () => {
    const calls: Call[] = []
    const { server } = world(everything(calls), memoryStore(), calls)
    const options = { model: 'fast', temperature: 0.7, toolChoice: 'none' }
    const { id, last } = await executed(server, { input: 'Hi', options })
    expect(last.status).toBe('completed')
    await executed(server, { sessionId: id, input: 'Hi' })
    await executed(server, { sessionId: id, input: 'Hi', options: { temperature: 0 } })
    expect(calls).toEqual([
      ['fast', 0.7, 'none'],
      ['own', 0.1, 'auto'],
      ['own', 0, 'auto'],
    ])
  })

  it('force a call of a tool in the first step only', async () => {
    const calls: Call[] = []
    const { server } = world(everything(calls), memoryStore(), calls)
    const body = { input: 'refund', options: { toolChoice: { tool: 'refund' } } }
    const { id, last } = await executed(server, body)
    const approvals = last.pending.approvals.map((one) => ({ id: one.id, decision: 'approve' }))
    expect((await executed(server, { sessionId: id, approvals })).last.text).toBe('refunded')
    expect(calls.map(([, , choice]) => choice)).toEqual(['refund', 'auto'])
  })

  it('hold when another process resumes the run, if it permits them', async () => {
    for (const [permits, expected] of [
      [true, ['thorough', 0.9, 'none']],
      [false, ['own', 0.1, 'auto']],
    ] as const) {
      const store = memoryStore()
      const first = world(everything([]), store)
      const options = { model: 'thorough', temperature: 0.9, toolChoice: 'none' }
      const { id, last } = await executed(first.server, { input: 'refund', options })
      expect(last.status).toBe('suspended')
      const calls: Call[] = []
      const second = world(permits ? everything(calls) : { temperature: { min: 0, max: 0.5 } }, store, calls)
      const approvals = last.pending.approvals.map((one) => ({ id: one.id, decision: 'approve' }))
      expect((await executed(second.server, { sessionId: id, approvals })).last.text).toBe('refunded')
      expect(calls).toEqual([expected])
    }
  })

  it('leave children and the targets of handoffs their own models', async () => {
    const calls: Call[] = []
    const store = memoryStore()
    const answering = (name: string): Agent => createAgent({ name, model: model(name, calls), store })
    const chosen = scriptedModel([
      { toolCalls: [{ name: 'kid', input: { task: 'x' } }] },
      { toolCalls: [{ name: 'transfer_to_target' }] },
    ])
    const agent = createAgent({
      name: 'desk',
      model: model('own', calls),
      tools: [answering('kid').toTool({ name: 'kid', description: 'A child.' })],
      handoffs: [answering('target')],
      store,
    })
    const requestOptions = { models: { chosen }, temperature: true }
    const server = createServer({ agents: [agent], store, requestOptions })
    const { last } = await executed(server, { input: 'Hi', options: { model: 'chosen', temperature: 0.9 } })
    expect(last).toMatchObject({ status: 'completed', text: 'done' })
    expect(calls.map(([name, temperature]) => [name, temperature])).toEqual([
      ['kid', undefined],
      ['target', undefined],
    ])
  })

  it('hold for a request with an idempotency key', async () => {
    const calls: Call[] = []
    const { server } = world(everything(calls), memoryStore(), calls)
    const { id } = await executed(server, { input: 'Hi' })
    const headers = { 'idempotency-key': 'k1' }
    const body = { sessionId: id, input: 'Again', options: { model: 'fast' } }
    for (let n = 0; n < 2; n++) await (await ask(server, '/api/agent/execute', { body, headers })).text()
    await executed(server, { sessionId: id, input: 'Hi' })
    expect(calls.map(([name]) => name)).toEqual(['own', 'fast', 'own'])
  })

  it.for([
    ['fast first', ['fast', 'own']],
    ['own first', ['own', 'fast']],
  ] as const)('hold for their own input when two requests come at once: %s', async ([, order]) => {
    const calls: Call[] = []
    const { server } = world(everything(calls), memoryStore(), calls)
    const { id } = await executed(server, { input: 'Hi' })
    calls.length = 0
    const requests = order.map(async (name) => {
      const options = name === 'fast' ? { model: 'fast', toolChoice: { tool: 'refund' } } : {}
      const headers = { 'idempotency-key': name }
      const body = { sessionId: id, input: name, options }
      return (await ask(server, '/api/agent/execute', { body, headers })).text()
    })
    await Promise.all(requests)
    expect(calls.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ['fast', 0.1, 'refund'],
      ['own', 0.1, 'auto'],
    ])
  })

  it('stay with an input that no run has taken when its process dies', async () => {
    const store = memoryStore()
    const calls: Call[] = []
    // As if the process died before its run had the lease.
    const dead: SessionStore = { ...store, lease: async () => new Promise(() => {}) }
    const { id } = await executed(world(everything([]), store).server, { input: 'Hi' })
    const first = world(everything([]), dead).server
    const body = { sessionId: id, input: 'Go', options: { model: 'fast', temperature: 0.9 } }
    void ask(first, '/api/agent/execute', { body, headers: { 'idempotency-key': 'k1' } })
    const taken = async (): Promise<number> => {
      let count = 0
      for await (const _ of store.inbox(id)) count++
      return count
    }
    // The key with its body, and the input.
    await expect.poll(taken).toBe(2)
    await executed(world(everything(calls), store, calls).server, { sessionId: id, input: 'Hi' })
    expect(calls).toEqual([
      ['own', 0.1, 'auto'],
      ['fast', 0.9, 'auto'],
    ])
  })

  it('are those of the run for input that is sent to it', async () => {
    const calls: Call[] = []
    const { server } = world(everything(calls), memoryStore(), calls)
    const { id, last } = await executed(server, { input: 'refund', options: { model: 'fast' } })
    await ask(server, `/api/agent/session/${id}/follow-up`, { body: { input: 'And?' } })
    const approvals = last.pending.approvals.map((one) => ({ id: one.id, decision: 'approve' }))
    await executed(server, { sessionId: id, approvals })
    expect(calls.map(([name]) => name)).toEqual(['fast', 'fast', 'fast'])
  })
})
