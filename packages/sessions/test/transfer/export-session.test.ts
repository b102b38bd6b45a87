import { join } from 'node:path'

import type { Entry, Message, NewEntry, SessionStore } from '@provost/core'
import { trustedLabel, untrustedLabel } from '@provost/core'
import { attributionOf, exportSession, importSession, jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import type { ExportOptions } from '@provost/sessions'
import * as fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'

import { newFolder } from '../fixture/folder.ts'

const key = 'a key of sixteen bytes'
const secret = { ...trustedLabel, confidentiality: 'secret' } as const
const { path: folder, remove } = newFolder()
afterAll(remove)

const place = (id: string, step = 1) => ({ id, at: 1, runId: 'r', step, agent: 'desk', v: 1 }) as const
const messageEntry = (
  id: string,
  message: Omit<Message, 'id' | 'createdAt'>,
  via: 'input' | 'model' | 'system',
  held?: string,
): NewEntry => ({
  ...place(id),
  type: 'message',
  message: { id, createdAt: 1, ...message },
  via,
  ...(held !== undefined && { held }),
})
const call = (callId: string, input: string) =>
  ({ type: 'tool-call', callId, toolCallId: 'provider-9', toolName: 'look', input: { q: input } }) as const
const settled = (callId: string, more: Partial<Extract<NewEntry, { type: 'call'; op: 'settled' }>> = {}): NewEntry => ({
  ...place(`${callId}/settled`),
  type: 'call',
  op: 'settled',
  callId,
  outcome: 'ok',
  via: 'executed',
  output: { type: 'text', value: 'seen' },
  label: trustedLabel,
  durationMs: 12,
  ...more,
})

/** Returns the entries of a run with all kinds of internal data. */
function internalRun(blob: string, other: string): readonly NewEntry[] {
  return [
    {
      ...place('r/started', 0),
      type: 'run',
      op: 'started',
      principal: { id: 'INNER-ann' },
      manifest: { agent: 'desk', extensions: ['INNER-x'], tools: [] },
    },
    messageEntry('m1', { role: 'user', content: [{ type: 'text', text: 'Hello.' }], label: trustedLabel }, 'input'),
    messageEntry('sys', { role: 'system', content: [{ type: 'text', text: 'INNER prompt' }] }, 'system'),
    messageEntry(
      'm2',
      {
        role: 'assistant',
        agent: 'desk',
        label: trustedLabel,
        content: [
          { type: 'reasoning', text: 'INNER thought', providerOptions: { a: { signature: 'INNER' } } },
          { type: 'text', text: '<think>INNER</think>Let me ⟦secret:INNER_KEY⟧ look.' },
          { type: 'text', text: 'INNER aside', providerOptions: { openai: { phase: 'commentary', itemId: 'INNER' } } },
          { type: 'file', mediaType: 'text/plain', data: { type: 'blob', hash: blob, bytes: 5 } },
          call('c1', `mentions ${other}`),
          call('c2', 'b'),
          call('c3', 'c'),
        ],
      },
      'model',
    ),
    { ...place('a1'), type: 'attempt', attempt: 1, model: 'p/INNER', usage: {}, outcome: 'answered' },
    { ...place('w1'), type: 'wait', token: 'w1', kind: 'approval', callId: 'c1', reason: 'INNER', evidence: 'INNER' },
    {
      ...place('w1/r'),
      type: 'resolved',
      token: 'w1',
      value: { decision: 'approve', reason: 'INNER' },
      by: 'INNER-boss',
    },
    settled('c1', { details: { INNER: 1 }, fields: {} }),
    settled('c2', { label: secret, output: { type: 'json', value: 'INNER secret' } }),
    settled('c3', {
      outcome: 'error',
      output: { type: 'error-text', value: 'It broke.\n    at inner (/srv/INNER/app.ts:12:3)\nSorry.' },
      error: { code: 'x', message: 'It broke.', hint: 'INNER hint' },
    }),
    { ...place('memo'), type: 'memo', key: 'INNER', value: 'INNER' },
    { ...place('ext'), type: 'ext', name: 'INNER', key: 'k', data: 'INNER' },
    { ...place('audit'), type: 'audit', decision: 'flagged', by: 'INNER', rule: 'INNER', sources: [], evidence: null },
    messageEntry('m3', { role: 'assistant', content: [{ type: 'text', text: 'INNER held' }] }, 'model', 'w2'),
    messageEntry('m4', { role: 'assistant', label: trustedLabel, content: [{ type: 'text', text: 'Done.' }] }, 'model'),
    messageEntry(
      'm5',
      { role: 'assistant', label: secret, content: [{ type: 'text', text: 'INNER secret' }] },
      'model',
    ),
    {
      ...place('child'),
      type: 'child',
      op: 'spawned',
      callId: 'c1',
      log: 's/c1',
      agent: 'helper',
      label: trustedLabel,
    },
    { ...place('r/ended'), type: 'run', op: 'ended', status: 'completed', output: 'INNER' },
  ]
}

const childLog: readonly NewEntry[] = [
  {
    ...place('k/started', 0),
    type: 'run',
    op: 'started',
    manifest: { agent: 'helper', extensions: [], tools: [] },
    parent: { log: 's', runId: 'r' },
  },
  messageEntry('k1', { role: 'user', content: [{ type: 'text', text: 'INNER child' }] }, 'input'),
]

async function put(store: SessionStore, log: string, entries: readonly NewEntry[]): Promise<void> {
  const lease = await store.lease(log, 'test', 60_000)
  if (lease === 'busy') throw new Error('busy')
  await store.append(log, entries, { after: 0, fence: lease.fence })
  await store.release(log, lease.fence)
}

async function filled(store: SessionStore): Promise<SessionStore> {
  const blob = await store.putBlob(new TextEncoder().encode('bytes'))
  const other = await store.putBlob(new TextEncoder().encode('INNER bytes'))
  await put(store, 's', internalRun(blob, other))
  await put(store, 's/c1', childLog)
  return store
}

async function linesOf(store: SessionStore, id = 's', options: ExportOptions = {}): Promise<string[]> {
  const lines: string[] = []
  for await (const line of exportSession(store, id, options)) lines.push(line)
  return lines
}

async function logOf(store: SessionStore, id = 's'): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

const stores: Readonly<Record<string, (name: string) => SessionStore>> = {
  memory: () => memoryStore(),
  jsonl: (name) => jsonlStore(join(folder, `${name}-jsonl`)),
  sqlite: (name) => sqliteStore(join(folder, `${name}.db`)),
}

describe.each(Object.entries(stores))('an export from %s', (_, open) => {
  test('has the same lines from every store, with children and blobs', async () => {
    const from = await filled(open('from'))
    const lines = await linesOf(from, 's', { key })
    expect(lines).toEqual(await linesOf(await filled(memoryStore()), 's', { key }))
    for (const [name, openOther] of Object.entries(stores)) {
      const store = openOther(`to-${name}-${String(lines.length)}-${_}`)
      expect(await importSession(store, lines, { key })).toEqual({
        sessionId: 's',
        agent: 'desk',
        entries: 18,
        trusted: true,
        existing: false,
      })
      expect(await logOf(store)).toEqual(await logOf(from))
      expect(await logOf(store, 's/c1')).toEqual(await logOf(from, 's/c1'))
      expect(await linesOf(store, 's', { key })).toEqual(lines)
      expect(await importSession(store, lines, { key })).toMatchObject({ existing: true })
      await store.close()
    }
    await from.close()
  })
})

test('an export for outsiders keeps the conversation and leaves out internal data', async () => {
  const text = (await linesOf(await filled(memoryStore()), 's', { for: 'outside' })).join('')
  expect(text).not.toContain('INNER')
  expect(text).not.toContain('provider-9')
  for (const words of ['Hello.', 'Let me ⟦secret⟧ look.', 'Done.', 'It broke.\\nSorry.', '[withheld]'])
    expect(text).toContain(words)
  expect(text).toContain(Buffer.from('bytes').toString('base64'))
  expect(text).not.toContain(Buffer.from('INNER bytes').toString('base64'))
  const store = memoryStore()
  expect(await importSession(store, text, { id: 'copy' })).toMatchObject({ trusted: false, entries: 9 })
})

describe('importSession', () => {
  const strip = (lines: readonly string[]): string[] => lines.map((line) => line.trimEnd())

  test('accepts text, lines with and without line ends, and bytes split at any place', async () => {
    const lines = await linesOf(await filled(memoryStore()), 's', { key })
    const bytes = new TextEncoder().encode(lines.join(''))
    const split = function* (size: number) {
      for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size)
    }
    for (const pieces of [
      lines.join(''),
      lines.join('\n'),
      lines,
      strip(lines),
      split(1),
      split(7),
      split(4096),
      [lines[0]?.trimEnd() ?? '', `\n${lines.slice(1).join('')}`],
      lines.join('').replaceAll('\n', '\r\n'),
    ]) {
      await expect(importSession(memoryStore(), pieces, { key })).resolves.toMatchObject({ trusted: true })
    }
  })

  test('rejects an export that was changed, cut, reordered or extended at any place', async () => {
    const lines = await linesOf(await filled(memoryStore()), 's', { key })
    const store = memoryStore()
    await fc.assert(
      fc.asyncProperty(
        fc.nat(lines.length - 1),
        fc.nat(5000),
        fc.constantFrom('drop', 'twice', 'swap', 'letter'),
        async (at, spot, how) => {
          const broken = [...lines]
          const line = lines[at] ?? ''
          if (how === 'drop') broken.splice(at, 1)
          else if (how === 'twice') broken.splice(at, 0, line)
          else if (how === 'swap') broken.splice(at, 2, ...lines.slice(at, at + 2).toReversed())
          else broken[at] = `${line.slice(0, spot % line.length)}~${line.slice((spot % line.length) + 1)}`
          if (broken.join('') === lines.join('')) return
          await expect(importSession(store, broken.join(''), { key })).rejects.toMatchObject({
            code: expect.stringMatching(/^(invalid-export|bad-signature)$/),
          })
        },
      ),
      { numRuns: 150 },
    )
    expect(await logOf(store)).toEqual([])
  })

  test('rejects a signature under another name instead of treating the export as unsigned', async () => {
    const lines = await linesOf(await filled(memoryStore()), 's', { key })
    const footer = lines.at(-1) ?? ''
    const at = footer.indexOf('"sig"')
    for (let spot = at; spot < at + 5; spot++) {
      const broken = lines.with(lines.length - 1, `${footer.slice(0, spot)}~${footer.slice(spot + 1)}`)
      await expect(importSession(memoryStore(), broken, { key })).rejects.toMatchObject({ code: 'invalid-export' })
    }
  })

  test('rejects another key, a newer version, an existing session and an export above the limits', async () => {
    const lines = await linesOf(await filled(memoryStore()), 's', { key })
    const code = (expected: string) => expect.objectContaining({ code: expected })
    await expect(importSession(memoryStore(), lines, { key: 'another key of 16 bytes' })).rejects.toEqual(
      code('bad-signature'),
    )
    await expect(importSession(memoryStore(), lines, { key: 'short' })).rejects.toEqual(code('invalid-key'))
    await expect(importSession(memoryStore(), lines, { maxBytes: 999 })).rejects.toEqual(code('export-too-big'))
    await expect(importSession(memoryStore(), lines, { maxEntries: 3 })).rejects.toEqual(code('export-too-big'))
    const newer = [String(lines[0]).replace('"v":1', '"v":2'), ...lines.slice(1)]
    await expect(importSession(memoryStore(), newer)).rejects.toEqual(code('newer-export'))
    await expect(importSession(memoryStore(), [])).rejects.toEqual(code('invalid-export'))
    const taken = memoryStore()
    await put(taken, 's', [messageEntry('else', { role: 'user', content: [] }, 'input')])
    await expect(importSession(taken, lines, { key })).rejects.toEqual(code('session-exists'))
    expect(await logOf(taken, 's/c1')).toEqual([])
    const busy = memoryStore()
    await busy.lease('s', 'other', 60_000)
    await expect(importSession(busy, lines, { key })).rejects.toEqual(code('session-busy'))
  })

  test.each([
    ['a prototype', '{"type":"entry","entry":{"__proto__":{"x":1}}}'],
    ['a constructor', '{"type":"entry","entry":{"constructor":{}}}'],
    ['no entry', '{"type":"entry","entry":{"type":"message"}}'],
    ['another log', '{"type":"log","log":"another log"}'],
    ['a deep value', `{"type":"entry","entry":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    ['a blob of another name', `{"type":"blob","hash":"${'a'.repeat(64)}","data":"AAAA"}`],
    ['a line of no type', '{"type":"constructor"}'],
    ['no object', '[]'],
  ])('rejects a line with %s', async (_, line) => {
    const [header = '', log = ''] = await linesOf(await filled(memoryStore()))
    await expect(importSession(memoryStore(), `${header}${log}${line}\n`)).rejects.toMatchObject({
      code: 'invalid-export',
    })
  })

  test('imports an unsigned export as an untrusted record without principals and running work', async () => {
    const lines = await linesOf(await filled(memoryStore()))
    const store = memoryStore()
    expect(await importSession(store, lines, { key, id: 'copy' })).toMatchObject({ trusted: false, sessionId: 'copy' })
    const log = await logOf(store, 'copy')
    const labels = log.flatMap((entry) =>
      entry.type === 'message'
        ? [entry.message.label]
        : entry.type === 'call' && entry.op === 'settled'
          ? [entry.label]
          : [],
    )
    expect(labels).toHaveLength(7)
    for (const label of labels) expect(label).toMatchObject({ integrity: 'untrusted' })
    expect(log.filter(({ type }) => ['wait', 'resolved', 'memo', 'audit'].includes(type))).toEqual([])
    expect(JSON.stringify(log)).not.toMatch(/INNER-ann|INNER prompt|INNER held|INNER-boss/)
    expect(log).toContainEqual(expect.objectContaining({ type: 'child', log: 'copy/child/1' }))
    expect((await logOf(store, 'copy/child/1')).length).toBe(3)
    expect(await logOf(store, 's/c1')).toEqual([])
    for await (const { id } of store.list()) expect(id).toBe('copy')
  })
})

test('an export leaves out a separate session that a log names as its child', async () => {
  const store = await filled(memoryStore())
  await put(store, 'thief', [
    { ...place('t0', 0), type: 'run', op: 'started', manifest: { agent: 'desk', extensions: [], tools: [] } },
    { ...place('t1'), type: 'child', op: 'spawned', callId: 'c', log: 's', agent: 'x', label: untrustedLabel('x') },
    { ...place('t2'), type: 'child', op: 'spawned', callId: 'c', log: 's/c1', agent: 'x', label: untrustedLabel('x') },
  ])
  expect((await linesOf(store, 'thief')).join('')).not.toContain('Hello.')
  expect((await linesOf(store, 'thief')).join('')).not.toContain('INNER child')
  await expect(linesOf(store, 'unknown')).rejects.toMatchObject({ code: 'unknown-session' })
})

test('attributionOf yields the agent and the origin of every message', async () => {
  const rows: string[] = []
  for await (const { messageId, agent, via } of attributionOf((await filled(memoryStore())).read('s')))
    rows.push(`${messageId} ${agent} ${via}`)
  expect(rows).toEqual([
    'm1 desk input',
    'sys desk system',
    'm2 desk model',
    'r/1/message/tool desk tool',
    'm3 desk model',
    'm4 desk model',
    'm5 desk model',
  ])
})

test('an export reads a long log entry by entry', async () => {
  const store = memoryStore()
  const many = Array.from({ length: 5000 }, (_, n) =>
    messageEntry(`m${n}`, { role: 'user', content: [{ type: 'text', text: `${n}` }] }, 'input'),
  )
  await put(store, 's', many)
  let ahead = 0
  const counting: SessionStore = {
    ...store,
    async *read(log, after) {
      for await (const entry of store.read(log, after)) {
        ahead++
        yield entry
      }
    },
  }
  let lines = 0
  for await (const _ of exportSession(counting, 's')) {
    lines++
    expect(ahead - lines).toBeLessThan(2)
  }
  expect(lines).toBe(5003)
})
