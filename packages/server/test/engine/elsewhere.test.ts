import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Label, SessionStore } from '@provost/core'
import { defineExtension, systemClock } from '@provost/core'
import { exportSession, importSession, pruneSessions } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import {
  agentOf,
  begin,
  callIn,
  callsOnce,
  childOf,
  childrenOf,
  endOf,
  entriesOf,
  fileStore,
  grant,
  questionOf,
  restOf,
  sharedStore,
  without,
  workerOf,
} from './elsewhere-scenario.ts'

/** An agent that asks a clerk, which may run on any worker. */
function leadOf(store: SessionStore, clerk: Agent, more: Parameters<typeof agentOf>[3] = {}): Agent {
  const askClerk = clerk.toTool({ name: 'ask_clerk', description: 'Asks.', where: 'any', grant })
  return agentOf('lead', store, callsOnce('ask_clerk', { task: 'Where is it?' }), { ...more, tools: [askClerk] })
}

/** A clerk that pays, after an approval. */
function payingClerk(store: SessionStore, paid: string[] = []): Agent {
  const pay = tool({
    name: 'pay',
    effect: 'write',
    needsApproval: true,
    input: z.object({}),
    execute: (_, { idempotencyKey }) => {
      paid.push(idempotencyKey)
      return 'paid'
    },
  })
  return agentOf('clerk', store, callsOnce('pay', {}), { tools: [pay] })
}

const approve = { decision: 'approve' }

test('a child runs as a session of its own, while its parent rests', async () => {
  const store = fileStore()
  const gate = Promise.withResolvers<void>()
  const look = tool({
    name: 'look',
    effect: 'read',
    input: z.object({}),
    execute: () => gate.promise.then(() => 'shelf 7'),
  })
  const clerk = agentOf('clerk', store, callsOnce('look', {}), { tools: [look] })
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  for (let n = 0; n < 2; n++) workerOf(store, [lead, clerk])
  const child = await childOf(store)
  expect(child).toMatchObject({ where: 'any', agent: 'clerk', grant })
  await restOf(store, 's', 'suspended')
  await expect.poll(async () => (await store.leaseState(child.log)).holder).toBe('alive')
  gate.resolve()
  expect(await endOf(store)).toMatchObject({ status: 'completed', output: expect.stringContaining('shelf 7') })
  const listed: string[] = []
  for await (const { id, agent, principal } of store.list()) listed.push(`${id} ${agent} ${principal}`)
  expect(listed).toEqual(['s lead ann', `${child.log} clerk ann`])
})

test('the session of a child says what it has of its parent', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  await endOf(store)
  const { log, callId } = await childOf(store)
  const [created] = await entriesOf(store, log)
  const run = (await entriesOf(store, 's')).find(({ type }) => type === 'run')
  expect(created).toMatchObject({
    type: 'ext',
    data: {
      agent: 'clerk',
      principal: { id: 'ann' },
      part: { parent: 's', runId: callId, parents: [run?.runId], levels: [{ agent: 'lead' }], grant },
    },
  })
})

test.for(['parent', 'child'] as const)(
  'an approval in a child is listed at both, and answered at the %s',
  async (at) => {
    const store = fileStore()
    const paid: string[] = []
    const clerk = payingClerk(store, paid)
    const lead = leadOf(store, clerk)
    await begin(store, lead)
    workerOf(store, [lead, clerk])
    const { log } = await childOf(store)
    const token = await questionOf(store, 's')
    expect(await questionOf(store, log)).toBe(token)
    const session = await lead.resumeSession('s', { agents: [lead, clerk] })
    expect(session.pending.approvals).toMatchObject([{ id: token, toolName: 'pay', agent: 'clerk' }])
    await session.close()
    await restOf(store, 's', 'suspended')
    await store.deliver(at === 'parent' ? 's' : log, token, approve, 'boss')
    expect(await endOf(store)).toMatchObject({ status: 'completed', output: expect.stringContaining('paid') })
    expect(paid).toHaveLength(1)
    const closed = (await entriesOf(store, 's')).filter((entry) => entry.type === 'resolved' && entry.token === token)
    expect(closed).toMatchObject([{ value: approve, by: 'boss' }])
  },
)

