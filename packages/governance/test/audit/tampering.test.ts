import type { Entry, Json } from '@provost/core'
import { isRecord } from '@provost/core'
import type { AuditReport, VerifyOptions } from '@provost/governance'
import { auditChain, auditLog, deleteFromAudit, verifyAudit } from '@provost/governance'
import { forkSession, importSession, memoryStore } from '@provost/sessions'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'

import { full } from '../fixture/full.ts'
import type { Line } from './audited-desk.ts'
import { auditedLines, desk, exportedLines, key, runDesk, textOfLines } from './audited-desk.ts'

let lines: readonly Line[]
beforeAll(async () => {
  lines = await auditedLines()
})

const verify = (changed: readonly object[], options: VerifyOptions = { key }): AuditReport =>
  verifyAudit(textOfLines(changed), options)
const codes = (changed: readonly object[], options?: VerifyOptions): readonly string[] =>
  [...new Set(verify(changed, options).problems.map(({ code }) => code))].toSorted()

type Match = Readonly<Record<string, unknown>>

const isMatch = (entry: Entry | undefined, match: Match): boolean =>
  entry !== undefined &&
  Object.entries(match).every(([field, value]) => JSON.stringify(Reflect.get(entry, field)) === JSON.stringify(value))

/** Returns the entry with these fields. */
function entryOf(match: Match, from = lines): Entry {
  const found = from.find(({ entry }) => isMatch(entry, match))?.entry
  if (!found) throw new Error(`The log has no entry with ${JSON.stringify(match)}.`)
  return found
}

/** Returns the lines with other fields in one entry. */
const edit = (match: Match, change: object, from = lines): readonly object[] => {
  const { id } = entryOf(match, from)
  return from.map((line) => (line.entry?.id === id ? { ...line, entry: { ...line.entry, ...change } } : line))
}
const remove = (isRemoved: (entry: Entry) => boolean, from = lines): readonly Line[] =>
  from.filter(({ entry }) => !entry || !isRemoved(entry))
const isLink = (entry: Entry | undefined): boolean =>
  entry?.type === 'ext' && entry.name === 'audit-log' && isRecord(entry.data) && 'n' in entry.data

/** The call that sends to this receiver: the id. */
const callTo = (to: string): string => {
  const entry = lines.find(
    (line) => line.entry?.type === 'call' && JSON.stringify(line.entry).includes(`"to":"${to}"`),
  )?.entry
  return entry?.type === 'call' ? entry.callId : ''
}
const isOf = (callId: string) => (entry: Entry) => entry.id.startsWith(`${callId}/`)

describe('an audit', () => {
  test('links each call, decision, approval, outcome, contract, child and end, and verifies from the export alone', () => {
    const report = verify(lines)
    expect(report).toMatchObject({ ok: true, problems: [], open: [], deleted: [] })
    expect(
      report.calls.map(({ agent, toolName, decisions, approvers, outcome }) => [
        agent,
        toolName,
        decisions.join(),
        approvers.join(),
        outcome,
      ]),
    ).toEqual([
      ['desk', 'send', 'proceed', '', 'ok'],
      ['desk', 'look', 'proceed', '', 'ok'],
      ['desk', 'send', 'ask,proceed', 'ann', 'ok'],
      ['desk', 'send', 'deny', '', 'denied'],
      ['desk', 'helper', 'proceed', '', 'ok'],
      ['helper', 'send', 'proceed', '', 'ok'],
    ])
    const linked = new Set(
      lines.flatMap(({ entry }) =>
        entry?.type === 'ext' && isRecord(entry.data) && Array.isArray(entry.data['rows'])
          ? entry.data['rows'].map((row) => isRecord(row) && row['entry'])
          : [],
      ),
    )
    const kinds = lines.flatMap(({ entry }) =>
      entry && linked.has(entry.id) ? [`${entry.type}${'op' in entry ? `.${entry.op}` : ''}`] : [],
    )
    expect([...new Set(kinds)].toSorted()).toEqual([
      'audit',
      'call.decided',
      'call.settled',
      'call.started',
      'child.joined',
      'child.spawned',
      'ext',
      'memo',
      'message',
      'resolved',
      'run.started',
      'wait',
    ])
  })

  test('states hashes and no values: a short PIN cannot be guessed once the session is deleted', () => {
    const chain = auditChain(textOfLines(lines))
    expect(chain).not.toMatch(/pin 4711|pin 0815|salt/)
    expect(verifyAudit(chain, { key })).toMatchObject({ ok: true, calls: [] })
  })

  test('takes one append for each model call and one for the end, however many rows they link', async () => {
    const appends = { with: 0, without: 0 }
    for (const audited of [true, false]) {
      const store = memoryStore()
      await runDesk(
        desk(
          {
            ...store,
            append: (log, entries, at) => {
              appends[audited ? 'with' : 'without']++
              return store.append(log, entries, at)
            },
          },
          audited ? [auditLog({ key })] : [],
        ),
      )
    }
    // The desk: five requests and the end. The helper: its part of the contract, its second request, its end, and its head
    // in the log of the desk.
    expect(appends.with - appends.without).toBe(6 + 4)
  })
})

