import type { Entry, ModelMessage, NewEntry, Part, SessionStore } from '@provost/core'
import { fromMessageStore } from '@provost/sessions'
import { storeConformance } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { isForFullRuns } from '../fixture/full.ts'

/** A message store as an application may implement it. */
function conversations(start: Readonly<Record<string, readonly ModelMessage[]>> = {}) {
  const kept = new Map(Object.entries(start).map(([id, messages]) => [id, [...messages]]))
  return {
    kept,
    load: async (id: string) => kept.get(id) ?? [],
    append: async (id: string, message: ModelMessage) => void kept.set(id, [...(kept.get(id) ?? []), message]),
    exists: async (id: string) => kept.has(id),
  }
}

const base = (id: string) => ({ id, at: 1, runId: 'run', step: 1, agent: 'desk', v: 1 }) as const
const label = { integrity: 'untrusted', confidentiality: 'internal', sources: [] } as const
const call = (callId: string): Part => ({
  type: 'tool-call',
  callId,
  toolCallId: 'call_0',
  toolName: 'look',
  input: {},
})
const settled = (callId: string): NewEntry => ({
  ...base(`${callId}/settled`),
  type: 'call',
  op: 'settled',
  callId,
  outcome: 'ok',
  via: 'executed',
  output: { type: 'text', value: `result of ${callId}` },
  label,
  durationMs: 1,
})

function messageEntry(id: string, role: 'user' | 'assistant', content: readonly Part[], held?: string): NewEntry {
  const message = { id, role, content, createdAt: 1 }
  return {
    ...base(id),
    type: 'message',
    message,
    via: role === 'user' ? 'input' : 'model',
    ...(held !== undefined && { held }),
  }
}

const text = (words: string): Part => ({ type: 'text', text: words })

async function append(store: SessionStore, log: string, entries: readonly NewEntry[]): Promise<readonly Entry[]> {
  const lease = await store.lease(log, 'writer', 60_000)
  if (lease === 'busy') throw new Error('busy')
  const before: Entry[] = []
  for await (const entry of store.read(log)) before.push(entry)
  await store.append(log, entries, { after: before.length, fence: lease.fence })
  await store.release(log, lease.fence)
  return before
}

