import { createAgent } from '@provost/agent'
import type { Json, Principal } from '@provost/core'
import { defineExtension } from '@provost/core'
import type { ApprovalQuestion, Server, ServerOptions } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, deskOf, executed, serverOf } from '../served.ts'
import { asked, call, decide, no, operator, outcome, pendingIn, refusal, steps, yes } from './approval-scenario.ts'

describe('a server with authenticate', () => {
  const authenticate = (): Principal => ({ id: 'ann' })
  const store = memoryStore()
  const model = scriptedModel([])
  const asking = deskOf([], store)
  const unset = (agents: ServerOptions['agents']) => (): Server => createServer({ agents, store, authenticate })

  test.each<[string, ServerOptions['agents']]>([
    ['a tool', [asking]],
    ['a tool of a second agent', [createAgent({ name: 'plain', model }), asking]],
    [
      'an agent that is a tool',
      [createAgent({ name: 'a', model, tools: [asking.toTool({ name: 'b', description: '' })] })],
    ],
    ['the target of a handoff', [createAgent({ name: 'a', model, handoffs: () => [asking] })]],
    [
      'an extension',
      [
        createAgent({
          name: 'a',
          model,
          extensions: [defineExtension({ name: 'p', hooks: { 'tool.call': () => {} } })],
        }),
      ],
    ],
  ])('does not start if %s can ask for an approval and approvals is not set', (_, agents) => {
    expect(unset(agents)).toThrow(
      expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining('can ask for an approval') }),
    )
  })

  test('starts if nothing can ask for an approval, or approvals is set; without authenticate it always starts', async () => {
    const quiet = defineExtension({ name: 'quiet', asks: false, hooks: { 'tool.call': () => {} } })
    const servers = [
      unset([createAgent({ name: 'a', model, extensions: [quiet] })])(),
      createServer({ agents: [asking], store, authenticate, approvals: { by: 'operator' } }),
      createServer({ agents: [asking], store }),
    ]
    expect(servers.map(({ authenticated }) => authenticated)).toEqual([true, true, false])
    for (const server of servers) await server.close()
  })

  test.each<unknown>([
    {},
    { by: 'ann' },
    { by: 'requester', mayEdit: 'yes' },
    { by: 'requester', peers: 1 },
    null,
    'requester',
  ])('refuses approvals: %j', (approvals) => {
    const options: unknown = { agents: [asking], store, authenticate, approvals }
    expect(() => createServer(options as ServerOptions)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  })

  test('rejects the decision on an approval that a hidden child agent asks for', async () => {
    const own = memoryStore()
    const child = deskOf(steps, own)
    const secretly = tool({
      name: 'secretly',
      composite: true,
      input: z.object({}),
      execute: async (_, ctx) => (await ctx.spawn(child, 'refund', { key: 'c' })).text,
    })
    const agent = createAgent({
      name: 'top',
      model: scriptedModel([{ toolCalls: [{ name: 'secretly', input: {} }] }]),
      tools: [secretly],
      store: own,
    })
    const server = createServer({ agents: [agent], store: own, authenticate })
    const { id, last } = await executed(server, { input: 'go' })
    const wait = last.pending.approvals[0]?.id ?? ''
    expect(await refusal(await decide(server, id, 'ann', yes(wait)))).toEqual({ status: 403, code: 'approvals-unset' })
    expect(await refusal(await ask(server, '/api/agent/execute', { body: { sessionId: id, ...yes(wait) } }))).toEqual({
      status: 403,
      code: 'approvals-unset',
    })
    expect((await pendingIn(server, id)).approvals).toHaveLength(1)
  })
})