test('of two answers, at the parent and at the child, the effect follows one', async () => {
  const store = sharedStore()
  const paid: string[] = []
  const clerk = payingClerk(store, paid)
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  const { log } = await childOf(store)
  const token = await questionOf(store, 's')
  await Promise.all([
    store.deliver('s', token, approve, 'boss'),
    store.deliver(log, token, { decision: 'deny' }, 'other boss'),
  ])
  expect(await endOf(store)).toMatchObject({ status: 'completed' })
  const decided = (await entriesOf(store, log)).filter((entry) => entry.type === 'resolved' && entry.token === token)
  expect(decided).toHaveLength(1)
  const isApproved = decided.some((entry) => entry.type === 'resolved' && entry.by === 'boss')
  expect(paid).toHaveLength(isApproved ? 1 : 0)
})

test.for(['waits', 'works'] as const)('an abort of the parent aborts a child that %s', async (state) => {
  const store = sharedStore()
  const paid: string[] = []
  const endless = tool({
    name: 'pay',
    effect: 'write',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const clerk =
    state === 'waits' ? payingClerk(store, paid) : agentOf('clerk', store, callsOnce('pay', {}), { tools: [endless] })
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  const { log } = await childOf(store)
  await (state === 'waits' ? questionOf(store, 's') : callIn(store, log))
  await restOf(store, 's', 'suspended')
  const run = (await entriesOf(store, 's')).find(({ type }) => type === 'run')
  await store.deliver('s', 'abort/1', { runId: run?.runId ?? '', options: { graceMs: 0 } }, 'ann')
  expect(await endOf(store)).toMatchObject({ status: 'aborted' })
  expect(await endOf(store, log)).toMatchObject({ status: 'aborted' })
  expect(paid).toEqual([])
})

test('an abort that holds what waits keeps a child elsewhere that asks', async () => {
  const store = sharedStore()
  const paid: string[] = []
  const clerk = payingClerk(store, paid)
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  const token = await questionOf(store, 's')
  await restOf(store, 's', 'suspended')
  const run = (await entriesOf(store, 's')).find(({ type }) => type === 'run')
  const hold = { runId: run?.runId ?? '', options: { onPendingApprovals: 'hold' } }
  await store.deliver('s', 'abort/1', hold, 'ann')
  await expect
    .poll(async () =>
      (await entriesOf(store, 's')).some((entry) => entry.type === 'resolved' && entry.token === 'abort/1'),
    )
    .toBe(true)
  await restOf(store, 's', 'suspended')
  await store.deliver('s', token, approve, 'boss')
  expect(await endOf(store)).toMatchObject({ status: 'completed', output: expect.stringContaining('paid') })
  expect(paid).toHaveLength(1)
})

test('an abort of the parent reaches a child that no process has begun', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Never said.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(without(store, ['clerk']), [lead, clerk])
  const { log } = await childOf(store)
  await restOf(store, 's', 'suspended')
  const run = (await entriesOf(store, 's')).find(({ type }) => type === 'run')
  await store.deliver('s', 'abort/1', { runId: run?.runId ?? '', options: {} }, 'ann')
  expect(await endOf(store)).toMatchObject({ status: 'aborted' })
  expect((await entriesOf(store, log)).map(({ type }) => type)).toEqual(['ext'])
  workerOf(store, [lead, clerk])
  expect(await endOf(store, log)).toMatchObject({ status: 'aborted' })
  expect((await entriesOf(store, log)).filter(({ type }) => type === 'attempt')).toEqual([])
})

const secretLabel: Label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['vault'] }