describe('fromMessageStore', () => {
  const suite = storeConformance({
    sharing: 'memory',
    place: () => ({ open: () => fromMessageStore(conversations()), remove() {} }),
  })

  test.for(suite.checks)('$name', async ({ name, run }, { skip }) => {
    skip(isForFullRuns('fromMessageStore', name), 'in full runs')
    await expect(run()).resolves.toBeUndefined()
  })

  test('declares that runs do not outlive the process', () => {
    expect(fromMessageStore(conversations()).ephemeral).toBe(true)
  })

  test('continues from existing messages, repaired and labelled untrusted', async () => {
    const store = fromMessageStore(
      conversations({
        s: [
          { role: 'user', content: 'Hello.' },
          { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'look', input: {} }] },
        ],
      }),
    )
    const entries = await append(store, 's', [])
    expect(entries.map((entry) => (entry.type === 'message' ? entry.message.role : entry.type))).toEqual([
      'run',
      'user',
      'assistant',
      'tool',
      'run',
    ])
    expect(entries[2]).toMatchObject({ message: { label: { integrity: 'untrusted' } } })
  })

  test('writes each message once when it is complete, with results in call order', async () => {
    const kept = conversations()
    const store = fromMessageStore(kept)
    const first = [
      messageEntry('u', 'user', [text('Look.')]),
      messageEntry('a', 'assistant', [call('c1'), call('c2')]),
      settled('c2'),
    ]
    await append(store, 's', first)
    expect(kept.kept.get('s')).toHaveLength(2)
    await append(store, 's', [...first, settled('c1'), messageEntry('b', 'assistant', [text('Done.')])])
    const messages = kept.kept.get('s') ?? []
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(messages[2]?.content).toMatchObject([
      { output: { value: 'result of c1' } },
      { output: { value: 'result of c2' } },
    ])
    const idsIn = (message: ModelMessage | undefined): unknown[] =>
      typeof message?.content === 'string'
        ? []
        : (message?.content ?? []).map((part) => 'toolCallId' in part && part.toolCallId)
    expect(new Set(idsIn(messages[1])).size).toBe(2)
    expect(idsIn(messages[2])).toEqual(idsIn(messages[1]))
  })

  test('writes messages of a failed append before the next ones', async () => {
    const kept = conversations()
    let broken = true
    const store = fromMessageStore({
      ...kept,
      append: async (id, message) => {
        if (broken) throw new Error('the database is away')
        await kept.append(id, message)
      },
    })
    const lease = await store.lease('s', 'writer', 60_000)
    const fence = lease === 'busy' ? 0 : lease.fence
    const first = [messageEntry('u', 'user', [text('Hello?')]), messageEntry('v', 'user', [text('Is anybody there?')])]
    await expect(store.append('s', first, { after: 0, fence })).rejects.toThrow('away')
    broken = false
    // The log has the entry already: the writer repeats the append, or continues.
    await store.append('s', [...first, messageEntry('a', 'assistant', [text('Yes.')])], { after: 0, fence })
    const texts = (kept.kept.get('s') ?? []).map(({ content }) => JSON.stringify(content))
    expect(texts).toEqual([/Hello/, /anybody/, /Yes/].map((words) => expect.stringMatching(words)))
  })

  test('writes a held response after its approval, and never a denied one', async () => {
    const kept = conversations()
    const store = fromMessageStore(kept)
    const resolved = (token: string, decision: string): NewEntry => ({
      ...base(`${token}/resolved`),
      type: 'resolved',
      token,
      value: { decision },
      by: 'ann',
    })
    await append(store, 's', [
      messageEntry('a', 'assistant', [text('Secret.')], 't1'),
      messageEntry('b', 'assistant', [text('Fine.')], 't2'),
    ])
    expect(kept.kept.get('s')).toBeUndefined()
    await append(store, 's', [resolved('t1', 'deny'), resolved('t2', 'approve')])
    expect(kept.kept.get('s')).toMatchObject([{ content: [{ text: 'Fine.' }] }])
  })

  test('does not write messages of child runs', async () => {
    const kept = conversations()
    const store = fromMessageStore(kept)
    const parent = { log: 's', runId: 'run' }
    const manifest = { agent: 'helper', extensions: [], tools: [] }
    await append(store, 'child', [
      { ...base('r'), type: 'run', op: 'started', manifest, parent },
      messageEntry('u', 'user', [text('Task.')]),
    ])
    expect(kept.kept.size).toBe(0)
  })

  test('rejects the deletion of messages that the application owns', async () => {
    const store = fromMessageStore(conversations({ s: [{ role: 'user', content: 'Hello.' }] }))
    await expect(store.delete('s')).rejects.toMatchObject({ code: 'not-supported' })
  })

  test.for<[string, unknown]>([
    ['nothing', null],
    ['an item that is not a message', [{ role: 'user', content: 'Hello.' }, null]],
    ['a message with an unknown role', [{ role: 'boss', content: 'Hello.' }]],
    ['a file without bytes', [{ role: 'user', content: [{ type: 'file' }] }]],
    [
      'a tool call without a tool',
      [
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: [{ type: 'tool-call' }] },
      ],
    ],
  ])('fails with the name of the message store that returned %s', async ([, history]) => {
    const kept = conversations({ s: [] })
    const store = fromMessageStore({ ...kept, load: async () => history as readonly ModelMessage[] })
    await expect(store.lease('s', 'writer', 1_000)).rejects.toMatchObject({
      code: 'invalid-messages',
      message: expect.stringContaining('session s'),
    })
  })

  test('loads the messages again after a failed load', async () => {
    const kept = conversations({ s: [{ role: 'user', content: 'Hello.' }] })
    let broken = true
    const store = fromMessageStore({
      ...kept,
      load: async (id) => {
        if (broken) throw new Error('the database is away')
        return kept.load(id)
      },
    })
    await expect(store.lease('s', 'writer', 1_000)).rejects.toThrow('away')
    broken = false
    expect(await append(store, 's', [])).toHaveLength(3)
  })
})