describe('approvals', () => {
  test("by 'requester': only the principal of the session decides", async () => {
    const { server, id, approval } = await asked({ approvals: { by: 'requester' } })
    expect(await refusal(await decide(server, id, 'bob', yes(approval.id)))).toEqual({
      status: 404,
      code: 'unknown-session',
    })
    expect((await decide(server, id, 'ann', yes(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).toContain('refunded 80')
  })

  test("by 'operator': the requester cannot approve on any route, and can deny", async () => {
    const { server, id, approval } = await asked({ approvals: { by: 'operator' }, operator })
    const refused = { status: 403, code: 'not-approver' }
    expect(await refusal(await decide(server, id, 'ann', yes(approval.id)))).toEqual(refused)
    expect(
      await refusal(await ask(server, '/api/agent/execute', { body: { sessionId: id, ...yes(approval.id) } })),
    ).toEqual(refused)
    const mixed = {
      approvals: [
        { id: approval.id, decision: 'deny' },
        { id: approval.id, decision: 'approve' },
      ],
    }
    expect(await refusal(await decide(server, id, 'ann', mixed))).toEqual(refused)
    expect((await pendingIn(server, id)).approvals).toHaveLength(1)
    expect(await refusal(await decide(server, id, 'bob', yes(approval.id)))).toEqual({
      status: 404,
      code: 'unknown-session',
    })
    expect((await decide(server, id, 'ann', no(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).not.toContain('refunded')
  })

  test("by 'operator': the operator decides in the session of another principal, and the run resumes", async () => {
    const { server, id, approval } = await asked({ approvals: { by: 'operator' }, operator })
    expect((await decide(server, id, 'olga', yes(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).toContain('refunded 80')
    const events = await (await ask(server, `/api/agent/session/${id}/events`)).text()
    expect(events).toMatch(/"decision":"approve","by":"olga"/u)
    expect(await refusal(await decide(server, id, 'olga', no(approval.id)))).toEqual({
      status: 409,
      code: 'already-decided',
    })
  })

  test('by a function: it receives the question and decides for each principal; for the rejected ones the session is unknown', async () => {
    const seen: ApprovalQuestion[] = []
    const by = ({ id }: Principal, question: ApprovalQuestion): boolean => {
      seen.push(question)
      return id === 'max' && question.requester?.id !== id
    }
    const { server, id, approval } = await asked({ approvals: { by } })
    expect(await refusal(await decide(server, id, 'ann', yes(approval.id)))).toEqual({
      status: 403,
      code: 'not-approver',
    })
    for (const body of [yes(approval.id), yes('1'), { inputs: [{ id: 'x', value: 1 }] }]) {
      expect(await refusal(await decide(server, id, 'bob', body))).toEqual({ status: 404, code: 'unknown-session' })
    }
    expect((await decide(server, id, 'max', yes(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).toContain('refunded 80')
    expect(seen).toHaveLength(3)
    expect(seen[0]).toMatchObject({
      ...{ kind: 'approval', via: 'http', sessionId: id, requester: { id: 'ann' }, toolName: 'refund' },
      ...{ effect: 'write', input: { amount: 80 }, definitionHash: approval.definitionHash },
    })
  })

  test('by a function that throws or does not return true: the approval stays pending', async () => {
    const answers: (() => boolean)[] = [
      () => {
        throw new Error('no directory')
      },
      () => 'yes' as unknown as boolean,
    ]
    for (const by of answers) {
      const { server, id, approval } = await asked({ approvals: { by }, onError: () => {} })
      expect((await decide(server, id, 'ann', yes(approval.id))).status).toBeGreaterThanOrEqual(403)
      expect((await pendingIn(server, id)).approvals).toHaveLength(1)
    }
  })

  test('for an unknown wait are rejected, and do not apply to a later wait', async () => {
    const { server, id, approval } = await asked({ approvals: { by: 'requester' } }, [call, call, { text: 'done' }])
    const next = approval.id.replace('/1/call/', '/2/call/')
    expect(await refusal(await decide(server, id, 'ann', yes(next)))).toEqual({ status: 404, code: 'unknown-wait' })
    await decide(server, id, 'ann', yes(approval.id))
    await outcome(server, id)
    expect((await pendingIn(server, id)).approvals).toHaveLength(1)
  })

  test('for a handoff that a hook asks about follow the same rule', async () => {
    const store = memoryStore()
    const child = createAgent({ name: 'child', model: scriptedModel([{ text: 'hi' }]), store })
    const gate = defineExtension({ name: 'gate', hooks: { handoff: () => ({ ask: { reason: 'really?' } }) } })
    const agent = createAgent({
      name: 'desk',
      model: scriptedModel([{ toolCalls: [{ name: 'child', input: { task: 'x' } }] }, { text: 'done' }]),
      tools: [child.toTool({ name: 'child', description: 'x' })],
      extensions: [gate],
      store,
    })
    const server = serverOf([], { agents: [agent], store, approvals: { by: 'operator' }, operator })
    const { id, last } = await executed(server, { input: 'go' })
    const body = { inputs: [{ id: last.pending.inputs[0]?.id, value: { decision: 'approve' } }] }
    expect(await refusal(await decide(server, id, 'ann', body))).toEqual({ status: 403, code: 'not-approver' })
    expect((await decide(server, id, 'olga', body)).status).toBe(202)
  })
})

describe('arguments that an approver edits', () => {
  const edit = (id: string): object => yes(id, { args: { amount: 70 } })

  test('need a second approval', async () => {
    const seen: Json[] = []
    const by = (_: Principal, { input, args }: ApprovalQuestion): boolean => {
      seen.push({ input, ...(args !== undefined && { args }) })
      return true
    }
    const { server, id, approval } = await asked({ approvals: { by } })
    expect((await decide(server, id, 'ann', edit(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).not.toContain('refunded')
    const [again] = (await pendingIn(server, id)).approvals
    expect(again).toMatchObject({
      input: { amount: 70 },
      reason: expect.stringContaining('the arguments were changed'),
    })
    await decide(server, id, 'ann', yes(again?.id ?? ''))
    expect(await outcome(server, id)).toContain('refunded 70')
    expect(seen).toEqual([{ input: { amount: 80 }, args: { amount: 70 } }, { input: { amount: 70 } }])
  })

  test.each<[string, NonNullable<ServerOptions['approvals']>['mayEdit']]>([
    ['always', true],
    ['by a rule', (_, { args }) => JSON.stringify(args) === '{"amount":70}'],
  ])('run at once if mayEdit permits it %s', async (_, mayEdit = false) => {
    const { server, id, approval } = await asked({ approvals: { by: 'requester', mayEdit } })
    await decide(server, id, 'ann', edit(approval.id))
    expect(await outcome(server, id)).toContain('refunded 70')
  })

  test('run at once if they equal the original ones', async () => {
    const { server, id, approval } = await asked({ approvals: { by: 'requester' } })
    await decide(server, id, 'ann', yes(approval.id, { args: { amount: 80 } }))
    expect(await outcome(server, id)).toContain('refunded 80')
  })
})

describe('A2A peers', () => {
  async function a2a(server: Server, said: object, taskId?: string): Promise<Record<string, Json>> {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [said], ...(taskId && { taskId }) }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
    return (await ask(server, '/a2a/desk', { body, headers: { 'a2a-version': '1.0' } })).json()
  }
  async function taskOf(server: Server): Promise<string> {
    const { result } = z
      .looseObject({ result: z.looseObject({ task: z.looseObject({ id: z.string() }) }) })
      .parse(await a2a(server, { text: 'refund 80' }))
    return result.task.id
  }

  test.each<[string, NonNullable<ServerOptions['approvals']>]>([
    ['the requester', { by: 'requester' }],
    ['the operator', { by: 'operator' }],
    ['a rule that does not look', { by: () => true }],
  ])('cannot approve their own calls if %s approves', async (_, approvals) => {
    const server = serverOf(steps, { approvals, operator: () => true })
    const task = await taskOf(server)
    expect(JSON.stringify(await a2a(server, { text: 'approve' }, task))).toContain('not accept approvals over A2A')
    expect(JSON.stringify(await a2a(server, { text: 'deny' }, task))).toContain('TASK_STATE_COMPLETED')
  })

  test('cannot approve their own calls without authenticate', async () => {
    const store = memoryStore()
    const server = createServer({ agents: [deskOf(steps, store)], store })
    const task = await taskOf(server)
    expect(JSON.stringify(await a2a(server, { text: 'approve' }, task))).toContain('not accept approvals over A2A')
  })

  test('can approve with peers: true, and the rule receives via: "a2a"', async () => {
    const vias: string[] = []
    const by = (_: Principal, { via }: ApprovalQuestion): boolean => vias.push(via) > 0
    const server = serverOf(steps, { approvals: { by, peers: true } })
    expect(JSON.stringify(await a2a(server, { text: 'approve' }, await taskOf(server)))).toContain('done')
    expect(vias).toEqual(['a2a'])
  })

  test('receive questions with invisible characters escaped', async () => {
    const pay = tool({
      name: 'pay',
      needsApproval: () => ({ reason: 'pay\u202e ann\u001b[2J' }),
      input: z.object({ to: z.string() }),
      execute: () => 'paid',
    })
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { to: 'a\u200bb' } }] }])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, tools: [pay], store })], store })
    const said = JSON.stringify(await a2a(server, { text: 'pay' }))
    expect(said).toContain(String.raw`pay waits for approval: pay\\u202e ann\\u001b[2J. Warning: /to`)
  })
})
