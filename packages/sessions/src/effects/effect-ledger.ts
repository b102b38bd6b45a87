import { hash } from 'node:crypto'

import type { EffectScope, EffectState, EntryOf, Json, KnownKeys, SessionStore, Timestamp } from '@provost/core'
import { checkOptions, isRecord } from '@provost/core'

/** The business identity of an effect. */
export interface EffectIdentity {
  /** Name of the tool. */
  readonly tool: string
  /** What its `effectKey` returned, such as the number of an invoice. */
  readonly key: string
  readonly scope: EffectScope
  /** Id of the session, of the principal, or name of the agent. */
  readonly scopeId: string
}

/** The right of one call to cause an effect. */
export interface EffectClaim {
  /** Counts the claims of this effect, from 1. */
  readonly attempt: number
  readonly sessionId: string
  readonly log: string
  readonly runId: string
  readonly callId: string
  readonly principal?: string
  /** Hash of the arguments: another call with the same key may have others. */
  readonly argsHash: string
  /** What the tool receives as its idempotency key. */
  readonly idempotencyKey: string
  /** Last offset of the log before the call started. */
  readonly after: number
  /** When the call has ended at the latest, whatever happened to its process. */
  readonly endsAt: Timestamp
}

/** A state that ends an attempt, or corrects its end. */
export type EffectEnd = Exclude<EffectState, 'dispatched'>

/** An effect as the ledger records it. */
export interface EffectRecord extends EffectIdentity {
  readonly state: EffectState
  /** When the state began. */
  readonly at: Timestamp
  /** What stated it: `call`, `lookup`, `compensate`, or the person who decided. */
  readonly by: string
  /** The latest claim. */
  readonly claim: EffectClaim
  /** For a confirmed effect: offset of the entry with its result, in the log of the claim. */
  readonly offset?: number
}

/** A later one holds, whatever order they arrive in: a lookup that found an effect is stronger than a time-out. */
const ends: readonly EffectEnd[] = ['unknown', 'failed', 'confirmed', 'compensated']

/**
 * Returns what the ledger of a store records of an effect; undefined for an effect that no call has claimed.
 *
 * The ledger of an effect is an inbox of its own, and a further one for each 32 attempts. The store accepts each token
 * once, so that one of several claims of an attempt wins, in whichever process. The attempts that are read do not grow
 * with their number.
 */
export async function readEffect(store: SessionStore, identity: EffectIdentity): Promise<EffectRecord | undefined> {
  let latest = (await readSection(store, identity, 0)).at(-1)
  if (latest?.claim.attempt === sectionSize) {
    const section = await lastSection(store, identity)
    if (section > 0) latest = (await readSection(store, identity, section)).at(-1)
  }
  return latest?.state === 'dispatched' ? fromLog(store, latest) : latest
}

/**
 * Returns the attempts at an effect in the order of their claims, each as the ledger records it. `readEffect` returns the
 * last one, and reads the log where the ledger has no end.
 */
export async function readAttempts(store: SessionStore, identity: EffectIdentity): Promise<readonly EffectRecord[]> {
  const attempts: EffectRecord[] = []
  for (let section = 0; ; section++) {
    const more = await readSection(store, identity, section)
    attempts.push(...more)
    if (more.length < sectionSize) return attempts
  }
}

/** Attempts in one inbox of the ledger. */
const sectionSize = 32

function sectionOf({ attempt }: Pick<EffectClaim, 'attempt'>): number {
  return Math.floor((attempt - 1) / sectionSize)
}

/** Finds the section with the latest attempt, in steps that double and halve. */
async function lastSection(store: SessionStore, identity: EffectIdentity): Promise<number> {
  let section = 0
  let step = 1
  for (;;) {
    if (await hasBegun(store, identity, section + step)) {
      section += step
      step *= 2
    } else if (step === 1) return section
    else step /= 2
  }
}

async function hasBegun(store: SessionStore, identity: EffectIdentity, section: number): Promise<boolean> {
  for await (const _ of store.inbox(ledgerOf(identity, section))) return true
  return false
}

async function readSection(
  store: SessionStore,
  identity: EffectIdentity,
  section: number,
): Promise<readonly EffectRecord[]> {
  const attempts: EffectRecord[] = []
  for await (const { token, value, at, by } of store.inbox(ledgerOf(identity, section))) {
    const claim = token.startsWith('claim/') ? claimOf(value) : undefined
    if (claim) {
      attempts.push({ ...identity, state: 'dispatched', at, by, claim })
      continue
    }
    const index = attempts.findIndex((one) => ends.some((end) => token === endToken(one.claim, end)))
    const attempt = attempts[index]
    const end = attempt && ends.find((one) => token === endToken(attempt.claim, one))
    if (!end || (attempt.state !== 'dispatched' && ends.indexOf(end) <= ends.indexOf(attempt.state))) continue
    const offset = isRecord(value) && typeof value['offset'] === 'number' ? { offset: value['offset'] } : {}
    attempts[index] = { ...attempt, state: end, at, by, ...offset }
  }
  return attempts
}

/** Completes the record of a call that has ended in its log: its process may have died before it told the ledger. */
async function fromLog(store: SessionStore, record: EffectRecord): Promise<EffectRecord> {
  const { claim } = record
  for await (const entry of store.read(claim.log, claim.after)) {
    if (entry.type !== 'call' || entry.op !== 'settled' || entry.callId !== claim.callId) continue
    const { offset, at } = entry
    return { ...record, state: effectEnd(entry), by: 'call', at, offset }
  }
  return record
}

