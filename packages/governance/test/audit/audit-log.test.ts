import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent } from '@provost/agent'
import type { Entry, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { auditChain, auditLog, verifyAudit } from '@provost/governance'
import { exportSession, jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { full } from '../fixture/full.ts'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** Writes two audit rows for each call. */
const auditor = defineExtension({
  name: 'auditor',
  hooks: {
    async 'tool.call'(call, ctx) {
      await ctx.audit('flagged', {
        rule: 'one',
        callId: call.callId,
        sources: ['x'],
        evidence: { n: 1, why: 'because' },
      })
      await ctx.audit('blocked', { rule: 'two', sources: [], evidence: null })
    },
  },
})

async function entriesOf(key?: string, store: SessionStore = memoryStore()): Promise<readonly Entry[]> {
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([
      { toolCalls: [{ name: 'look' }, { name: 'look' }] },
      { toolCalls: [{ name: 'look' }] },
      { text: '' },
    ]),
    tools: [look],
    extensions: [auditor, auditLog(key === undefined ? {} : { key })],
    store,
  })
  const { sessionId } = await agent.run('go')
  return all(store.read(sessionId))
}

let plain: readonly Entry[]
let keyed: readonly Entry[]
beforeAll(async () => {
  ;[plain, keyed] = await Promise.all([entriesOf(), entriesOf('k')])
})

const codes = (entries: readonly Entry[], options = {}) => [
  ...new Set(verifyAudit(entries, options).problems.map(({ code }) => code)),
]
const rows = (entries: readonly Entry[]) => entries.filter(({ type }) => type === 'audit')
const isLink = (entry: Entry) => entry.type === 'ext' && entry.name === 'audit-log'

describe('an audit verifies', () => {
  test('from entries and from JSON lines, with all its rows linked', () => {
    const report = verifyAudit(plain)
    expect(report).toMatchObject({ ok: true, links: 3, deleted: [], open: [], problems: [] })
    const lines = plain.map((entry) => JSON.stringify(entry)).join('\n')
    expect(verifyAudit(`${lines}\n`)).toEqual(report)
  })

  test('with its key', () => {
    expect(verifyAudit(keyed, { key: 'k' })).toMatchObject({ ok: true, links: 3, deleted: [] })
  })

  test('with a head that was saved when it was shorter', () => {
    const links = plain.filter(isLink)
    const earlier = verifyAudit(plain.slice(0, plain.findIndex((entry) => entry === links[1]) + 1))
    expect(verifyAudit(plain, { head: earlier.head ?? '' }).ok).toBe(true)
  })
})

describe('an audit does not verify', () => {
  const changed = (change: (entry: Entry) => Entry | undefined, entries = plain) =>
    entries.flatMap((entry) => change(entry) ?? [])
  const second = () => rows(plain)[1]

  test('with a row that was changed', () => {
    expect(codes(changed((entry) => (entry === second() ? ({ ...entry, rule: 'else' } as Entry) : entry)))).toEqual([
      'entry-changed',
    ])
  })

  test('with a row that was added before its end', () => {
    const [row] = rows(plain)
    const forged: Entry[] = row ? [{ ...row, id: 'forged', offset: row.offset }] : []
    expect(codes([...forged, ...plain])).toEqual(['entry-unlinked'])
  })

  test('with a link removed, duplicated or moved', () => {
    const links = plain.filter(isLink)
    expect(codes(plain.filter((entry) => entry !== links[1]))).toContain('link-missing')
    expect(codes([...plain, ...links.slice(1, 2)])).toContain('link-twice')
    expect(codes(plain.toReversed())).toContain('link-missing')
  })

  test('with its end cut off, if its head was saved', () => {
    const { head = '' } = verifyAudit(plain)
    const last = plain.findLast(isLink)
    expect(
      codes(
        plain.filter((entry) => entry !== last),
        { head },
      ),
    ).toContain('end-cut-off')
  })

  test('without its key, with another key, or rebuilt without a key', () => {
    expect(codes(keyed)).toEqual(['key-needed'])
    expect(codes(keyed, { key: 'other' })).toEqual(['link-changed'])
    expect(codes(plain, { key: 'k' })).toEqual(['key-unused'])
  })

  test('with any single character of a row or a link changed', () => {
    const lines = plain.filter((entry) => entry.type === 'audit' || isLink(entry)).map((entry) => JSON.stringify(entry))
    fc.assert(
      fc.property(fc.nat(lines.length - 1), fc.nat(), (n, seed) => {
        const line = lines[n] ?? ''
        const at = seed % line.length
        const broken = `${line.slice(0, at)}${line[at] === 'a' ? 'b' : 'a'}${line.slice(at + 1)}`
        const text = lines.with(n, broken).join('\n')
        let report: ReturnType<typeof verifyAudit> | undefined
        try {
          report = verifyAudit(text)
        } catch {
          return
        }
        // The report lists a row that is no longer one as deleted, and a missing end likewise.
        const whole = report.ok && report.deleted.length === 0 && report.links === 3
        expect(whole ? meaning(broken) : meaning(line)).toEqual(meaning(line))
      }),
      { numRuns: full ? 2_000 : 100 },
    )
  })
})

