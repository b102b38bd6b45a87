import { createAgent } from '@provost/agent'
import type { Principal } from '@provost/core'
import type { Action, ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, serverOf } from '../served.ts'
import { asked, decide, operator, outcome, refusal, yes } from './approval-scenario.ts'

describe('authorize', () => {
  test('receives the kind, the tool, its effect, its arguments and the requester', async () => {
    const actions: Action[] = []
    const authorize = (_: Principal, action: Action): boolean => actions.push(action) > 0
    const { server, id, approval } = await asked({ authorize, approvals: { by: 'operator' }, operator })
    await decide(server, id, 'olga', yes(approval.id))
    await outcome(server, id)
    expect(actions.map(({ kind }) => kind)).toEqual(['run', 'approve', 'read', 'read'])
    expect(actions[1]).toEqual({
      ...{
        kind: 'approve',
        decision: 'approve',
        sessionId: id,
        requester: { id: 'ann' },
        via: 'http',
        id: approval.id,
      },
      ...{ callId: approval.callId, agent: 'desk', toolName: 'refund', effect: 'write', input: { amount: 80 } },
    })
  })

  test('distinguishes answers from tool results', async () => {
    const store = memoryStore()
    const question = tool({
      name: 'question',
      composite: true,
      input: z.object({}),
      execute: (_, ctx) => ctx.wait('w', { message: 'How many?' }),
    })
    const remote = tool({ name: 'remote', effect: 'read', input: z.object({ n: z.number() }) })
    const model = scriptedModel([
      {
        toolCalls: [
          { name: 'question', input: {} },
          { name: 'remote', input: { n: 1 } },
        ],
      },
      { text: 'done' },
    ])
    const agent = createAgent({ name: 'desk', model, tools: [question, remote], store })
    const actions: Action[] = []
    const authorize = (_: Principal, action: Action): boolean => {
      actions.push(action)
      return action.kind !== 'answer'
    }
    const server = serverOf([], { agents: [agent], store, authorize })
    const { id, last } = await executed(server, { input: 'go' })
    const { inputs, remoteCalls } = last.pending
    const answer = { inputs: [{ id: inputs[0]?.id, value: 2 }] }
    expect(await refusal(await decide(server, id, 'ann', answer))).toEqual({ status: 403, code: 'forbidden' })
    const results = { toolResults: [{ callId: remoteCalls[0]?.callId, output: 1 }] }
    expect((await ask(server, `/api/agent/session/${id}/tool-results`, { body: results })).status).toBe(202)
    expect(actions.slice(1)).toMatchObject([
      { kind: 'answer', toolName: 'question', input: null },
      { kind: 'tool-result', toolName: 'remote', effect: 'read', input: { n: 1 } },
    ])
  })
})

describe('a session of another principal', () => {
  const paths = ['', '/events', '/export']

  test.each<[string, ServerOptions['authorize'], string, number]>([
    ['can be read by an operator if authorize permits it', (_, { kind }) => kind !== 'waits', 'olga', 200],
    ['cannot be read by an operator if authorize rejects it', ({ id }) => id === 'ann', 'olga', 403],
    ['cannot be read by an operator without authorize', undefined, 'olga', 404],
    ['cannot be read by other principals', () => true, 'bob', 404],
  ])('%s', async (_, authorize, as, status) => {
    const { server, id } = await asked({ operator, ...(authorize && { authorize }) })
    for (const path of paths) {
      const response = await ask(server, `/api/agent/session/${id}${path}`, { as })
      expect(response.status).toBe(status)
      await response.body?.cancel()
    }
    expect((await ask(server, `/api/agent/session/${id}`, { as, method: 'DELETE' })).status).toBe(404)
    expect((await ask(server, `/api/agent/session/${id}/steer`, { as, body: { input: 'x' } })).status).toBe(404)
  })

  test.each([
    ['decide', 200],
    ['view', 404],
  ] as const)('with the role %s and without authorize answers %i, as the console does', async (role, status) => {
    const { server, id } = await asked({ operator: ({ id: name }) => (name === 'olga' ? role : undefined) })
    expect((await ask(server, `/api/agent/session/${id}`, { as: 'olga' })).status).toBe(status)
  })

  test.each([
    ['operate', 202, 'idle'],
    ['decide', 404, 'suspended'],
  ] as const)('its run: an abort with the role %s answers %i', async (role, status, after) => {
    const { server, id } = await asked({ operator: ({ id: name }) => (name === 'olga' ? role : undefined) })
    expect((await ask(server, `/api/agent/session/${id}/abort`, { as: 'olga', body: {} })).status).toBe(status)
    const state = async (): Promise<string> => (await (await ask(server, `/api/agent/session/${id}`)).json()).status
    await expect.poll(state).toBe(after)
  })
})
