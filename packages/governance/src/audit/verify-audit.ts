import type { Entry, KnownKeys } from '@provost/core'
import { checkArguments, checkOptions, isRecord } from '@provost/core'

import type { AuditKey, AuditLink, ChildAnchor } from './audit-link.ts'
import { anchorIn, auditLogName, linkIn } from './audit-link.ts'
import type { AuditedEffect, AuditProblem, AuditReport } from './audit-report.ts'
import { problem } from './audit-report.ts'
import { callsIn, isAudited, isCopyMark } from './audited-entry.ts'
import type { OpenCalls, OpenEntry } from './chain-fold.ts'
import { readEntry } from './chain-fold.ts'
import type { EffectRow, OpenEffects } from './effect-row.ts'
import { effectRow } from './effect-row.ts'
import type { ExportedAudit } from './exported-log.ts'
import { readExport, tombstoneHash } from './exported-log.ts'
import { firstPayload } from './first-format.ts'
import { checkLink, checkRow, same } from './link-check.ts'
import { checkRecords } from './record-check.ts'

/** Options of {@link verifyAudit}. */
export interface VerifyOptions {
  /** The key of links that name none. */
  readonly key?: AuditKey
  /** The keys of links that name one (`keyId`), by that name. */
  readonly keys?: Readonly<Record<string, AuditKey>>
  /** A head stored elsewhere: the chain of the session's own log must contain it. */
  readonly head?: string
  /** The known versions of policies: a link that states another one, or none, is reported. */
  readonly policies?: readonly string[]
}

const optionKeys = {
  key: true,
  keys: true,
  head: true,
  policies: true,
} satisfies KnownKeys<VerifyOptions>

/**
 * Checks the audit of one session offline. It names each entry that was changed, added, moved or left out, and each call
 * that ran against its decision; see {@link AuditProblem} for the codes. Each log of a session has its own chain, and the
 * log of a run links the heads of its children. Only a `head` stored elsewhere shows that the end of the last run was
 * removed. The holder of the key can forge all of it.
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
  const read = readExport(exported)
  const tombstones = validTombstones(read, options)
  const { head, ...others } = options
  const logs = read.logs.length > 0 ? read.logs : [[]]
  // The stored head belongs to the session's own log, not to those of its children.
  const reports = logs.map((log, index) =>
    verifyLog(log, index === 0 && head !== undefined ? { ...others, head } : others, tombstones),
  )
  const problems = [...reports.flatMap((report) => report.problems), ...checkChildren(reports, read.isWhole)]
  const endsAbove = new Map(reports.flatMap(({ childEnds }) => [...childEnds]))
  // The run above ends a child whose process died after the last link. Its own links cover the status that it records.
  for (const { run, status, found } of reports.flatMap(({ otherEnds }) => otherEnds))
    if (endsAbove.get(run) !== status) problems.push(found)
  if (read.isCut) problems.push(problem('end-cut-off', '', 'The export has no last line: it was cut off.'))
  const [session] = reports
  return {
    ok: problems.length === 0,
    problems,
    links: reports.reduce((sum, { links }) => sum + links, 0),
    deleted: reports.flatMap(({ deleted }) => deleted),
    open: reports.flatMap(({ open }) => open),
    calls: reports.flatMap(({ calls }) => calls),
    effects: reports.flatMap(({ effects }) => effects),
    ...(session?.head !== undefined && { head: session.head }),
  }
}

/** Returns the ids of entries that were deleted lawfully. */
function validTombstones({ tombstones }: ExportedAudit, { key, keys = {} }: VerifyOptions): ReadonlySet<string> {
  const all = [key, ...Object.values(keys)]
  const isValid = ({ entry, by, hash }: ExportedAudit['tombstones'][number]): boolean =>
    all.some((one) => (one !== undefined || all.length === 1) && same(tombstoneHash(entry, by, one), hash))
  return new Set(tombstones.filter(isValid).map(({ entry }) => entry))
}