const said = new Set(['id', 'at', 'runId', 'step', 'agent', 'decision', 'by', 'rule', 'callId', 'sources', 'evidence'])

/** Returns the part of a line that the audit covers: of a link, the link alone, without its position. */
function meaning(line: string): unknown {
  const entry: Record<string, unknown> = JSON.parse(line)
  if (entry['type'] !== 'audit') return entry['data']
  return Object.fromEntries(Object.entries(entry).filter(([key]) => said.has(key)))
}

test('the report names lines that are not JSON', () => {
  expect(() => verifyAudit('{}\nno')).toThrow(
    expect.objectContaining({ code: 'unreadable-export', message: 'Line 2 of the export is not JSON.' }),
  )
})

describe('after the deletion of its session', () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each([
    ['in memory', () => memoryStore()],
    ['in files', () => jsonlStore(join(folder, 'files'))],
    ['in SQLite', () => sqliteStore(join(folder, 'audit.db'))],
  ] as const)('the data is gone and the audit still verifies: %s', async (_, open) => {
    const store = open()
    await entriesOf('k', store)
    const [id = ''] = (await all(store.list({}))).map((session) => session.id)
    const exported = (await all(exportSession(store, id))).join('')
    const before = verifyAudit(exported, { key: 'k' })
    expect(before).toMatchObject({ ok: true, links: 3, deleted: [] })

    const kept = auditChain(exported)
    await store.delete(id)
    expect(await all(store.read(id))).toEqual([])
    expect(kept).not.toMatch(/because|flagged|blocked/)
    const { head = '' } = before
    expect(verifyAudit(kept, { key: 'k', head })).toMatchObject({ ok: true, links: 3, head })
    expect(verifyAudit(kept, { key: 'k' }).deleted).toHaveLength(18)
    // The remaining rows cannot be edited either.
    const lines = kept.split('\n')
    for (const broken of [lines.toSpliced(2, 1), lines.toSpliced(-2, 1), lines.with(3, lines[4] ?? '')]) {
      expect(verifyAudit(broken.join('\n'), { key: 'k', head }).ok).toBe(false)
    }
    await store.close()
  })
})

test('each log of an export has its own chain, and the chains of children are verified too', () => {
  const line = (value: object) => JSON.stringify(value)
  const log = (entries: readonly Entry[]) => [
    line({ type: 'log' }),
    ...entries.map((entry) => line({ type: 'entry', entry })),
  ]
  const whole = (child: readonly Entry[]) =>
    [line({ type: 'header' }), ...log(plain), ...log(child), line({ type: 'footer' })].join('\n')
  expect(verifyAudit(whole(plain), { head: verifyAudit(plain).head ?? '' })).toMatchObject({ ok: true, links: 6 })
  const changed = plain.map((entry) => (entry.type === 'audit' ? { ...entry, rule: 'other' } : entry))
  expect(verifyAudit(whole(changed)).problems.map(({ code }) => code)).toContain('entry-changed')
})

test('a row states the sandbox of the tool, and a changed sandbox is detected', async () => {
  const store = memoryStore()
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, { text: '' }]),
    tools: [tool({ name: 'look', effect: 'read', sandbox: 'process', input: z.object({}), execute: () => 'seen' })],
    extensions: [auditor, auditLog()],
    store,
  })
  const { sessionId } = await agent.run('go')
  const entries = await all(store.read(sessionId))
  expect(entries.filter((entry) => entry.type === 'audit').map(({ sandbox }) => sandbox)).toEqual([
    'process',
    undefined,
  ])
  expect(verifyAudit(entries).ok).toBe(true)
  for (const sandbox of ['isolated', undefined] as const) {
    const forged = entries.map((entry) => (entry.type === 'audit' && entry.callId ? { ...entry, sandbox } : entry))
    expect(verifyAudit(forged as readonly Entry[]).ok).toBe(false)
  }
})
