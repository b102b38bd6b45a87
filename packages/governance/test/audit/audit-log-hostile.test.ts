import { createAgent } from '@provost/agent'
import type { Entry, Json } from '@provost/core'
import { defineExtension, isRecord, toJson } from '@provost/core'
import { auditChain, auditLog, verifyAudit } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** Returns the log of a run with this data in its audit rows, and with what an extension appends. */
async function logWith(evidence: Json, rule = 'rule', forged?: Json): Promise<readonly Entry[]> {
  const store = memoryStore()
  const auditor = defineExtension({
    name: 'auditor',
    hooks: {
      async 'tool.call'(call, ctx) {
        await ctx.audit('flagged', { rule, callId: call.callId, sources: ['\u2028', '__proto__'], evidence })
        if (forged !== undefined) await ctx.append('forged', forged)
      },
    },
  })
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: '' }]),
    tools: [tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })],
    extensions: [auditor, auditLog({ key: 'k' })],
    store,
  })
  const { sessionId } = await agent.run('go')
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}
const linesOf = (entries: readonly object[]) => entries.map((entry) => JSON.stringify(entry)).join('\n')
const key = { key: 'k' }

test.each<[string, Json]>([
  ['prototype keys', JSON.parse('{"__proto__":{"x":1},"constructor":2}')],
  ['a lone surrogate', { text: '\uD800' }],
  ['line breaks of all kinds', { text: '\n\r\u2028\u2029\u0085' }],
  ['numbers at their limits', [1e308, 5e-324, -0, 2 ** 53]],
  ['a lot of text', { text: 'x'.repeat(300_000) }],
  ['another row', { type: 'audit', id: 'x', rule: 'none' }],
])('rows with %s verify, from entries and from lines, and fail when they are changed', async (_, evidence) => {
  const log = await logWith(evidence)
  expect(verifyAudit(log, key)).toMatchObject({ ok: true, links: 2 })
  expect(verifyAudit(linesOf(log), key)).toMatchObject({ ok: true, links: 2 })
  const changed = log.map((entry) => (entry.type === 'audit' ? { ...entry, evidence: toJson([evidence]) } : entry))
  expect(verifyAudit(changed, key).problems).toMatchObject([{ code: 'entry-changed' }])
})

test('an extension cannot write links, since its entries carry its own name', async () => {
  const [row] = (await logWith(null)).filter(({ type }) => type === 'audit')
  const forged = { n: 1, entry: row?.id ?? '', payload: 'x', previous: '', hash: 'x' }
  const log = await logWith(null, 'rule', forged)
  expect(log.some((entry) => entry.type === 'ext' && entry.name === 'auditor')).toBe(true)
  expect(verifyAudit(log, key)).toMatchObject({ ok: true, links: 2 })
})

test('a link made without the key is reported', async () => {
  const log = await logWith(null)
  const forged = log.map((entry) =>
    entry.type === 'ext' && entry.name === 'audit-log' && isRecord(entry.data)
      ? { ...entry, data: { ...entry.data, rows: rowsOf(entry.data['rows']).map((row) => ({ ...row, payload: 'f' })) } }
      : entry,
  )
  const codes = new Set(verifyAudit(forged as readonly Entry[], key).problems.map(({ code }) => code))
  expect([...codes]).toEqual(['link-changed', 'entry-changed'])
})

const rowsOf = (rows: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(rows) ? rows.filter(isRecord) : []

test.each([
  ['a row without an offset', { type: 'audit', id: 'x' }],
  ['a row with the offset of another log', { type: 'audit', id: 'x', offset: 1 }],
  ['a row with an invalid offset', { type: 'audit', id: 'x', offset: 'last' }],
  [
    'a link to nothing',
    { type: 'ext', name: 'audit-log', offset: 1, data: { n: 0, entry: '', payload: '', previous: '', hash: '' } },
  ],
  [
    'a second link',
    { type: 'ext', name: 'audit-log', offset: 99, data: { n: 2, entry: 'x', payload: '', previous: '', hash: 'é' } },
  ],
])('%s is not part of the audit', async (_, line) => {
  const log = await logWith(null)
  expect(verifyAudit(`${linesOf(log)}\n${JSON.stringify(line)}`, key).ok).toBe(false)
})

test.each(['null', '[]', '1', '"audit"', '{"type":"entry"}', '{"type":"entry","entry":[]}', '{', '\uFEFF{}'])(
  'a line %s is not an entry',
  (line) => {
    for (const read of [verifyAudit, auditChain])
      expect(() => read(`{"type":"header"}\n${line}`)).toThrow(expect.objectContaining({ code: 'unreadable-export' }))
  },
)

test('an empty log has an empty audit', () => {
  expect(verifyAudit('')).toMatchObject({ ok: true, links: 0 })
  expect(verifyAudit('', { head: 'kept' }).ok).toBe(false)
})