test('what a child returns carries the labels of all that it read, and its input those of its parent', async () => {
  const store = sharedStore()
  const read = (name: string) =>
    tool({
      name,
      effect: 'read',
      input: z.object({}),
      returns: { ...secretLabel, sources: [name] },
      execute: () => name,
    })
  const clerk = agentOf('clerk', store, callsOnce('vault', {}), { tools: [read('vault')] })
  const lead = agentOf(
    'lead',
    store,
    [
      ({ messages }) => {
        const done = messages.filter(({ role }) => role === 'tool').length
        const calls = [
          { name: 'mail', input: {} },
          { name: 'ask_clerk', input: { task: 'Which?' } },
        ][done]
        return calls ? { toolCalls: [calls] } : { text: 'Done.' }
      },
    ],
    { tools: [read('mail'), clerk.toTool({ name: 'ask_clerk', description: 'Asks.', where: 'any', grant })] },
  )
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  await endOf(store)
  const entries = await entriesOf(store, 's')
  const { log, label } = await childOf(store)
  expect(label).toMatchObject({
    integrity: 'untrusted',
    confidentiality: 'secret',
    sources: expect.arrayContaining(['mail']),
  })
  const input = (await entriesOf(store, log)).find((entry) => entry.type === 'message' && entry.via === 'input')
  expect(input).toMatchObject({
    message: { label: { confidentiality: 'secret', sources: expect.arrayContaining(['mail']) } },
  })
  const all = { confidentiality: 'secret', sources: expect.arrayContaining(['mail', 'vault']) }
  expect(entries.findLast((entry) => entry.type === 'child')).toMatchObject({ op: 'joined', label: all })
  expect(entries.findLast((entry) => entry.type === 'call' && entry.op === 'settled')).toMatchObject({ label: all })
})

test('a child uses a secret that its parent lends, and no log, letter or result contains it', async () => {
  const store = sharedStore()
  const value = 'sesame-open-4711'
  process.env['ELSEWHERE_KEY'] = value
  const seen: string[] = []
  const open = tool({
    name: 'open',
    effect: 'read',
    secrets: ['KEY'],
    input: z.object({}),
    execute(_, { secrets }) {
      seen.push(secrets.KEY)
      return `opened with ${value}`
    },
  })
  const clerk = agentOf('clerk', store, callsOnce('open', {}), { tools: [open] })
  const lead = agentOf('lead', store, callsOnce('ask_clerk', { task: 'Open it.' }), {
    secrets: { KEY: secretRef('env:ELSEWHERE_KEY') },
    tools: [clerk.toTool({ name: 'ask_clerk', description: 'Asks.', where: 'any', grant, inheritSecrets: ['KEY'] })],
  })
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  expect(await endOf(store)).toMatchObject({ status: 'completed', output: expect.stringContaining('opened') })
  const { log } = await childOf(store)
  expect(seen).toEqual([value])
  const inboxes: unknown[] = []
  for (const id of ['s', log]) for await (const delivery of store.inbox(id)) inboxes.push(delivery)
  expect(JSON.stringify([await entriesOf(store, 's'), await entriesOf(store, log), inboxes])).not.toContain(value)
})

test('a child gets no more than its parent has left, and stops at its grant', async () => {
  const store = sharedStore()
  const idle = tool({ name: 'idle', effect: 'read', input: z.object({}), execute: () => 'idle' })
  const busy = agentOf('busy', store, [{ toolCalls: [{ name: 'idle', input: {} }] }], { tools: [idle] })
  const helper = agentOf('helper', store, callsOnce('ask_busy', { task: 'Go on.' }), {
    tools: [busy.toTool({ name: 'ask_busy', description: 'Asks.', where: 'any', grant: { toolCalls: 50 } })],
  })
  const lead = agentOf('lead', store, callsOnce('ask_helper', { task: 'Go on.' }), {
    tools: [helper.toTool({ name: 'ask_helper', description: 'Asks.', where: 'any', grant: { toolCalls: 4 } })],
  })
  await begin(store, lead)
  workerOf(store, [lead, helper, busy])
  expect(await endOf(store)).toMatchObject({ status: 'completed' })
  const below = await childOf(store)
  const lowest = await childOf(store, below.log)
  expect([below.grant, lowest.grant]).toEqual([{ toolCalls: 4 }, { toolCalls: 3 }])
  expect(await endOf(store, lowest.log)).toMatchObject({ status: 'failed', error: { code: 'budget-exceeded' } })
  const ran = (await entriesOf(store, lowest.log)).filter((entry) => entry.type === 'call' && entry.op === 'started')
  expect(ran).toHaveLength(3)
  const joined = (await entriesOf(store, 's')).filter((entry) => entry.type === 'child' && entry.op === 'joined')
  expect(joined).toMatchObject([{ status: 'completed', toolCalls: 4 }])
})