/** Returns the state of an effect after its call has ended. */
export function effectEnd({ outcome, unknown }: Pick<EntryOf<'call', 'settled'>, 'outcome' | 'unknown'>): EffectEnd {
  if (outcome === 'ok') return 'confirmed'
  return unknown || outcome === 'timeout' || outcome === 'aborted' ? 'unknown' : 'failed'
}

/**
 * Claims an attempt at an effect. The first claim of an attempt wins. A call that claims it again after a crash keeps it.
 *
 * @returns the latest record of the effect: the call has the attempt if the claim in it names the call.
 */
export async function claimEffect(
  store: SessionStore,
  identity: EffectIdentity,
  claim: EffectClaim,
): Promise<EffectRecord | undefined> {
  if (claim.attempt === 1) {
    const { tool, key } = identity
    // Listed before it is claimed: a crash in between leaves a row in the index that nothing has claimed.
    await store.deliver(indexOf(identity), idOf(identity), { tool, key }, 'ledger')
  }
  await store.deliver(ledgerOf(identity, sectionOf(claim)), `claim/${claim.attempt}`, { ...claim }, 'ledger')
  return readEffect(store, identity)
}

/**
 * Records how an attempt at an effect ended, or what was found out about it later. Recording it twice changes nothing.
 *
 * @param offset of the entry with the result of a confirmed effect.
 */
export async function endEffect(
  store: SessionStore,
  identity: EffectIdentity,
  claim: Pick<EffectClaim, 'attempt'>,
  end: EffectEnd,
  { by, offset }: { readonly by: string; readonly offset?: number },
): Promise<void> {
  const value: Json = offset === undefined ? {} : { offset }
  await store.deliver(ledgerOf(identity, sectionOf(claim)), endToken(claim, end), value, by)
}

/** Selects effects for {@link listEffects}. */
export interface EffectFilter {
  readonly scope: EffectScope
  /** Id of the session, of the principal, or name of the agent. */
  readonly scopeId: string
  readonly tool?: string
  readonly key?: string
  readonly state?: EffectState
}

const filterKeys = { scope: true, scopeId: true, tool: true, key: true, state: true } satisfies KnownKeys<EffectFilter>

/**
 * Yields the effects of a scope in the order of their first claims.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * for await (const { tool, key } of listEffects(store, { scope: 'session', scopeId: id, state: 'unknown' })) …
 */
export async function* listEffects(store: SessionStore, filter: EffectFilter): AsyncIterable<EffectRecord> {
  checkOptions(filter, filterKeys, 'listEffects')
  const { scope, scopeId, state } = filter
  for await (const { value } of store.inbox(indexOf(filter))) {
    if (!isRecord(value)) continue
    const { tool, key } = value
    if (typeof tool !== 'string' || typeof key !== 'string') continue
    if (tool !== (filter.tool ?? tool) || key !== (filter.key ?? key)) continue
    const record = await readEffect(store, { tool, key, scope, scopeId })
    if (record && record.state === (state ?? record.state)) yield record
  }
}

/**
 * Removes the effects of a scope from the ledger. A later call with the same key causes its effect again.
 *
 * @returns their number.
 */
export async function removeEffects(
  store: SessionStore,
  { scope, scopeId }: Pick<EffectIdentity, 'scope' | 'scopeId'>,
): Promise<number> {
  let count = 0
  for await (const { value } of store.inbox(indexOf({ scope, scopeId }))) {
    const { tool, key } = isRecord(value) ? value : {}
    if (typeof tool !== 'string' || typeof key !== 'string') continue
    const identity = { tool, key, scope, scopeId }
    const last = await lastSection(store, identity)
    for (let section = 0; section <= last; section++) await store.delete(ledgerOf(identity, section))
    count++
  }
  await store.delete(indexOf({ scope, scopeId }))
  return count
}

/** Resolves when the latest attempt of a record may have changed, or the signal aborts. */
export async function effectChange(store: SessionStore, record: EffectRecord, signal: AbortSignal): Promise<void> {
  for await (const _ of store.watch(ledgerOf(record, sectionOf(record.claim)), signal, 'inbox')) return
}

/** Whether an inbox with this name belongs to the ledger of effects: no session may have such an id. */
export function isLedgerName(name: string): boolean {
  return /^effects?:/.test(name)
}

function idOf({ scope, scopeId, tool, key }: EffectIdentity, section = 0): string {
  return hash('sha256', JSON.stringify([scope, scopeId, tool, key, ...(section > 0 ? [section] : [])]))
}

function ledgerOf(identity: EffectIdentity, section: number): string {
  return `effect:${idOf(identity, section)}`
}

function indexOf({ scope, scopeId }: Pick<EffectIdentity, 'scope' | 'scopeId'>): string {
  return `effects:${hash('sha256', JSON.stringify([scope, scopeId]))}`
}

function endToken({ attempt }: Pick<EffectClaim, 'attempt'>, end: EffectEnd): string {
  return `${end}/${attempt}`
}

function claimOf(value: Json): EffectClaim | undefined {
  if (!isRecord(value)) return undefined
  const { attempt, sessionId, log, runId, callId, principal, argsHash, idempotencyKey, after, endsAt } = value
  if (typeof attempt !== 'number' || typeof after !== 'number' || typeof endsAt !== 'number') return undefined
  if (typeof sessionId !== 'string' || typeof log !== 'string') return undefined
  if (typeof runId !== 'string' || typeof callId !== 'string') return undefined
  if (typeof argsHash !== 'string' || typeof idempotencyKey !== 'string') return undefined
  const by = typeof principal === 'string' ? { principal } : {}
  return { attempt, sessionId, log, runId, callId, ...by, argsHash, idempotencyKey, after, endsAt }
}
