import { createHmac, hash as digest } from 'node:crypto'

import type { Entry, Json } from '@provost/core'
import { isRecord } from '@provost/core'

/** The name of the audit log's entries in the log. */
export const auditLogName = 'audit-log'

/** What a link states of one entry. It holds hashes, never a value. */
export interface LinkedRow {
  /** The id of the entry. */
  readonly entry: string
  /** The hash of the entry's content, salted. */
  readonly payload: string
  /** Random; removed with the entry, so that no reader can guess a short value from its hash. Absent in older logs. */
  readonly salt?: string
  /** Of a decision, an approval with edits, or a result: the hash of the effective arguments, with the same salt. */
  readonly args?: string
  /** Of a decision: the called tool writes or sends, or its effect is unknown. */
  readonly sink?: true
}

/** What the last link of a run states of its end. */
export interface RunSeal {
  readonly run: string
  readonly status: string
  /** Number of calls of the run whose tools write or send. */
  readonly sinks: number
}

/** One link of the chain: it represents entries by their hashes. */
export interface AuditLink {
  /** Counts from 1. */
  readonly n: number
  readonly rows: readonly LinkedRow[]
  /** The offset of the last entry that the writer had read: later entries have a later link. Absent in older logs. */
  readonly upTo?: number
  /** The hash of the previous link; empty for the first. */
  readonly previous: string
  readonly hash: string
  /** The hash is an HMAC. */
  readonly keyed?: true
  /** Which key made the HMAC. */
  readonly keyId?: string
  /** The version of the policies in force. */
  readonly policy?: string
  /** The run ends, or is suspended, after this link. */
  readonly end?: RunSeal
  /** Made by an earlier release: one row for each link, for audit rows and effects only. */
  readonly old?: true
}

export type AuditKey = string | Uint8Array

/** Returns a link with its hash. */
export function linkOf(link: Omit<AuditLink, 'hash' | 'keyed'>, key: AuditKey | undefined): AuditLink {
  return { ...link, hash: sealed(textOf(link), key), ...(key !== undefined && { keyed: true }) }
}

/** Returns the hash of a text, an HMAC if there is a key. */
export function sealed(text: string, key: AuditKey | undefined): string {
  return key === undefined ? digest('sha256', text) : createHmac('sha256', key).update(text).digest('hex')
}

// JSON separates the parts, whatever characters an id contains. Salts may be removed, so they are not part of it.
function textOf({ n, rows, upTo, previous, keyId, policy, end, old }: Omit<AuditLink, 'hash' | 'keyed'>): string {
  const [only] = rows
  if (old && only) return JSON.stringify(['provost-audit-1', n, only.entry, only.payload, previous])
  const stated = rows.map(({ entry, payload, args = null, sink = false }) => [entry, payload, args, sink])
  const last = end ? [end.run, end.status, end.sinks] : null
  return JSON.stringify(['provost-audit-2', n, stated, upTo ?? null, previous, keyId ?? null, policy ?? null, last])
}

/** Returns the link that an entry of the audit log holds, or undefined. */
export function linkIn(entry: Entry): AuditLink | undefined {
  return entry.type === 'ext' && entry.name === auditLogName ? readLink(entry.data) : undefined
}

function readLink(data: Json): AuditLink | undefined {
  if (!isRecord(data)) return undefined
  const { n, entry, payload, rows, upTo, previous, hash, keyed, keyId, policy, end } = data
  if (typeof n !== 'number' || typeof previous !== 'string' || typeof hash !== 'string') return undefined
  // An invalid `keyed` is ignored: the link then counts as made without a key.
  const common = { n, previous, hash, ...(keyed === true && { keyed }) }
  if (typeof entry === 'string' && typeof payload === 'string')
    return { ...common, rows: [{ entry, payload }], old: true }
  if (!Array.isArray(rows)) return undefined
  const listed = rows.map(readRow)
  const known = listed.filter((row) => row !== undefined)
  if (known.length < listed.length) return undefined
  const seal = readSeal(end)
  return {
    ...common,
    rows: known,
    ...(typeof upTo === 'number' && { upTo }),
    ...(typeof keyId === 'string' && { keyId }),
    ...(typeof policy === 'string' && { policy }),
    ...(seal && { end: seal }),
  }
}

function readRow(row: unknown): LinkedRow | undefined {
  if (!isRecord(row)) return undefined
  const { entry, payload, salt, args, sink } = row
  if (typeof entry !== 'string' || typeof payload !== 'string') return undefined
  return {
    entry,
    payload,
    ...(typeof salt === 'string' && { salt }),
    ...(typeof args === 'string' && { args }),
    ...(sink === true && { sink }),
  }
}

function readSeal(end: unknown): RunSeal | undefined {
  if (!isRecord(end)) return undefined
  const { run, status, sinks } = end
  if (typeof run !== 'string' || typeof status !== 'string' || typeof sinks !== 'number') return undefined
  return { run, status, sinks }
}

/** States the head of a child's chain in the log of the run that spawned it. */
export interface ChildAnchor {
  /** The id of the child's run. */
  readonly child: string
  /** The hash of the last link in the child's log. */
  readonly head: string
}

/** Returns the anchor that an entry of the audit log holds, or undefined. */
export function anchorIn(entry: Entry): ChildAnchor | undefined {
  if (entry.type !== 'ext' || entry.name !== auditLogName || !isRecord(entry.data)) return undefined
  const { child, head } = entry.data
  return typeof child === 'string' && typeof head === 'string' ? { child, head } : undefined
}
