import { createAgent } from '@provost/agent'
import type { Json, PendingApproval, PendingWork, Principal, SessionStore, Tool } from '@provost/core'
import { defineExtension } from '@provost/core'
import type { Action, ApprovalQuestion, Server, ServerOptions, WaitRow } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, deskOf, executed, refund, serverOf } from '../served.ts'

const call = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
const steps = [call, { text: 'done' }]
const operator = ({ id }: Principal): boolean => id === 'olga'

async function refusal(response: Response): Promise<{ status: number; code: string }> {
  const { error } = await response.json()
  return { status: response.status, code: error.code }
}

async function pendingIn(server: Server, id: string, as = 'ann'): Promise<PendingWork> {
  return (await (await ask(server, `/api/agent/session/${id}`, { as })).json()).pending
}

/** A session of Ann with a pending approval for a refund. */
async function asked(
  options: Partial<ServerOptions>,
  script: readonly ScriptedEntry[] = steps,
): Promise<{ server: Server; id: string; approval: PendingApproval }> {
  const store = options.store ?? memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([...script]), tools: [refund], store })
  const server = serverOf([], { agents: [agent], ...options, store })
  const { id, last } = await executed(server, { input: 'refund 80' })
  const [approval] = last.pending.approvals
  if (!approval) throw new Error('nothing is asked')
  return { server, id, approval }
}

function decide(server: Server, id: string, as: string, body: unknown): Promise<Response> {
  return ask(server, `/api/agent/session/${id}/approvals`, { as, body })
}

const yes = (id: string, more: object = {}): object => ({ approvals: [{ id, decision: 'approve', ...more }] })
const no = (id: string): object => ({ approvals: [{ id, decision: 'deny' }] })

/** The messages of a session once it is idle. */
async function outcome(server: Server, id: string, as = 'ann'): Promise<string> {
  await (await ask(server, `/api/agent/session/${id}/events`, { as })).text()
  return JSON.stringify((await (await ask(server, `/api/agent/session/${id}`, { as })).json()).messages)
}

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

describe('GET /api/waits', () => {
  async function inbox(server: Server, query = '', as = 'olga'): Promise<{ waits: readonly WaitRow[]; next?: string }> {
    const response = await ask(server, `/api/waits${query}`, { as })
    if (response.status !== 200) throw new Error(await response.text())
    return response.json()
  }

  async function whole(server: Server, limit: number): Promise<{ rows: readonly WaitRow[]; sizes: readonly number[] }> {
    const rows: WaitRow[] = []
    const sizes: number[] = []
    let after: string | undefined
    do {
      const page = await inbox(server, `?limit=${limit}${after === undefined ? '' : `&after=${after}`}`)
      rows.push(...page.waits)
      sizes.push(page.waits.length)
      after = page.next
    } while (after !== undefined && sizes.length < 100)
    return { rows, sizes }
  }

  test('is available to operators only', async () => {
    const { server } = await asked({ operator })
    expect(await refusal(await ask(server, '/api/waits'))).toEqual({ status: 403, code: 'not-operator' })
    expect(await refusal(await ask(serverOf([]), '/api/waits'))).toEqual({ status: 403, code: 'not-operator' })
    expect(await refusal(await ask(server, '/api/waits?after=x', { as: 'olga' }))).toEqual({
      status: 400,
      code: 'invalid-request',
    })
  })

  test('lists the pending waits of all sessions with their evidence, and the operator decides on them', async () => {
    const { server, id, approval } = await asked({ operator, approvals: { by: 'operator' } })
    const { waits, next } = await inbox(server)
    expect(waits).toEqual([
      {
        ...{ kind: 'approval', sessionId: id, agent: 'desk', requester: 'ann', updatedAt: expect.any(Number) },
        ...{ text: 'refund (write): refund needs approval. Input: {"amount":80}', wait: approval },
      },
    ])
    expect(next).toBeUndefined()
    expect((await decide(server, id, 'olga', yes(approval.id))).status).toBe(202)
    expect(await outcome(server, id)).toContain('refunded 80')
    expect(await inbox(server)).toEqual({ waits: [] })
  })

  test.each<[string, () => SessionStore]>([
    ['memory', memoryStore],
    ['SQLite', () => sqliteStore(':memory:')],
  ])('returns each wait once over all pages, and reads no more logs a page than the limit (%s)', async (_, open) => {
    const inner = open()
    let reads = 0
    const store: SessionStore = {
      ...inner,
      read(log, after) {
        reads++
        return inner.read(log, after)
      },
    }
    const three = { toolCalls: [1, 2, 3].map((n) => ({ name: 'refund', input: { amount: 80 + n } })) }
    const model = scriptedModel([call, three, three, call, three], { after: 'repeat-last' })
    const server = serverOf([], {
      agents: [createAgent({ name: 'desk', model, tools: [refund], store })],
      store,
      operator,
    })
    for (const as of ['ann', 'bob', 'ann', 'cid', 'bob']) await executed(server, { input: 'x' }, as)
    for (const limit of [1, 2, 3, 4, 50]) {
      const { rows, sizes } = await whole(server, limit)
      expect(rows).toHaveLength(11)
      expect(new Set(rows.map(({ wait }) => wait?.id)).size).toBe(11)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
    }
    reads = 0
    await inbox(server, '?limit=2')
    expect(reads).toBeLessThanOrEqual(2)
    await server.close()
    await inner.close()
  })

  test('lists the pending approval of an active run', async () => {
    const started = Promise.withResolvers<void>()
    const slow = tool({
      name: 'slow',
      effect: 'read',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          started.resolve()
          signal.addEventListener('abort', () => resolve('over'))
        }),
    })
    const tools: readonly Tool<never, unknown, unknown>[] = [refund, slow]
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [...call.toolCalls, { name: 'slow', input: {} }] }])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, tools, store })], store, operator })
    const response = await ask(server, '/api/agent/execute', { body: { input: 'go' } })
    await started.promise
    expect((await inbox(server)).waits).toMatchObject([{ kind: 'approval', wait: { toolName: 'refund' } }])
    await ask(server, `/api/agent/session/${response.headers.get('x-session-id')}/abort`, { body: {} })
    await response.text()
    await server.close({ graceMs: 0 })
  })

  test('omits waits that authorize does not permit the operator to decide', async () => {
    const seen: Action[] = []
    const authorize = (principal: Principal, action: Action): boolean => {
      if (principal.id === 'olga') seen.push(action)
      return !('requester' in action) || action.requester?.id !== 'ann' || principal.id === 'ann'
    }
    const { server } = await asked({ operator, authorize })
    expect(await inbox(server)).toEqual({ waits: [] })
    expect(seen).toMatchObject([
      { kind: 'waits' },
      { kind: 'approve', toolName: 'refund', effect: 'write', input: { amount: 80 }, requester: { id: 'ann' } },
    ])
  })

  test('warns about invisible characters in a question', async () => {
    const note = tool({
      name: 'note',
      needsApproval: true,
      input: z.object({ text: z.string() }),
      execute: () => 'noted',
    })
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [{ name: 'note', input: { text: 'a\u202eb\n' } }] }])
    const agent = createAgent({ name: 'desk', model, tools: [note], store })
    const server = serverOf([], { agents: [agent], store, operator })
    await executed(server, { input: 'go' })
    const [row] = (await inbox(server)).waits
    expect(row?.text).toContain(String.raw`Warning: /text holds characters that are not visible: "a\u202eb\n"`)
    expect(row?.text).not.toMatch(/[\u202e\n]/u)
    expect(row?.wait).toMatchObject({ input: { text: 'a\u202eb\n' } })
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
})