describe('a broken log is found:', () => {
  const decided = (to: string, outcome: string): Match => ({ op: 'decided', callId: callTo(to), outcome })
  const answer = (): Match => ({ type: 'resolved', by: 'ann' })
  const contract = (): Entry => entryOf({ type: 'memo' })

  test.each<[string, () => readonly object[], readonly string[]]>([
    ['a decision is edited', () => edit(decided('eve', 'deny'), { outcome: 'proceed' }), ['entry-changed']],
    ['the approver is edited', () => edit(answer(), { by: 'bob' }), ['entry-changed']],
    [
      'a contract is widened later',
      () => edit({ id: contract().id }, { value: { version: 1, grants: [], forbidden: [] } }),
      ['entry-changed'],
    ],
    ['an audit row is edited', () => edit({ type: 'audit' }, { rule: 'none' }), ['entry-changed']],
    [
      'the arguments of an allowed call are changed in its message',
      () =>
        edit(
          { id: entryOf(decided('ann', 'proceed')).id.replace(/call\/0.*/, 'message/1') },
          {
            message: JSON.parse(
              JSON.stringify(
                Reflect.get(
                  entryOf({ id: entryOf(decided('ann', 'proceed')).id.replace(/call\/0.*/, 'message/1') }),
                  'message',
                ),
              ).replace('ann', 'mallory'),
            ),
          },
        ),
      ['decision-for-other-arguments', 'entry-changed'],
    ],
    [
      'the arguments of a decision, and so of what ran, are changed',
      () => edit(decided('ann', 'proceed'), { args: { to: 'mallory', pin: 'pin 4711' } }),
      ['decision-for-other-arguments', 'entry-changed', 'ran-with-other-arguments'],
    ],
    [
      'the arguments that an approver wrote are changed',
      () => edit(answer(), { value: { decision: 'approve', sticky: 'session', args: { to: 'bob', pin: '9999' } } }),
      ['approval-for-other-arguments', 'entry-changed'],
    ],
    [
      'an allowed call is removed with all its entries',
      () => remove(isOf(callTo('ann'))),
      ['entry-removed', 'sinks-miscounted'],
    ],
    [
      'a refused call is removed with all its entries',
      () => remove(isOf(callTo('eve'))),
      ['entry-removed', 'sinks-miscounted'],
    ],
    [
      'an approval is removed',
      () => remove(({ id }) => id === entryOf(answer()).id),
      ['entry-removed', 'ran-without-consent'],
    ],
    [
      'an approval is moved to another call',
      () => edit(answer(), { token: `${callTo('eve')}/approval/1` }),
      ['entry-changed', 'ran-without-consent'],
    ],
    [
      'an approval is moved before its question',
      () => {
        const at = lines.findIndex(({ entry }) => isMatch(entry, answer()))
        const line = lines[at]
        return line ? lines.toSpliced(at, 1).toSpliced(at - 2, 0, line) : []
      },
      ['entry-moved', 'ran-without-consent'],
    ],
    [
      'entries are swapped',
      () => {
        const [a, b] = [decided('ann', 'proceed'), { op: 'settled', callId: callTo('ann') }].map((match) =>
          lines.findIndex(({ entry }) => isMatch(entry, match)),
        )
        const [first, second] = [lines[a ?? 0], lines[b ?? 0]]
        return first && second ? lines.with(a ?? 0, second).with(b ?? 0, first) : []
      },
      ['call-undecided', 'entry-moved'],
    ],
    [
      'a call is added without a decision',
      () => {
        const at = lines.findIndex(({ entry }) => isMatch(entry, { op: 'started', callId: callTo('ann') }))
        const forged = (op: object): object => ({
          type: 'entry',
          entry: { ...lines[at]?.entry, callId: 'forged', ...op },
        })
        const planned = forged({
          id: 'forged/planned',
          op: 'planned',
          parentCallId: '',
          key: '1',
          toolName: 'send',
          args: {},
        })
        return lines.toSpliced(at, 0, ...([planned, forged({ id: 'forged/started/1' })] as Line[]))
      },
      ['call-undecided', 'entry-unlinked'],
    ],
    [
      'a result is added for a call that has one',
      () => {
        const at = lines.findIndex(({ entry }) => isMatch(entry, { op: 'settled', callId: callTo('ann') }))
        return lines.toSpliced(at + 1, 0, {
          ...lines[at],
          type: 'entry',
          entry: { ...lines[at]?.entry, id: 'second' } as Entry,
        })
      },
      ['entry-unlinked', 'outcome-twice'],
    ],
    [
      'an entry is repeated',
      () => {
        const at = lines.findIndex(({ entry }) => isMatch(entry, answer()))
        return lines.toSpliced(at, 0, ...lines.slice(at, at + 1))
      },
      ['entry-twice'],
    ],
    [
      'the status of the end is changed',
      () => edit({ op: 'ended', agent: 'desk' }, { status: 'failed' }),
      ['entry-changed'],
    ],
    [
      'the status of the end of a child is changed',
      () => edit({ op: 'ended', agent: 'helper' }, { status: 'aborted' }),
      ['entry-changed'],
    ],
    [
      'the last link is removed',
      () => {
        const at = lines.findLastIndex(({ entry }) => entry?.agent === 'desk' && isLink(entry))
        return lines.toSpliced(at, 1)
      },
      ['end-cut-off'],
    ],
    [
      'a call is added after the end of its run',
      () => {
        const end = entryOf({ op: 'ended', agent: 'desk' })
        const at = lines.findIndex(({ entry }) => entry === end)
        return lines.toSpliced(at + 1, 0, {
          type: 'entry',
          entry: { ...end, id: 'x', offset: end.offset + 1, type: 'wait', token: 'x', kind: 'remote' },
        })
      },
      ['entry-unlinked'],
    ],
    [
      'the log of a child is removed',
      () =>
        lines.filter(
          ({ type }, index) => type === 'footer' || index < lines.findLastIndex((line) => line.type === 'log'),
        ),
      ['child-removed'],
    ],
    [
      'the chain of a child ends early',
      () => {
        const at = lines.findLastIndex(({ entry }) => isLink(entry))
        return lines.toSpliced(at, 1)
      },
      ['child-changed', 'end-cut-off'],
    ],
    [
      'a link is removed',
      () =>
        lines.toSpliced(
          lines.findIndex(({ entry }) => isLink(entry)),
          1,
        ),
      ['entry-unlinked', 'link-missing'],
    ],
    [
      'a row is removed from a link',
      () => {
        const { entry } = lines.find((line) => isLink(line.entry)) ?? {}
        const data = entry?.type === 'ext' && isRecord(entry.data) ? entry.data : {}
        const rows: readonly Json[] = Array.isArray(data['rows']) ? data['rows'] : []
        return edit({ id: entry?.id }, { data: { ...data, rows: rows.slice(1) } })
      },
      ['entry-unlinked', 'link-changed'],
    ],
    ['a clock is set back', () => edit(answer(), { at: 0 }), ['clock-backwards', 'entry-changed']],
  ])('%s', (_, broken, found) => {
    const report = verify(broken())
    expect(codes(broken())).toEqual(found.toSorted())
    expect(report.ok).toBe(false)
  })

  test('the end of a run that was paused before, and has no last link', async () => {
    const store = memoryStore()
    const audited = desk(store)
    const { state, pending, sessionId } = await audited.run('Send the PIN to ann, bob, eve and zoe.')
    await audited.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann' })) })
    const all = await exportedLines(store, sessionId)
    expect(codes(all)).toEqual([])
    const at = all.findLastIndex(({ entry }) => entry?.agent === 'desk' && isLink(entry))
    const unlinked = all.toSpliced(at, 1)
    expect(codes(unlinked)).toEqual(['end-cut-off'])
    // A process that is cut off in an abort writes no last link.
    expect(codes(edit({ op: 'ended', agent: 'desk' }, { status: 'aborted' }, unlinked))).toEqual([])
  })

  test('the end is cut off, where the head was stored elsewhere', async () => {
    const heads: string[] = []
    const whole = await auditedLines([auditLog({ key, onHead: (head) => heads.push(head) })])
    const [head = ''] = heads
    expect(heads).toHaveLength(1)
    expect(codes(whole, { key, head })).toEqual([])
    const start = whole.findIndex(({ entry }) => isMatch(entry, { op: 'settled', agent: 'desk' }))
    const cut = [...whole.slice(0, start), ...whole.slice(whole.findLastIndex(({ type }) => type === 'log'))]
    expect(codes(cut, { key, head })).toContain('end-cut-off')
  })

  test('an export without its last line', () => {
    expect(codes(lines.filter(({ type }) => type !== 'footer'))).toEqual(['end-cut-off'])
  })

  test('the chain is made again without the key, or with another', async () => {
    const other = await auditedLines([auditLog({ key: 'other' })])
    expect(codes(other)).toEqual(['link-changed'])
    expect(codes(await auditedLines([auditLog()]))).toEqual(['key-unused'])
  })
})

