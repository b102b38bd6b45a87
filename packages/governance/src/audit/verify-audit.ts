import { timingSafeEqual } from 'node:crypto'

import type { Entry, KnownKeys } from '@provost/core'
import { checkOptions, checkArguments } from '@provost/core'

import { linkOf, payloadHash } from './audit-link.ts'
import type { AuditLink, AuditRow } from './audit-link.ts'
import { linkIn } from './audit-log.ts'
import { effectRow } from './effect-row.ts'
import type { EffectRow, OpenEffects } from './effect-row.ts'
import { logsIn } from './exported-log.ts'

/** A problem that {@link verifyAudit} found. */
export interface AuditProblem {
  readonly code:
    | 'row-changed'
    | 'row-unlinked'
    | 'link-missing'
    | 'link-changed'
    | 'link-twice'
    | 'key-needed'
    | 'key-unused'
    | 'head-changed'
  /** The id of the affected entry. */
  readonly entry: string
  readonly message: string
}

/** The result of {@link verifyAudit}. */
export interface AuditReport {
  /** Whether there are no problems. */
  readonly ok: boolean
  readonly problems: readonly AuditProblem[]
  /** Number of links in the chain. */
  readonly links: number
  /** Deleted rows; their links still verify. */
  readonly deleted: readonly string[]
  /** Rows after the last link: written, but not linked yet. */
  readonly open: readonly string[]
  /** What happened to effects, in order, with the names of the tools. */
  readonly effects: readonly AuditedEffect[]
  /** The hash of the last link. Store it elsewhere to detect later whether the chain's end was removed. */
  readonly head?: string
}

/** One row about an effect: see {@link AuditReport.effects}. */
export interface AuditedEffect extends EffectRow {
  readonly toolName: string
}

/** Options of {@link verifyAudit}. */
export interface VerifyOptions {
  /** The key of the links. */
  readonly key?: string | Uint8Array
  /** A head stored elsewhere: the chain must contain it. */
  readonly head?: string
}

const optionKeys = {
  key: true,
  head: true,
} satisfies KnownKeys<VerifyOptions>

/**
 * Checks the audit of one session offline: no row was changed, added, moved or left out. It counts deleted rows. Only a
 * `head` stored elsewhere shows that the end of a chain was removed. Each log of a session has its own chain; the head
 * belongs to the session's own log.
 *
 * @param exported the entries of a log, the same as JSON lines, or the output of `exportSession`.
 * @throws ProvostError `unreadable-export` for lines that are not entries.
 *
 * @example
 * const { ok, problems } = verifyAudit(readFileSync('session.jsonl', 'utf8'), { key: process.env.AUDIT_KEY })
 */
export function verifyAudit(exported: string | Iterable<Entry>, options: VerifyOptions = {}): AuditReport {
  checkOptions(options, optionKeys, 'verifyAudit')
  if (typeof exported !== 'string') checkArguments('verifyAudit', [exported], ['entries'])
  const logs = logsIn(exported)
  const reports = (logs.length > 0 ? logs : [[]]).map((log, index) =>
    // The stored head belongs to the session's own log, not to those of its children.
    verifyLog(log, index === 0 ? options : { ...(options.key !== undefined && { key: options.key }) }),
  )
  const [session] = reports
  return {
    ok: reports.every(({ ok }) => ok),
    problems: reports.flatMap(({ problems }) => problems),
    links: reports.reduce((sum, { links }) => sum + links, 0),
    deleted: reports.flatMap(({ deleted }) => deleted),
    open: reports.flatMap(({ open }) => open),
    effects: reports.flatMap(({ effects }) => effects),
    ...(session?.head !== undefined && { head: session.head }),
  }
}

function verifyLog(log: readonly Entry[], options: VerifyOptions): AuditReport {
  const rows = new Map<string, { readonly row: AuditRow; readonly offset: number }>()
  const names = new Map<string, string>()
  const effects: AuditedEffect[] = []
  let under: OpenEffects = {}
  const links: { readonly link: AuditLink; readonly offset: number }[] = []
  for (const entry of log) {
    if (entry.type === 'audit') rows.set(entry.id, { row: entry, offset: entry.offset })
    for (const [callId, toolName] of namesIn(entry)) names.set(callId, toolName)
    const { row, open } = effectRow(under, entry)
    under = open
    if (row) {
      rows.set(row.id, { row, offset: entry.offset })
      effects.push({ ...row, toolName: names.get(row.callId) ?? '' })
    }
    const link = linkIn(entry)
    if (link) links.push({ link, offset: entry.offset })
  }
  const problems: AuditProblem[] = []
  const seen = new Set<string>()
  let last: AuditLink | undefined
  for (const { link } of links) {
    addProblems(problems, link, last, rows.get(link.entry)?.row, options)
    if (seen.has(link.entry)) problems.push(problem('link-twice', link.entry, 'The row has two links.'))
    seen.add(link.entry)
    last = link
  }
  const end = links.at(-1)?.offset ?? 0
  const unlinked = [...rows].flatMap(([id, { offset }]) => (seen.has(id) ? [] : [{ id, offset }]))
  for (const { id, offset } of unlinked) {
    // Written as `!(a > b)` so that a row without an offset is reported too.
    if (!(offset > end))
      problems.push(problem('row-unlinked', id, 'The row precedes the end of the chain and has no link.'))
  }
  if (options.head !== undefined && !links.some(({ link }) => link.hash === options.head)) {
    problems.push(problem('head-changed', last?.entry ?? '', 'The chain does not contain the given head.'))
  }
  return {
    ok: problems.length === 0,
    problems,
    links: links.length,
    deleted: [...seen].filter((id) => !rows.has(id)),
    open: unlinked.filter(({ offset }) => offset > end).map(({ id }) => id),
    effects,
    ...(last && { head: last.hash }),
  }
}

function addProblems(
  found: AuditProblem[],
  link: AuditLink,
  before: AuditLink | undefined,
  row: AuditRow | undefined,
  { key }: VerifyOptions,
): void {
  if (link.n !== (before?.n ?? 0) + 1 || link.previous !== (before?.hash ?? '')) {
    found.push(problem('link-missing', link.entry, `Link ${link.n} does not follow link ${before?.n ?? 0}.`))
  }
  if (link.keyed && key === undefined)
    found.push(problem('key-needed', link.entry, 'The link was made with a key, and no key was given.'))
  else if (!link.keyed && key !== undefined)
    found.push(problem('key-unused', link.entry, 'The link was made without a key, but a key was given.'))
  else if (!same(linkOf(link, key).hash, link.hash, key !== undefined))
    found.push(problem('link-changed', link.entry, 'The hash of the link does not match its content.'))
  if (row && payloadHash(row) !== link.payload)
    found.push(problem('row-changed', link.entry, 'The row does not match its link.'))
}

/** Returns the calls that an entry makes, with the names of their tools. */
function namesIn(entry: Entry): readonly (readonly [callId: string, toolName: string])[] {
  if (entry.type === 'call' && entry.op === 'planned') return [[entry.callId, entry.toolName]]
  if (entry.type !== 'message') return []
  return entry.message.content.flatMap((part) =>
    part.type === 'tool-call' ? [[part.callId, part.toolName] as const] : [],
  )
}

/** Compares hashes. With a key, the comparison takes constant time so that it does not leak the expected hash. */
function same(a: string, b: string, keyed: boolean): boolean {
  if (!keyed) return a === b
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function problem(code: AuditProblem['code'], entry: string, message: string): AuditProblem {
  return { code, entry, message }
}
