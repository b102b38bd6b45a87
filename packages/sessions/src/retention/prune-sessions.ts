import type { KnownKeys, SessionInfo, SessionStatus, SessionStore } from '@provost/core'
import { checkChoice, checkOptions, clockOf, ProvostError, uuidv7 } from '@provost/core'

import { parentLogOf } from '../kit/created-entry.ts'
import { exportSession } from '../transfer/export-session.ts'
import { auditLogOf } from './audit-log.ts'
import type { SessionArchive } from './session-archive.ts'

/** The status of a session that may be pruned. */
export type PrunableStatus = Exclude<SessionStatus, 'running'>

/** Options of {@link pruneSessions}. */
export interface PruneOptions {
  /** Milliseconds since the last entry of a session, by the clock of the store: younger sessions stay. */
  readonly olderThanMs: number
  /** Default: `idle`, `failed` and `closed`. A suspended session loses what it waits for. */
  readonly status?: readonly PrunableStatus[]
  /** Only sessions of the principal with this id. */
  readonly principal?: string
  /** Receives the export of each session before it is removed. If it fails, the session stays. */
  readonly archive?: Pick<SessionArchive, 'put'>
  /** Secret of 16 bytes or more that signs the archived exports. */
  readonly key?: string | Uint8Array
  /** Sessions at most; default 1,000. Call again while `more` is true. */
  readonly limit?: number
  /** Removes nothing, and reports what would be removed. */
  readonly dryRun?: boolean
}

/** The result of {@link pruneSessions}. */
export interface PruneReport {
  /** Removed sessions, in the order of their ids. */
  readonly sessions: readonly SessionInfo[]
  /** Old sessions that stay because a process is writing them, or because they could not be archived. */
  readonly skipped: readonly { readonly id: string; readonly error?: unknown }[]
  /** The limit was reached. */
  readonly more: boolean
  /** Removed blobs that no log mentioned for a day. */
  readonly blobs: number
}

const optionKeys = {
  olderThanMs: true,
  status: true,
  principal: true,
  archive: true,
  key: true,
  limit: true,
  dryRun: true,
} satisfies KnownKeys<PruneOptions>

const prunable: readonly PrunableStatus[] = ['idle', 'failed', 'closed', 'suspended', 'quarantined']
const usual: readonly PrunableStatus[] = ['idle', 'failed', 'closed']
/** Milliseconds of the lease under which a session is archived. */
const leaseMs = 600_000
const looseBlobMs = 86_400_000

/**
 * Removes old sessions with their children, inboxes, blobs and records of who exported them; with an `archive` it exports each one first. A session that
 * is being written stays. A removed id may be used again; to erase for good, use `eraseSession` of `@provost/governance`.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 *
 * @example
 * const { sessions, more } = await pruneSessions(store, { olderThanMs: 90 * 86_400_000, status: ['idle'] })
 */
export async function pruneSessions(store: SessionStore, options: PruneOptions): Promise<PruneReport> {
  checkOptions(options, optionKeys, 'pruneSessions')
  const { olderThanMs, status = usual, principal, limit = 1_000, dryRun = false } = options
  if (typeof olderThanMs !== 'number' || !(olderThanMs >= 0)) throw invalidAge(olderThanMs)
  for (const one of status) checkChoice(one, prunable, 'status', 'pruneSessions')
  const clock = clockOf(store)
  const before = clock.now() - olderThanMs
  const sessions: SessionInfo[] = []
  const skipped: { id: string; error?: unknown }[] = []
  let more = false
  for await (const info of store.list(principal === undefined ? {} : { principal })) {
    if (!status.some((one) => one === info.status) || info.updatedAt >= before) continue
    if (await belongsToAnother(store, info.id)) continue
    if (sessions.length >= limit) {
      more = true
      break
    }
    try {
      if (dryRun || (await pruneOne(store, info, before, options))) sessions.push(info)
      else skipped.push({ id: info.id })
    } catch (error) {
      skipped.push({ id: info.id, error })
    }
  }
  const blobs = dryRun ? 0 : ((await store.sweep?.({ putBefore: clock.now() - looseBlobMs })) ?? 0)
  return { sessions, skipped, more, blobs }
}

/** Whether a session is that of a child of another one, which still exists: it is removed with that. */
async function belongsToAnother(store: SessionStore, id: string): Promise<boolean> {
  if (!/\/part\/[0-9a-f]{32}$/u.test(id)) return false
  for await (const first of store.read(id)) {
    const parent = parentLogOf(first)
    if (parent !== undefined) for await (const _ of store.read(parent)) return true
    break
  }
  return false
}

/** @returns false if the session is in use, or not old any more. */
async function pruneOne(
  store: SessionStore,
  { id, status, updatedAt }: SessionInfo,
  before: number,
  { archive, key }: PruneOptions,
): Promise<boolean> {
  // No process can write a session in quarantine. The lease is no takeover: no run continues under it.
  const lease = status === 'quarantined' ? undefined : await store.lease(id, uuidv7(), leaseMs, { part: true })
  if (lease === 'busy') return false
  try {
    let last = updatedAt
    for await (const { at } of store.read(id)) last = at
    if (last >= before) return false
    await archive?.put(id, exportSession(store, id, key === undefined ? {} : { key }))
    await store.delete(id)
    await store.delete(auditLogOf(id))
    return true
  } finally {
    // After the deletion there is no lease left, and this does nothing.
    if (lease) await store.release(id, lease.fence)
  }
}

function invalidAge(given: unknown): ProvostError {
  return new ProvostError(
    'invalid-option',
    `"olderThanMs" of pruneSessions is ${JSON.stringify(given) ?? 'missing'}.`,
    {
      hint: 'Give milliseconds, such as 90 * 86_400_000 for 90 days.',
    },
  )
}
