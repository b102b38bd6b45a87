import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import { forkSession, memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'

const onApproval = async ({ id }: { id: string }) => ({ id, decision: 'approve' as const })
const empty = { type: 'object' } as const

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

/** A run with two calls at once, a call that a human approves, a composite with a child, and an answer. */
async function recorded(): Promise<{
  agent: Agent
  store: SessionStore
  sessionId: string
  entries: readonly Entry[]
  made: string[]
}> {
  const store = memoryStore()
  const made: string[] = []
  const does = (name: string) =>
    tool({ name, input: empty, effect: 'write', execute: () => (made.push(name), `${name} is done`) })
  const pay = tool({
    name: 'pay',
    input: empty,
    effect: 'write',
    needsApproval: () => true,
    execute: () => (made.push('pay'), 'paid'),
  })
  const clerk = createAgent({ name: 'clerk', model: scriptedModel([{ text: 'Filed.' }], { after: 'repeat-last' }) })
  const asks = clerk.toTool({ name: 'ask_clerk', description: 'Asks the clerk.' })
  // The answer depends on what the history says, so that each fork continues from its own.
  const model = scriptedModel(
    [
      ({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').length
        if (results === 0) return { toolCalls: ['one', 'two'].map((name) => ({ name, input: {} })) }
        if (results === 1) return { toolCalls: [{ name: 'pay', input: {} }] }
        if (results === 2) return { toolCalls: [{ name: 'ask_clerk', input: { task: 'File it.' } }] }
        return {
          text: `after ${JSON.stringify(messages.at(-1)?.content).includes('Filed') ? 'filing' : 'something else'}`,
        }
      },
    ],
    { after: 'repeat-last' },
  )
  const agent = createAgent({ name: 'desk', model, tools: [does('one'), does('two'), pay, asks], store })
  const { sessionId, text } = await agent.stream('Do it.', { onApproval }).result
  expect(text).toBe('after filing')
  return { agent, store, sessionId, entries: await entriesOf(store, sessionId), made }
}

function callOf(entries: readonly Entry[], toolName: string): string {
  for (const entry of entries) {
    if (entry.type !== 'message') continue
    for (const part of entry.message.content)
      if (part.type === 'tool-call' && part.toolName === toolName) return part.callId
  }
  throw new Error(`no call of ${toolName}`)
}

test('a fork at any entry continues from there, and makes no call twice that had started', async () => {
  const { agent, store, sessionId, entries, made } = await recorded()
  expect(made.toSorted()).toEqual(['one', 'pay', 'two'])
  for (const { offset } of entries) {
    made.length = 0
    const head = entries.slice(0, offset)
    const started = new Set(head.flatMap((one) => (one.type === 'call' && one.op === 'started' ? [one.callId] : [])))
    const isOpen =
      head.some((one) => one.type === 'run') && !head.some((one) => one.type === 'run' && one.op === 'ended')
    const fork = await forkSession(store, sessionId, { at: offset, unfinished: 'continue' })
    expect(fork.offset).toBe(offset)
    if (!isOpen) continue
    const session = await agent.resumeSession(fork.sessionId, { store, onApproval })
    const result = await session.resume().result
    // Before the input was recorded, there is nothing to answer.
    const hasInput = head.some((one) => one.type === 'message' && one.via === 'input')
    if (!hasInput) continue
    expect([offset, result.status]).toEqual([offset, 'completed'])
    assertWellFormed(result.messages)
    const before = ['one', 'two', 'pay'].filter((name) => started.has(callOf(entries, name)))
    expect(made.filter((name) => before.includes(name))).toEqual([])
    expect(new Set(made).size).toBe(made.length)
  }
})

test('a fork that ends at any entry takes the next input', async () => {
  const { agent, store, sessionId, entries } = await recorded()
  for (const { offset } of entries) {
    const fork = await forkSession(store, sessionId, { at: offset, unfinished: 'end' })
    const result = await agent.run('And now?', { sessionId: fork.sessionId, onApproval })
    expect([offset, result.status]).toEqual([offset, 'completed'])
    assertWellFormed(result.messages)
  }
})

test('a fork has another result of a call, labelled untrusted', async () => {
  const { agent, store, sessionId, entries } = await recorded()
  const settled = entries.filter((entry) => entry.type === 'call' && entry.op === 'settled')
  const joined = settled.find((entry) => JSON.stringify(entry).includes('Filed'))
  if (joined?.type !== 'call') throw new Error('no call of the clerk')
  const { callId, offset } = joined
  const fork = await forkSession(store, sessionId, {
    ...{ at: offset, unfinished: 'continue' },
    results: { [callId]: 'The clerk is away.' },
    notes: [{ type: 'audit', decision: 'flagged', by: 'olga', rule: 'fork', sources: [], evidence: {} }],
  })
  const session = await agent.resumeSession(fork.sessionId, { store })
  expect((await session.resume().result).text).toBe('after something else')
  const copy = await entriesOf(store, fork.sessionId)
  expect(
    copy.filter((entry) => entry.type === 'call' && entry.op === 'settled' && entry.callId === callId),
  ).toMatchObject([
    { output: { type: 'text', value: 'The clerk is away.' }, via: 'human', label: { integrity: 'untrusted' } },
  ])
  expect(copy.find(({ type }) => type === 'audit')).toMatchObject({ by: 'olga', rule: 'fork' })
})

test('says what cannot be forked', async () => {
  const { store, sessionId, entries } = await recorded()
  const [first] = entries.filter((entry) => entry.type === 'call' && entry.op === 'settled')
  const callId = first?.type === 'call' ? first.callId : ''
  const at = entries.length
  await expect(
    forkSession(store, sessionId, { at, unfinished: 'end', results: { [callId]: 1 } }),
  ).rejects.toMatchObject({
    code: 'call-not-in-step',
  })
  await expect(forkSession(store, sessionId, { at: 'some message', unfinished: 'end' })).rejects.toMatchObject({
    code: 'invalid-option',
  })
})
