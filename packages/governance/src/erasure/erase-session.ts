import type { Entry, KnownKeys, Principal, SessionStore } from '@provost/core'
import { checkOptions, clockOf, isRecord, ProvostError, uuidv7 } from '@provost/core'
import type { SessionArchive } from '@provost/sessions'
import { auditLogOf, exportSession, linkedWork, removeEffects, removeLinks } from '@provost/sessions'

import type { AuditKey } from '../audit/audit-link.ts'
import { linkIn } from '../audit/audit-link.ts'
import { auditChain } from '../audit/exported-log.ts'
import type { ErasedSession, ErasureReceipt } from './erasure-receipt.ts'
import { principalHash, sealReceipt } from './erasure-receipt.ts'

/** A memory that can forget. `createMemory` of `@provost/memory` returns one. */
export interface ForgettingMemory {
  forget(what: { readonly principal: Pick<Principal, 'id'> } | { readonly sessionId: string }): Promise<number>
}

/** Options of {@link eraseSession} and {@link erasePrincipal}. */
export interface EraseOptions {
  /** Who orders the erasure: recorded in the receipt. */
  readonly by: string
  readonly reason?: string
  /** The key of the receipt. Without it, any writer can make such a receipt. */
  readonly key?: AuditKey
  /** The name of the key, for `verifyReceipt({ keys })`. */
  readonly keyId?: string
  /** The memories that agents used in the sessions. */
  readonly memories?: readonly ForgettingMemory[]
  /** The archives that exports of the sessions were put into. */
  readonly archives?: readonly Pick<SessionArchive, 'remove'>[]
  /** Hash of the receipt before this one, so that receipts form a chain. */
  readonly previous?: string
}

const optionKeys = {
  by: true,
  reason: true,
  key: true,
  keyId: true,
  memories: true,
  archives: true,
  previous: true,
} satisfies KnownKeys<EraseOptions>

/** Lists of a principal's sessions before an erasure gives up: a process keeps starting new ones. */
const mostRounds = 100
const looseBlobMs = 86_400_000

interface Removed {
  readonly sessions: ErasedSession[]
  memories: number
  archives: number
  effects: number
}

/**
 * Erases a session for good: its logs, those of its children, of linked work and of its compensations, inboxes, blobs that nothing else uses,
 * records of who exported it, transient items, effects, what memories remember from it, and its exports in archives. Tombstones keep a late child or a
 * late delivery from bringing it back; a process that still runs it is fenced.
 *
 * @returns the receipt. Keep it: `verifyReceipt` and `verifyAudit` verify it without the erased data.
 * @throws ProvostError `erasure-unsupported` for a store without tombstones, `store-busy` if another process reads the file of
 *   SQLite, so that traces of the text remain in it, `invalid-option`, errors of the parts
 *
 * @example
 * const receipt = await eraseSession(store, sessionId, { by: 'dpo@example.com', key, memories: [memory] })
 */
export async function eraseSession(
  store: SessionStore,
  sessionId: string,
  options: EraseOptions,
): Promise<ErasureReceipt> {
  check(options, 'eraseSession')
  const id = uuidv7()
  const removed: Removed = { sessions: [], memories: 0, archives: 0, effects: 0 }
  await eraseOne(store, sessionId, id, options, removed)
  return receiptOf(store, id, options, removed)
}

/**
 * Erases everything of a principal for good: all sessions, as `eraseSession` does, and the principal's own effects and
 * memories. Call it again if it fails: what is gone stays gone. What other people's sessions say about the principal stays,
 * such as who approved a call; so do effects in the scope of an agent, which prevent double effects.
 *
 * @throws ProvostError `erasure-unsupported`, `erasure-unfinished`, `invalid-option`, errors of the parts
 *
 * @example
 * const receipt = await erasePrincipal(store, { id: 'ann' }, { by: 'dpo@example.com', key, memories: [memory], archives })
 */
export async function erasePrincipal(
  store: SessionStore,
  principal: Pick<Principal, 'id'>,
  options: EraseOptions,
): Promise<ErasureReceipt> {
  check(options, 'erasePrincipal')
  const id = uuidv7()
  const removed: Removed = { sessions: [], memories: 0, archives: 0, effects: 0 }
  // A session may begin while others are erased.
  for (let round = 0; ; round++) {
    const found: string[] = []
    for await (const info of store.list({ principal: principal.id })) found.push(info.id)
    if (found.length === 0) break
    if (round === mostRounds) throw unfinished()
    for (const sessionId of found) await eraseOne(store, sessionId, id, options, removed)
  }
  removed.effects += await removeEffects(store, { scope: 'principal', scopeId: principal.id })
  for (const memory of options.memories ?? []) removed.memories += await memory.forget({ principal })
  return receiptOf(store, id, options, removed, principalHash(principal.id, options.key))
}