test('a policy of the parent that is portable governs the child, and knows what the human said', async () => {
  const store = sharedStore()
  const known: string[] = []
  const guard = defineExtension({
    name: 'guard',
    scope: 'tree',
    portable: true,
    hooks: {
      'tool.call'(call, ctx) {
        if (call.tool.name !== 'pay') return undefined
        known.push(...ctx.intent.map(({ content }) => JSON.stringify(content)), `${ctx.run.parents.length}`)
        return { deny: 'not here' }
      },
    },
  })
  const paid: string[] = []
  const clerk = payingClerk(store, paid)
  const lead = leadOf(store, clerk, { extensions: [guard] })
  await begin(store, lead, 's', 'Pay bill 17.')
  workerOf(store, [lead, clerk])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('not here') })
  expect(known).toEqual([expect.stringContaining('Pay bill 17.'), '1'])
  expect(paid).toEqual([])
})

const bound = defineExtension({ name: 'bound', scope: 'tree', hooks: { 'tool.call': () => undefined } })

test('a child does not run elsewhere under a policy that needs the process of its parent', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk, { extensions: [bound] })
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('cannot run on another worker: bound') })
  expect(await childrenOf(store)).toEqual([])
})

test('a child does not run elsewhere if its own agent is not served', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  const first = workerOf(store, [lead])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('clerk is not among the agents') })
  await first.close()
})

test('a worker that serves the agent of a child, and not that of its parent, leaves the session to others', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  const first = workerOf(without(store, ['clerk']), [lead, clerk])
  await restOf(store, 's', 'suspended')
  await first.close()
  const { log } = await childOf(store)
  const failures: unknown[] = []
  const half = workerOf(store, [clerk], { onError: (error) => void failures.push(error) })
  await expect(half.advance(log)).rejects.toMatchObject({ code: 'agent-not-served' })
  expect((await entriesOf(store, log)).filter(({ type }) => type === 'run')).toEqual([])
  expect(await store.leaseState(log)).toMatchObject({ takeovers: 0 })
  await half.close()
  const whole = workerOf(store, [lead, clerk])
  await whole.advance(log)
  expect(await endOf(store)).toMatchObject({ status: 'completed' })
  expect(failures).toEqual([])
})

test('a worker under which a policy of the parent is missing refuses the child', async () => {
  const store = sharedStore()
  const guard = defineExtension({
    name: 'guard',
    scope: 'tree',
    portable: true,
    hooks: { 'tool.call': () => undefined },
  })
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk, { extensions: [guard] })
  await begin(store, lead)
  const first = workerOf(without(store, ['clerk']), [lead, clerk])
  await restOf(store, 's', 'suspended')
  await first.close()
  const { log } = await childOf(store)
  await expect(clerk.resumeSession(log, { agents: [leadOf(store, clerk), clerk] })).rejects.toMatchObject({
    code: 'missing-extension',
  })
  await expect(clerk.resumeSession(log)).rejects.toMatchObject({ code: 'agent-not-served' })
})

test('outside of a worker, and below a child of the same process, a child runs here', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  expect((await lead.run('Find it.')).text).toContain('Shelf 7.')
  const chief = agentOf('chief', store, callsOnce('ask_lead', { task: 'Find it.' }), {
    tools: [lead.toTool({ name: 'ask_lead', description: 'Asks.' })],
  })
  await begin(store, chief)
  workerOf(store, [chief, lead, clerk])
  expect(await endOf(store)).toMatchObject({ output: expect.stringContaining('Shelf 7.') })
  expect((await childrenOf(store)).map(({ where }) => where)).toEqual([undefined])
})

test('a child elsewhere needs a budget that a log can state', () => {
  const clerk = createAgent({ name: 'clerk', model: scriptedModel([]) })
  const asTool = (more: object) => () => clerk.toTool({ name: 'a', description: 'b', where: 'any', ...more })
  expect(asTool({})).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  expect(asTool({ grant: { tokens: Infinity } })).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  expect(asTool({ grant })).not.toThrow()
})