describe('of several runs in a session', () => {
  async function twoRuns(): Promise<readonly Line[]> {
    const store = memoryStore()
    const { sessionId } = await runDesk(desk(store))
    await runDesk(desk(store), sessionId)
    return exportedLines(store, sessionId)
  }
  const runsOf = (from: readonly Line[]): readonly string[] =>
    from.flatMap(({ entry }) => (entry?.type === 'run' && entry.op === 'started' && !entry.parent ? [entry.runId] : []))

  test('a whole run that is removed is found', async () => {
    const two = await twoRuns()
    const [first = ''] = runsOf(two)
    expect(codes(two)).toEqual([])
    expect(codes(remove(({ runId }) => runId.startsWith(first), two))).toContain('link-missing')
    // With its links left, each entry of it is missed.
    expect(codes(remove((entry) => entry.runId === first && !isLink(entry), two))).toEqual(
      expect.arrayContaining(['entry-removed', 'sinks-miscounted']),
    )
  })

  test('entries of two runs that are interleaved are found', async () => {
    const two = await twoRuns()
    const [, second = ''] = runsOf(two)
    const start = two.findIndex(({ entry }) => entry?.runId === second)
    const moved = two.toSpliced(start, 1).toSpliced(start - 6, 0, ...two.slice(start, start + 1))
    expect(codes(moved)).toContain('entry-moved')
  })
})

