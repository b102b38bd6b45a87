import type { Timestamp } from '@provost/core'
import { canonicalJson, isRecord, ProvostError } from '@provost/core'

import type { AuditKey } from '../audit/audit-link.ts'
import { sealed } from '../audit/audit-link.ts'

/** What a receipt states of one erased session. */
export interface ErasedSession {
  readonly id: string
  /** Its logs: the session's own and those of its children. */
  readonly logs: number
  readonly entries: number
  /**
   * The links of its audit, without entries and salts, as JSON lines; empty for a session without an audit log.
   * `verifyAudit` verifies them.
   */
  readonly chain: string
  /** The head of the session's own chain. */
  readonly head?: string
}

/** Proof of an erasure. It holds ids, counts and hashes, and no content. */
export interface ErasureReceipt {
  readonly format: 'provost-erasure-1'
  /** The tombstones name it. */
  readonly id: string
  readonly at: Timestamp
  /** Who ordered the erasure. */
  readonly by: string
  readonly reason?: string
  /** Hash of the erased principal's id, an HMAC with a key. Absent where only a session was erased. */
  readonly principal?: string
  readonly sessions: readonly ErasedSession[]
  /** Removed items of memories. */
  readonly memories: number
  /** Removed exports of archives. */
  readonly archives: number
  /** Removed records of effects. */
  readonly effects: number
  /** Removed blobs that no log mentioned for a day. */
  readonly blobs: number
  /** Hash of the receipt before this one, where the caller chains them. */
  readonly previous?: string
  /** Name of the key. */
  readonly keyId?: string
  /** The hash is an HMAC. */
  readonly keyed?: true
  readonly hash: string
}

/** Returns a receipt with its hash. */
export function sealReceipt(
  receipt: Omit<ErasureReceipt, 'hash' | 'keyed' | 'format'>,
  key: AuditKey | undefined,
): ErasureReceipt {
  const stated = {
    format: 'provost-erasure-1',
    ...receipt,
    ...(key !== undefined && { keyed: true as const }),
  } as const
  return { ...stated, hash: hashOf(stated, key) }
}

/** Returns the hash that a receipt has to state. */
export function hashOf(receipt: object, key: AuditKey | undefined): string {
  return sealed(canonicalJson(JSON.parse(JSON.stringify(receipt))), key)
}

/** Returns the hash that stands for a principal in a receipt. */
export function principalHash(id: string, key: AuditKey | undefined): string {
  return sealed(JSON.stringify(['provost-principal', id]), key)
}

/**
 * Returns a stored receipt.
 *
 * @throws ProvostError `invalid-receipt`
 */
export function readReceipt(value: unknown): ErasureReceipt {
  if (!isRecord(value) || value['format'] !== 'provost-erasure-1' || typeof value['hash'] !== 'string') throw invalid()
  const { sessions } = value
  const isListed = (one: unknown): boolean =>
    isRecord(one) && typeof one['id'] === 'string' && typeof one['chain'] === 'string'
  if (!Array.isArray(sessions) || !sessions.every(isListed)) throw invalid()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what readers use is checked above, the rest is hashed
  return value as Readonly<Record<string, unknown>> & ErasureReceipt
}

function invalid(): ProvostError {
  return new ProvostError('invalid-receipt', 'The value is not the receipt of an erasure.', {
    hint: 'Give what erasePrincipal or eraseSession returned, or its parsed JSON.',
  })
}