test('a session of a child takes no input of others', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  await endOf(store)
  const { log } = await childOf(store)
  const session = await clerk.resumeSession(log, { agents: [lead, clerk] })
  expect(() => session.stream('And now?')).toThrow(expect.objectContaining({ code: 'child-session' }))
  expect(() => session.send('And now?')).toThrow(expect.objectContaining({ code: 'child-session' }))
  await expect(session.deliver('And now?')).rejects.toMatchObject({ code: 'child-session' })
  await store.deliver(log, 'send/2', { mode: 'queue', input: 'And now?' }, 'ann')
  expect(await session.advance()).toEqual({ rest: 'done' })
  expect((await entriesOf(store, log)).filter((entry) => entry.type === 'run' && entry.op === 'started')).toHaveLength(
    1,
  )
  await expect(store.claimDue?.({ agents: ['clerk'], limit: 1, hiddenMs: 1 })).resolves.toEqual([])
})

test('a message to a child elsewhere enters its run, also below another child', async () => {
  const store = sharedStore()
  const gate = Promise.withResolvers<void>()
  const wait = tool({
    name: 'wait',
    effect: 'read',
    input: z.object({}),
    execute: async () => gate.promise.then(() => 'ok'),
  })
  const clerk = agentOf('clerk', store, callsOnce('wait', {}), { tools: [wait] })
  const lead = leadOf(store, clerk)
  const chief = agentOf('chief', store, callsOnce('ask_lead', { task: 'Find it.' }), {
    tools: [lead.toTool({ name: 'ask_lead', description: 'Asks.', where: 'any', grant })],
  })
  await begin(store, chief)
  workerOf(store, [chief, lead, clerk])
  const above = await childOf(store)
  const { log, callId } = await childOf(store, above.log)
  await callIn(store, log)
  await restOf(store, 's', 'suspended')
  const session = await chief.resumeSession('s', { agents: [chief, lead, clerk] })
  await session.deliver('Look on shelf 7.', { to: callId, key: 'hint' })
  gate.resolve()
  expect(await endOf(store)).toMatchObject({ status: 'completed' })
  const steered = (await entriesOf(store, log)).filter(
    (entry) => entry.type === 'message' && entry.message.role === 'user',
  )
  expect(JSON.stringify(steered)).toContain('Look on shelf 7.')
  await session.close()
})

test('the sessions of children are deleted with that of their parent', async () => {
  const store = fileStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  await endOf(store)
  const { log } = await childOf(store)
  await store.delete('s')
  expect(await entriesOf(store, log)).toEqual([])
})

test('an export of a session has those of its children, and a copy keeps their logs', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  workerOf(store, [lead, clerk])
  await endOf(store)
  const key = 'k'.repeat(32)
  const lines: string[] = []
  for await (const line of exportSession(store, 's', { key })) lines.push(line)
  const { log } = await childOf(store)
  for (const id of [undefined, 'copy']) {
    const other = sharedStore()
    const { sessionId } = await importSession(other, lines.join(''), { key, ...(id !== undefined && { id }) })
    const listed: string[] = []
    for await (const info of other.list()) listed.push(info.id)
    expect(listed).toEqual(id === undefined ? ['s', log] : ['copy'])
    const copied = await childOf(other, sessionId)
    expect((await entriesOf(other, copied.log)).map(({ type }) => type)).toEqual(
      (await entriesOf(store, log)).map(({ type }) => type),
    )
  }
})

test('old sessions of children are pruned with that of their parent, not before', async () => {
  const store = sharedStore()
  const clerk = agentOf('clerk', store, [{ text: 'Shelf 7.' }])
  const lead = leadOf(store, clerk)
  await begin(store, lead)
  const worker = workerOf(store, [lead, clerk])
  await endOf(store)
  await worker.close()
  const { log } = await childOf(store)
  // The run may have ended within this millisecond.
  const later = { ...store, clock: { ...systemClock, now: () => Date.now() + 1_000 } }
  expect(await pruneSessions(later, { olderThanMs: 0, dryRun: true })).toMatchObject({ sessions: [{ id: 's' }] })
  await pruneSessions(later, { olderThanMs: 0 })
  expect(await entriesOf(store, log)).toEqual([])
})