describe('a writer that has the key', () => {
  /** Links a log that was changed before: the next run of an audited agent links all of it. */
  async function linkedLater(change: (entries: readonly Entry[]) => readonly object[]): Promise<readonly Line[]> {
    const plain = await auditedLines([])
    const end = plain.findLastIndex(({ type }) => type === 'log')
    const entries = change(plain.slice(0, end).flatMap(({ entry }) => (entry ? [entry] : [])))
    const store = memoryStore()
    const id = 'later'
    const lease = await store.lease(id, 'writer', 60_000)
    if (lease === 'busy') throw new Error('The log has a writer.')
    // The lies are entries like any other.
    await store.append(id, entries as readonly Entry[], { after: 0, fence: lease.fence })
    await store.release(id, lease.fence)
    await runDesk(desk(store), id)
    const later = await exportedLines(store, id)
    // The children of the first run are in another store.
    return later.filter(({ entry }) => entry?.type !== 'child')
  }

  const faults = async (change: (entries: readonly Entry[]) => readonly object[]): Promise<readonly string[]> =>
    codes(await linkedLater(change)).filter((code) => !['entry-removed', 'child-changed'].includes(code))

  test('cannot state that a denied call ran', async () => {
    const ran = await faults((entries) =>
      entries.map((entry) =>
        entry.type === 'call' && entry.op === 'settled' && entry.outcome === 'denied'
          ? { ...entry, outcome: 'ok', via: 'executed' }
          : entry,
      ),
    )
    expect(ran).toEqual(['ran-without-consent'])
  })

  test('cannot leave out an approval, or give one after the question expired', async () => {
    expect(
      await faults((entries) =>
        entries.filter((entry) => entry.type !== 'resolved').map((entry, n) => ({ ...entry, offset: n + 1 })),
      ),
    ).toEqual(['ran-without-consent'])
    const late = await faults((entries) =>
      entries.map((entry) => (entry.type === 'wait' ? { ...entry, deadline: entry.at - 3_600_000 } : entry)),
    )
    expect(late).toEqual(['approval-expired'])
  })

  test('cannot state a result of a call that does not exist', async () => {
    const invented = await faults((entries) =>
      entries.map((entry) =>
        entry.type === 'call' && entry.callId.endsWith('/2/call/0') && entry.op === 'settled'
          ? { ...entry, callId: 'none' }
          : entry,
      ),
    )
    expect(invented).toEqual(['record-without-call'])
  })
})