/** The report of one log, with what the logs of a session state of each other. */
interface LogReport extends Omit<AuditReport, 'ok'> {
  readonly runs: ReadonlySet<string>
  /** Ends that are not those of the last links of their runs. */
  readonly otherEnds: readonly OtherEnd[]
  /** How the log states that runs of children ended. */
  readonly childEnds: ReadonlyMap<string, string>
  readonly anchors: readonly ChildAnchor[]
  /** Runs of children that completed. */
  readonly joined: ReadonlySet<string>
  /** Those of them whose run above was in one process from their start to their end. */
  readonly followed: ReadonlySet<string>
  readonly hashes: ReadonlySet<string>
  /** Runs whose last link states that they completed. */
  readonly sealed: ReadonlySet<string>
}

/** The end of a run that is not the one of its last link. */
interface OtherEnd {
  readonly run: string
  readonly status: string
  readonly found: AuditProblem
}

/** What the entries of a log hold. */
interface ReadLog {
  readonly entries: ReadonlyMap<string, OpenEntry & { readonly index: number }>
  readonly links: readonly AuditLink[]
  /** By entry. */
  readonly changes: ReadonlyMap<string, EffectRow>
  readonly effects: readonly AuditedEffect[]
  /** The first decided arguments of each call. */
  readonly decided: ReadonlyMap<string, unknown>
  readonly problems: readonly AuditProblem[]
}

function readLog(log: readonly Entry[]): ReadLog {
  const entries = new Map<string, OpenEntry & { readonly index: number }>()
  const links: AuditLink[] = []
  const changes = new Map<string, EffectRow>()
  const effects: AuditedEffect[] = []
  const decided = new Map<string, unknown>()
  const problems: AuditProblem[] = []
  const calls: OpenCalls = new Map()
  const names = new Map<string, string>()
  let under: OpenEffects = {}
  for (const [index, entry] of log.entries()) {
    const link = linkIn(entry)
    if (link) {
      links.push(link)
      continue
    }
    for (const { callId, toolName } of callsIn(entry)) names.set(callId, toolName)
    if (isAudited(entry)) {
      if (entries.has(entry.id)) problems.push(problem('entry-twice', entry.id, 'Two entries have this id.'))
      entries.set(entry.id, { ...readEntry(calls, entry), index })
    }
    if (entry.type === 'call' && entry.op === 'decided' && !decided.has(entry.callId))
      decided.set(entry.callId, entry.args)
    const { row, open } = effectRow(under, entry)
    under = open
    if (!row) continue
    changes.set(row.id, row)
    effects.push({ ...row, toolName: names.get(row.callId) ?? '' })
  }
  return { entries, links, changes, effects, decided, problems }
}

function verifyLog(log: readonly Entry[], options: VerifyOptions, tombstones: ReadonlySet<string>): LogReport {
  const read = readLog(log)
  const { entries, links, changes, effects } = read
  const problems = [...read.problems]
  // What `auditChain` keeps has links alone, and claims nothing about entries.
  const isChain = entries.size === 0
  const deleted = new Set<string>()
  const linked = new Set<string>()
  const sinks = new Map<string, Set<string>>()
  const places = { old: -1, now: -1 }
  let last: AuditLink | undefined
  for (const link of links) {
    problems.push(...checkLink(link, last, options))
    if (options.policies && !link.old && !options.policies.includes(link.policy ?? ''))
      problems.push(problem('unknown-policy', link.rows.at(-1)?.entry ?? '', `Unknown policy "${link.policy ?? ''}".`))
    for (const row of link.rows) {
      const key = link.old ? `old ${row.entry}` : row.entry
      if (linked.has(key)) problems.push(problem('link-twice', row.entry, 'The entry has two links.'))
      linked.add(key)
      const entry = entries.get(row.entry)
      if (!entry) {
        if (isChain || tombstones.has(row.entry)) deleted.add(row.entry)
        else problems.push(problem('entry-removed', row.entry, 'The entry has a link, and is missing.'))
      } else {
        const format = link.old ? 'old' : 'now'
        if (entry.index < places[format])
          problems.push(problem('entry-moved', row.entry, 'The entry is not at its place.'))
        places[format] = Math.max(places[format], entry.index)
        if (!link.old) problems.push(...checkRow(row, entry, read.decided))
        else if (firstPayload(entry.entry, changes.get(row.entry)) !== row.payload)
          problems.push(problem('entry-changed', row.entry, 'The entry does not match its link.'))
      }
      if (row.sink && (entry || deleted.has(row.entry))) addSink(sinks, row.entry, entry?.entry)
    }
    if (link.end && !isChain) problems.push(...checkSinks(link.end, sinks))
    last = link
  }
  const open = openEntries(read, linked, problems)
  const ends = checkEnds(log, read, open)
  problems.push(...ends.found)
  if (options.head !== undefined && !links.some(({ hash }) => hash === options.head))
    problems.push(problem('end-cut-off', last?.rows.at(-1)?.entry ?? '', 'The chain does not contain the given head.'))
  const records = checkRecords(log, deleted.size > 0)
  if (links.some(({ old }) => !old)) problems.push(...records.problems)
  return {
    problems,
    links: links.length,
    deleted: [...deleted],
    open: [...open].filter((id) => !isSealed(entries.get(id)?.entry, links)),
    calls: records.calls,
    effects,
    ...(last && { head: last.hash }),
    runs: new Set(log.map(({ runId }) => runId)),
    otherEnds: ends.others,
    childEnds: new Map(
      log.flatMap((one) => (one.type === 'child' && one.op === 'joined' ? [[one.callId, one.status] as const] : [])),
    ),
    anchors: log.flatMap((entry) => anchorIn(entry) ?? []),
    ...completedChildren(log),
    hashes: new Set(links.map(({ hash }) => hash)),
    sealed: new Set(links.flatMap(({ end }) => (end?.status === 'completed' ? [end.run] : []))),
  }
}

