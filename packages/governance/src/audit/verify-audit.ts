import { timingSafeEqual } from 'node:crypto'

import type { Entry, EntryOf, KnownKeys } from '@provost/core'
import { checkOptions } from '@provost/core'

import { linkOf, payloadHash } from './audit-link.ts'
import type { AuditLink } from './audit-link.ts'
import { linkIn } from './audit-log.ts'
import { logsIn } from './exported-log.ts'

/** What is wrong with an audit. */
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
  /** The id of the entry it is about. */
  readonly entry: string
  readonly message: string
}

/** What {@link verifyAudit} found. */
export interface AuditReport {
  /** Nothing is wrong. */
  readonly ok: boolean
  readonly problems: readonly AuditProblem[]
  /** Links of the chain. */
  readonly links: number
  /** Rows that were deleted; their links still hold. */
  readonly deleted: readonly string[]
  /** Rows behind the last link: written, not linked yet. */
  readonly open: readonly string[]
  /** The hash of the last link. Kept elsewhere, it shows later whether the end was cut off. */
  readonly head?: string
}

/** What {@link verifyAudit} takes. */
export interface VerifyOptions {
  /** The key that the links were made under. */
  readonly key?: string | Uint8Array
  /** The head that is known from elsewhere: the chain must contain it. */
  readonly head?: string
}

const optionKeys = {
  key: true,
  head: true,
} satisfies KnownKeys<VerifyOptions>

/**
 * Checks the audit of one session, offline: that no row was changed, added, moved or left out. Deleted rows are counted.
 * A chain that was cut off at its end is shown only by a `head` that was kept elsewhere. Each log of a session has a
 * chain of its own: the head is that of the session's own log.
 *
 * @param exported the entries of a log, the same as JSON lines, or what `exportSession` gives.
 * @throws ProvostError `unreadable-export` for lines that are no entries.
 *
 * @example
 * const { ok, problems } = verifyAudit(readFileSync('session.jsonl', 'utf8'), { key: process.env.AUDIT_KEY })
 */
export function verifyAudit(exported: string | Iterable<Entry>, options: VerifyOptions = {}): AuditReport {
  checkOptions(options, optionKeys, 'verifyAudit')
  const logs = logsIn(exported)
  const reports = (logs.length > 0 ? logs : [[]]).map((log, index) =>
    // The head that was kept is that of the session; its children have others.
    verifyLog(log, index === 0 ? options : { ...(options.key !== undefined && { key: options.key }) }),
  )
  const [session] = reports
  return {
    ok: reports.every(({ ok }) => ok),
    problems: reports.flatMap(({ problems }) => problems),
    links: reports.reduce((sum, { links }) => sum + links, 0),
    deleted: reports.flatMap(({ deleted }) => deleted),
    open: reports.flatMap(({ open }) => open),
    ...(session?.head !== undefined && { head: session.head }),
  }
}

function verifyLog(log: readonly Entry[], options: VerifyOptions): AuditReport {
  const rows = new Map<string, EntryOf<'audit'>>()
  const links: { readonly link: AuditLink; readonly offset: number }[] = []
  for (const entry of log) {
    if (entry.type === 'audit') rows.set(entry.id, entry)
    const link = linkIn(entry)
    if (link) links.push({ link, offset: entry.offset })
  }
  const problems: AuditProblem[] = []
  const seen = new Set<string>()
  let last: AuditLink | undefined
  for (const { link } of links) {
    addProblems(problems, link, last, rows.get(link.entry), options)
    if (seen.has(link.entry)) problems.push(problem('link-twice', link.entry, 'The row has two links.'))
    seen.add(link.entry)
    last = link
  }
  const end = links.at(-1)?.offset ?? 0
  const unlinked = [...rows.values()].filter(({ id }) => !seen.has(id))
  for (const { id, offset } of unlinked) {
    // One that does not say where it stands is out of place as well.
    if (!(offset > end))
      problems.push(problem('row-unlinked', id, 'The row stands before the end of the chain and has no link.'))
  }
  if (options.head !== undefined && !links.some(({ link }) => link.hash === options.head)) {
    problems.push(problem('head-changed', last?.entry ?? '', 'The chain does not contain the head that was kept.'))
  }
  return {
    ok: problems.length === 0,
    problems,
    links: links.length,
    deleted: [...seen].filter((id) => !rows.has(id)),
    open: unlinked.filter(({ offset }) => offset > end).map(({ id }) => id),
    ...(last && { head: last.hash }),
  }
}

function addProblems(
  found: AuditProblem[],
  link: AuditLink,
  before: AuditLink | undefined,
  row: EntryOf<'audit'> | undefined,
  { key }: VerifyOptions,
): void {
  if (link.n !== (before?.n ?? 0) + 1 || link.previous !== (before?.hash ?? '')) {
    found.push(problem('link-missing', link.entry, `Link ${link.n} does not follow link ${before?.n ?? 0}.`))
  }
  if (link.keyed && key === undefined) found.push(problem('key-needed', link.entry, 'The link was made under a key.'))
  else if (!link.keyed && key !== undefined)
    found.push(problem('key-unused', link.entry, 'The link was made without a key.'))
  else if (!same(linkOf(link, key).hash, link.hash, key !== undefined))
    found.push(problem('link-changed', link.entry, 'The hash of the link is not its own.'))
  if (row && payloadHash(row) !== link.payload)
    found.push(problem('row-changed', link.entry, 'The row is not what was linked.'))
}

/** Under a key the time that it takes says nothing of the hash that it should be. */
function same(a: string, b: string, keyed: boolean): boolean {
  if (!keyed) return a === b
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function problem(code: AuditProblem['code'], entry: string, message: string): AuditProblem {
  return { code, entry, message }
}