describe('keys and policies', () => {
  test('a key that was replaced still verifies under its name, and is missed without it', async () => {
    const store = memoryStore()
    const { sessionId } = await runDesk(desk(store, [auditLog({ key: 'first', keyId: '2025' })]))
    await runDesk(desk(store, [auditLog({ key: 'second', keyId: '2026' })]), sessionId)
    const both = await exportedLines(store, sessionId)
    expect(codes(both, { keys: { 2025: 'first', 2026: 'second' } })).toEqual([])
    expect(codes(both, { keys: { 2026: 'second' } })).toEqual(['key-needed'])
    expect(codes(both, { keys: { 2025: 'second', 2026: 'second' } })).toEqual(['link-changed'])
  })

  test('a link under an unknown policy is found', async () => {
    const under = await auditedLines([auditLog({ key, policy: 'a1b2' })])
    expect(codes(under, { key, policies: ['a1b2'] })).toEqual([])
    expect(codes(under, { key, policies: ['c3d4'] })).toEqual(['unknown-policy'])
  })
})

describe('a lawful deletion', () => {
  test('leaves tombstones, which count as deleted, and no salt to guess the values with', () => {
    const ids = lines.flatMap(({ entry }) => (entry && isOf(callTo('eve'))(entry) ? [entry.id] : []))
    const kept = deleteFromAudit(textOfLines(lines), { entries: ids, by: 'dpo', key })
    expect(verifyAudit(kept, { key })).toMatchObject({ ok: true, problems: [], deleted: ids })
    const rows = kept.split('\n').filter((line) => ids.some((id) => line.includes(`"entry":"${id}","payload"`)))
    expect(rows.length).toBeGreaterThan(0)
    for (const id of ids) expect(kept).not.toMatch(new RegExp(`"entry":"${id}","payload":"[^"]*","salt"`))
  })

  test('needs the key', () => {
    const [id = ''] = lines.flatMap(({ entry }) => (entry?.type === 'audit' ? [entry.id] : []))
    const forged = deleteFromAudit(textOfLines(lines), { entries: [id], by: 'dpo', key: 'other' })
    expect(verifyAudit(forged, { key }).problems).toMatchObject([{ code: 'entry-removed', entry: id }])
    expect(() => verifyAudit('{"type":"tombstone"}')).toThrow(expect.objectContaining({ code: 'unreadable-export' }))
  })
})