/** Counts a call of a run by the id of its decision, which survives the entry. */
function addSink(sinks: Map<string, Set<string>>, decision: string, entry: Entry | undefined): void {
  const callId = decision.replace(/\/decided\/\d+$/, '')
  const run = entry?.runId ?? /^(.*)\/\d+\/call\//s.exec(callId)?.[1] ?? ''
  const calls = sinks.get(run) ?? new Set()
  sinks.set(run, calls.add(callId))
}

function checkSinks(
  { run, sinks: stated }: NonNullable<AuditLink['end']>,
  sinks: ReadonlyMap<string, ReadonlySet<string>>,
): readonly AuditProblem[] {
  const count = sinks.get(run)?.size ?? 0
  if (count === stated) return []
  return [
    problem('sinks-miscounted', run, `The run has ${count} calls that write or send; its last link counts ${stated}.`),
  ]
}

/** Returns the entries that are not linked yet. One that a writer had read when it wrote a link was added later. */
function openEntries(
  { entries, links, changes }: ReadLog,
  linked: ReadonlySet<string>,
  problems: AuditProblem[],
): ReadonlySet<string> {
  const end = links.at(-1)
  const isOld = end?.old === true
  const read = end?.upTo ?? 0
  const open = new Set<string>()
  let place = -1
  if (isOld) for (const [id, { index }] of entries) if (linked.has(`old ${id}`)) place = Math.max(place, index)
  for (const [id, { entry, index }] of entries) {
    if (isOld && entry.type !== 'audit' && !changes.has(id)) continue
    if (linked.has(isOld ? `old ${id}` : id)) continue
    // Written as `!(a > b)` so that an entry without an offset is reported too.
    if (end && !(isOld ? index > place : entry.offset > read))
      problems.push(problem('entry-unlinked', id, 'The entry precedes the end of the chain and has no link.'))
    else open.add(id)
  }
  return open
}

