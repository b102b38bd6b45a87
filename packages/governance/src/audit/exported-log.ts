import type { Entry, KnownKeys } from '@provost/core'
import { checkArguments, checkOptions, isRecord, ProvostError } from '@provost/core'

import type { AuditKey } from './audit-link.ts'
import { linkIn, sealed } from './audit-link.ts'

/** States that an entry was deleted lawfully. */
export interface Tombstone {
  /** The id of the deleted entry. */
  readonly entry: string
  /** Who deleted it. */
  readonly by: string
  readonly hash: string
}

/** The parts of an export that an audit needs. */
export interface ExportedAudit {
  /** The entries by log: first the session's own log, then those of its children. */
  readonly logs: readonly (readonly Entry[])[]
  readonly tombstones: readonly Tombstone[]
  /** The export is that of a session, so the logs of all children are part of it. */
  readonly isWhole: boolean
  /** The export began as one of `exportSession`, and its last line is missing. */
  readonly isCut: boolean
}

/** Reads an export. */
export function readExport(exported: string | Iterable<Entry>): ExportedAudit {
  if (typeof exported !== 'string') return { logs: [[...exported]], tombstones: [], isWhole: false, isCut: false }
  const logs: Entry[][] = []
  const tombstones: Tombstone[] = []
  let isWhole = false
  let isCut = false
  for (const line of linesIn(exported)) {
    if (line.type === 'log') {
      logs.push([])
      isWhole = true
    } else if (line.type === 'tombstone') tombstones.push(line.tombstone)
    else if (line.type === 'entry') {
      const last = logs.at(-1)
      if (last) last.push(line.entry)
      else logs.push([line.entry])
    } else if (line.value['type'] === 'header') isCut = true
    else if (line.value['type'] === 'footer') isCut = false
  }
  return { logs, tombstones, isWhole, isCut }
}

/**
 * Returns the links of an audit without its entries and their salts, as JSON lines to keep after the session is deleted.
 * Links hold hashes and no content. `verifyAudit` accepts them, counts all entries as deleted, and still finds changed,
 * missing or forged links.
 *
 * @param exported as for `verifyAudit`.
 * @throws ProvostError `unreadable-export`
 *
 * @example
 * await writeFile('ann-17.audit.jsonl', auditChain(exported))
 * await store.delete('ann-17')
 */
export function auditChain(exported: string | Iterable<Entry>): string {
  const lines = readExport(exported).logs.flatMap((log, index) => [
    JSON.stringify({ type: 'log', log: String(index) }),
    ...log
      .filter((entry) => linkIn(entry))
      .map((entry) => JSON.stringify({ type: 'entry', entry: unsalted(entry, () => true) })),
  ])
  return lines.map((line) => `${line}\n`).join('')
}

/** Options of {@link deleteFromAudit}. */
export interface DeleteFromAuditOptions {
  /** The ids of the entries to delete. */
  readonly entries: readonly string[]
  /** Who deletes them. */
  readonly by: string
  /** The key of the links. Without it, any writer can make such a tombstone. */
  readonly key?: AuditKey
}

const deleteKeys = { entries: true, by: true, key: true } satisfies KnownKeys<DeleteFromAuditOptions>

/**
 * Returns an export without some of its entries: the right to erasure. A tombstone replaces each of them, and their salts
 * are removed, so that no reader can guess what they said. `verifyAudit` counts them as deleted; without a tombstone it
 * reports `entry-removed`. The checksum of the export is no longer valid, so it cannot be imported.
 *
 * @param exported the output of `exportSession`.
 * @throws ProvostError `unreadable-export`
 *
 * @example
 * const kept = deleteFromAudit(exported, { entries: [mail.id], by: 'dpo@example.com', key })
 */
export function deleteFromAudit(exported: string, options: DeleteFromAuditOptions): string {
  checkOptions(options, deleteKeys, 'deleteFromAudit')
  if (!Array.isArray(options.entries)) checkArguments('deleteFromAudit', [options.entries], ['entries'])
  const { entries, by, key } = options
  const ids = new Set(entries)
  const lines: string[] = []
  for (const { type, text, entry } of linesIn(exported)) {
    if (type === 'entry' && ids.has(entry.id)) {
      const tombstone: Tombstone = { entry: entry.id, by, hash: tombstoneHash(entry.id, by, key) }
      lines.push(JSON.stringify({ type: 'tombstone', ...tombstone }))
    } else if (type === 'entry') lines.push(JSON.stringify({ type, entry: unsalted(entry, (id) => ids.has(id)) }))
    else lines.push(text)
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** Returns the hash of a tombstone. */
export function tombstoneHash(entry: string, by: string, key: AuditKey | undefined): string {
  return sealed(JSON.stringify(['provost-audit-deleted', entry, by]), key)
}

/** Returns an entry without the salts of deleted rows. */
function unsalted(entry: Entry, isDeleted: (id: string) => boolean): Entry {
  if (entry.type !== 'ext' || !linkIn(entry) || !isRecord(entry.data)) return entry
  const { rows } = entry.data
  if (!Array.isArray(rows)) return entry
  const kept = rows.map((row) => {
    if (!isRecord(row) || !isDeleted(String(row['entry']))) return row
    const { salt: _, ...rest } = row
    return rest
  })
  return { ...entry, data: { ...entry.data, rows: kept } }
}

/** A line of an export: the name of the log that follows, an entry, a deleted entry, or another envelope. */
export type ExportedLine = { readonly text: string } & (
  | { readonly type: 'log'; readonly log: string; readonly entry?: never }
  | { readonly type: 'tombstone'; readonly tombstone: Tombstone; readonly entry?: never }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'other'; readonly value: Readonly<Record<string, unknown>>; readonly entry?: never }
)

/** Yields lines of `exportSession`, in their envelopes, or bare entries. */
export function* linesIn(exported: string): Iterable<ExportedLine> {
  for (const [index, text] of exported.split('\n').entries()) {
    if (text.trim() === '') continue
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (cause) {
      throw unreadable(index, 'not JSON', cause)
    }
    if (!isRecord(value)) throw unreadable(index, 'not an entry')
    const { type } = value
    if (type === 'log') yield { type, text, log: typeof value['log'] === 'string' ? value['log'] : '' }
    else if (type === 'tombstone') yield { type, text, tombstone: tombstoneOf(value, index) }
    else if (envelopes.has(type)) yield { type: 'other', text, value }
    else yield { type: 'entry', text, entry: entryOf(type === 'entry' ? value['entry'] : value, index) }
  }
}

const envelopes: ReadonlySet<unknown> = new Set(['header', 'blob', 'footer'])

function entryOf(value: unknown, index: number): Entry {
  if (!isRecord(value)) throw unreadable(index, 'not an entry')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- readers check every property except the type
  return value as Record<string, unknown> & Entry
}

function tombstoneOf({ entry, by, hash }: { readonly [key: string]: unknown }, index: number): Tombstone {
  if (typeof entry !== 'string' || typeof by !== 'string' || typeof hash !== 'string')
    throw unreadable(index, 'not a tombstone')
  return { entry, by, hash }
}

function unreadable(index: number, what: string, cause?: unknown): ProvostError {
  return new ProvostError('unreadable-export', `Line ${index + 1} of the export is ${what}.`, {
    hint: 'Export the session again.',
    cause,
  })
}