test('any single change, removal or swap of a linked entry is found', () => {
  const linked = lines.flatMap(({ entry }, index) =>
    entry &&
    !isLink(entry) &&
    !['attempt', 'tail'].includes(entry.type) &&
    !(entry.type === 'message' && !JSON.stringify(entry).includes('tool-call'))
      ? [index]
      : [],
  )
  const at = fc.constantFrom(...linked)
  const change = fc.oneof(
    fc.record({ kind: fc.constant('change' as const), at, seed: fc.nat() }),
    fc.record({ kind: fc.constant('remove' as const), at, seed: fc.nat() }),
    fc.record({ kind: fc.constant('swap' as const), at, seed: fc.nat() }),
  )
  fc.assert(
    fc.property(change, ({ kind, at: index, seed }) => {
      const broken = brokenLines(kind, index, linked[seed % linked.length] ?? 0, seed)
      // The change says nothing else: it is to the text of a message, or between equal lines.
      fc.pre(broken !== undefined)
      expect(codes(broken)).not.toEqual([])
    }),
    { numRuns: full ? 1_200 : 150 },
  )
})

/** Returns the lines with one entry changed, removed, or swapped with another of its run. */
function brokenLines(
  kind: 'change' | 'remove' | 'swap',
  index: number,
  other: number,
  seed: number,
): readonly object[] | undefined {
  const [line, second] = [lines[index], lines[other]]
  // The end of a run has no link yet, only its status.
  if (!line?.entry || !second?.entry || (line.entry.type === 'run' && line.entry.op === 'ended')) return undefined
  if (kind === 'remove') return lines.toSpliced(index, 1)
  if (kind === 'swap') {
    const isEnd = second.entry.type === 'run'
    if (other === index || isEnd || second.entry.runId !== line.entry.runId) return undefined
    return lines.with(index, second).with(other, line)
  }
  const text = JSON.stringify(line.entry)
  const place = seed % text.length
  const entry = parsed(`${text.slice(0, place)}${text[place] === 'a' ? 'b' : 'a'}${text.slice(place + 1)}`)
  if (!entry || partOf(entry) === partOf(line.entry)) return undefined
  return lines.with(index, { type: 'entry', entry })
}

function parsed(text: string): Entry | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The part of an entry that the audit states: all but the offset, and of a message the calls. */
function partOf(whole: Entry): string {
  const entry: Entry = { ...whole, offset: 0 }
  if (entry.type !== 'message') return JSON.stringify(entry)
  const { content } = entry.message ?? {}
  const calls = Array.isArray(content)
    ? content.flatMap((part) => (part.type === 'tool-call' ? [[part.callId, part.toolName, part.input]] : []))
    : []
  return JSON.stringify([entry.id, entry.at, entry.runId, entry.step, entry.agent, entry.type, calls])
}

test('a fork has an audit of its own: what was copied is covered by that of the original', async () => {
  const store = memoryStore()
  const { sessionId } = await runDesk(desk(store))
  const { sessionId: fork } = await forkSession(store, sessionId)
  expect(verify(await exportedLines(store, fork))).toMatchObject({ ok: true, links: 0 })
  await runDesk(desk(store), fork)
  const forked = await exportedLines(store, fork)
  expect(codes(forked)).toEqual([])
  const [, , , call] = verify(forked).calls.filter(({ agent }) => agent === 'desk')
  const later = forked.filter(({ entry }) => entry?.type === 'resolved')
  expect(call?.outcome).toBe('denied')
  expect(codes(remove((entry) => entry === later.at(-1)?.entry, forked))).toEqual([
    'entry-removed',
    'ran-without-consent',
  ])
})

test('a session that is imported from outside goes on under an audit', async () => {
  const store = memoryStore()
  await importSession(store, `${textOfLines(lines)}\n`)
  const [id = ''] = lines.flatMap(({ entry }) =>
    entry?.type === 'run' && entry.op === 'started' ? [String(lines[0]?.['session'])] : [],
  )
  await runDesk(desk(store), id)
  expect(codes(await exportedLines(store, id))).toEqual([])
})