/** Compares the ends of runs with the last links of these runs. */
function checkEnds(
  log: readonly Entry[],
  { entries, links }: ReadLog,
  open: ReadonlySet<string>,
): { readonly found: readonly AuditProblem[]; readonly others: readonly OtherEnd[] } {
  const found: AuditProblem[] = []
  const others: OtherEnd[] = []
  if (links.some(({ old }) => old)) return { found, others }
  const seals = new Map<string, string>()
  for (const { rows, end } of links) {
    // A run with more rows went on after its pause.
    for (const { entry } of rows) {
      const run = entries.get(entry)?.entry.runId ?? ''
      if (seals.get(run) === 'suspended') seals.delete(run)
    }
    if (end) seals.set(end.run, end.status)
  }
  const audited = new Set<string>()
  const resumed = new Set<string>()
  for (const entry of log) {
    // The audit of the original covers what was copied.
    if (isCopyMark(entry)) {
      found.length = 0
      others.length = 0
      audited.clear()
    }
    if (startsWithAudit(entry)) audited.add(entry.runId)
    if (!open.has(entry.id)) continue
    const seal = seals.get(entry.runId)
    if (entry.type === 'run') {
      if (entry.op === 'resumed') resumed.add(entry.runId)
      if (entry.op !== 'ended') continue
      if (seal !== undefined && seal !== entry.status && !resumed.has(entry.runId))
        others.push({
          run: entry.runId,
          status: entry.status,
          found: problem(
            'entry-changed',
            entry.id,
            `The run ended as "${entry.status}"; its last link states "${seal}".`,
          ),
        })
      if (seal === undefined && entry.status === 'completed' && audited.has(entry.runId))
        found.push(problem('end-cut-off', entry.runId, 'The run completed, and its last link is missing.'))
    } else if (seal !== undefined && seal !== 'suspended' && !resumed.has(entry.runId) && actsAfterEnd(entry))
      found.push(problem('entry-unlinked', entry.id, 'The entry follows the end of its run.'))
  }
  return { found, others }
}

/** Whether the last link of a run states this end of it. */
function isSealed(entry: Entry | undefined, links: readonly AuditLink[]): boolean {
  const end = links.at(-1)?.end
  if (entry?.type !== 'run' || end?.run !== entry.runId) return false
  return entry.op === 'ended' ? entry.status === end.status : entry.op === end.status
}

/** Whether an entry starts a run that has an audit log. */
function startsWithAudit(entry: Entry): boolean {
  if (entry.type !== 'run' || entry.op !== 'started' || !isRecord(entry.manifest)) return false
  const { extensions } = entry.manifest
  return Array.isArray(extensions) && extensions.includes(auditLogName)
}

/** Returns the runs of children that completed. A run above that is resumed may have been left while a child ended. */
function completedChildren(log: readonly Entry[]): Pick<LogReport, 'joined' | 'followed'> {
  const joined = new Set<string>()
  const followed = new Set<string>()
  const spawned = new Set<string>()
  for (const entry of log) {
    if (entry.type === 'run' && entry.op === 'resumed') spawned.clear()
    if (entry.type !== 'child') continue
    if (entry.op === 'spawned') spawned.add(entry.callId)
    else if (entry.status === 'completed') {
      joined.add(entry.callId)
      if (spawned.has(entry.callId)) followed.add(entry.callId)
    }
  }
  return { joined, followed }
}

function actsAfterEnd({ type }: Entry): boolean {
  return type === 'call' || type === 'wait' || type === 'child' || type === 'message'
}

/** Compares the chains of children with the heads that the runs above state. */
function checkChildren(logs: readonly LogReport[], isWhole: boolean): readonly AuditProblem[] {
  const found: AuditProblem[] = []
  const joined = new Set(logs.flatMap((log) => [...log.joined]))
  const byRun = new Map(logs.flatMap((log) => [...log.runs].map((run) => [run, log] as const)))
  const heads = new Map<string, string>()
  for (const { anchors } of logs) {
    for (const { child, head } of anchors) {
      heads.set(child, head)
      const log = byRun.get(child)
      if (log && !log.hashes.has(head))
        found.push(problem('child-changed', child, 'The chain of the child lacks the head that the run above states.'))
    }
  }
  for (const [child, head] of heads) {
    const log = byRun.get(child)
    if (!log && isWhole) found.push(problem('child-removed', child, 'The log of the child is missing.'))
    if (log && joined.has(child) && log.hashes.has(head) && log.head !== head)
      found.push(problem('child-changed', child, 'The chain of the child continues after its end.'))
  }
  for (const child of logs.flatMap((log) => [...log.followed])) {
    if (byRun.get(child)?.sealed.has(child) && !heads.has(child))
      found.push(problem('child-changed', child, 'The run above states no head of the chain of the child.'))
  }
  return found
}