async function eraseOne(
  store: SessionStore,
  sessionId: string,
  receipt: string,
  options: EraseOptions,
  removed: Removed,
): Promise<void> {
  if (!store.erase) throw unsupported()
  const linked: string[] = []
  for await (const log of linkedWork(store, sessionId)) linked.push(log)
  linked.push(...(await compensationsOf(store, sessionId)))
  const erased = await stated(store, sessionId)
  // First the log: what follows removes traces that a living writer could add to otherwise.
  await store.erase(sessionId, receipt)
  await store.erase(auditLogOf(sessionId), receipt)
  removed.sessions.push(erased)
  removed.effects += await removeEffects(store, { scope: 'session', scopeId: sessionId })
  for (const memory of options.memories ?? []) removed.memories += await memory.forget({ sessionId })
  for (const archive of options.archives ?? []) if (await archive.remove(sessionId)) removed.archives++
  for (const log of linked) {
    if (!(await store.tombstone?.(log))) await eraseOne(store, log, receipt, options, removed)
  }
  // The list is last: an erasure that fails before finds the rest of the work when it is repeated.
  await removeLinks(store, sessionId)
}

/** Returns the log of the compensations of a session, if there are any. It has the inputs and the results of effects. */
async function compensationsOf(store: SessionStore, sessionId: string): Promise<readonly string[]> {
  const { compensationLog } = await import('@provost/agent')
  const log = compensationLog(sessionId)
  for await (const _ of store.read(log)) return [log]
  return []
}

/** Reads a session before it is erased: its size, and the links of its audit. */
async function stated(store: SessionStore, id: string): Promise<ErasedSession> {
  const links: string[] = []
  let logs = 0
  let entries = 0
  let head: string | undefined
  try {
    for await (const line of exportSession(store, id)) {
      const value: unknown = JSON.parse(line)
      if (!isRecord(value)) continue
      if (value['type'] === 'log') {
        logs++
        links.push(line)
      } else if (value['type'] === 'entry') {
        entries++
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- exportSession has just written it
        const link = linkIn(value['entry'] as Entry)
        if (!link) continue
        links.push(line)
        if (logs === 1) head = link.hash
      }
    }
  } catch (error) {
    if (!isRecord(error) || error['code'] !== 'unknown-session') throw error
  }
  const chain = links.length > logs ? auditChain(links.join('')) : ''
  return { id, logs, entries, chain, ...(head !== undefined && { head }) }
}

async function receiptOf(
  store: SessionStore,
  id: string,
  { by, reason, key, keyId, previous }: EraseOptions,
  removed: Removed,
  principal?: string,
): Promise<ErasureReceipt> {
  const at = clockOf(store).now()
  const blobs = (await store.sweep?.({ putBefore: at - looseBlobMs, traces: true })) ?? 0
  const optional = {
    ...(reason !== undefined && { reason }),
    ...(principal !== undefined && { principal }),
    ...(previous !== undefined && { previous }),
    ...(keyId !== undefined && { keyId }),
  }
  return sealReceipt({ id, at, by, ...optional, ...removed, blobs }, key)
}

function check(options: EraseOptions, where: string): void {
  checkOptions(options, optionKeys, where)
  if (typeof options?.by === 'string' && options.by !== '') return
  throw new ProvostError('invalid-option', `${where} has no "by".`, {
    hint: 'Name who orders the erasure: { by: "dpo@example.com" }.',
  })
}

function unsupported(): ProvostError {
  return new ProvostError('erasure-unsupported', 'The store keeps no tombstones, so it cannot erase for good.', {
    hint: 'Use a store of @provost/sessions, or give your own store erase(), tombstone() and sweep().',
  })
}

function unfinished(): ProvostError {
  return new ProvostError('erasure-unfinished', 'The principal keeps starting sessions while they are erased.', {
    hint: 'Lock the principal out first, then erase again.',
    retryable: true,
  })
}
