import type { KnownKeys } from '@provost/core'
import { checkOptions } from '@provost/core'

import type { AuditKey } from '../audit/audit-link.ts'
import type { AuditProblem } from '../audit/audit-report.ts'
import { same } from '../audit/link-check.ts'
import { verifyAudit } from '../audit/verify-audit.ts'
import { hashOf, principalHash, readReceipt } from './erasure-receipt.ts'

/** Options of {@link verifyReceipt}. */
export interface VerifyReceiptOptions {
  /** The key of receipts and links that name none. */
  readonly key?: AuditKey
  /** The keys of receipts and links that name one (`keyId`), by that name. */
  readonly keys?: Readonly<Record<string, AuditKey>>
  /** The principal that the receipt has to be about. */
  readonly principal?: string
  /** Hash of the receipt that has to precede this one. */
  readonly previous?: string
}

/** What is wrong with a receipt. */
export type ReceiptProblem =
  | { readonly kind: 'receipt-changed' | 'key-needed' | 'other-principal' | 'other-previous' }
  /** A problem in the audit of an erased session. */
  | { readonly kind: 'chain'; readonly session: string; readonly problem: AuditProblem | 'other-head' }

/** The result of {@link verifyReceipt}. */
export interface ReceiptReport {
  readonly ok: boolean
  readonly problems: readonly ReceiptProblem[]
  /** Verified links of all sessions. */
  readonly links: number
}

const optionKeys = { key: true, keys: true, principal: true, previous: true } satisfies KnownKeys<VerifyReceiptOptions>

/**
 * Checks the receipt of an erasure offline: its own hash, and with `verifyAudit` the audit chain of each erased session.
 *
 * @param receipt the receipt, or its parsed JSON.
 * @throws ProvostError `invalid-receipt`, `unreadable-export`
 *
 * @example
 * const { ok, problems } = verifyReceipt(JSON.parse(text), { key: process.env.AUDIT_KEY, principal: 'ann' })
 */
export function verifyReceipt(receipt: unknown, options: VerifyReceiptOptions = {}): ReceiptReport {
  checkOptions(options, optionKeys, 'verifyReceipt')
  const read = readReceipt(receipt)
  const { hash, ...said } = read
  const key = read.keyId === undefined ? options.key : options.keys?.[read.keyId]
  const problems: ReceiptProblem[] = []
  if (read.keyed && key === undefined) problems.push({ kind: 'key-needed' })
  else if (!same(hashOf(said, read.keyed ? key : undefined), hash) || (key !== undefined && !read.keyed))
    problems.push({ kind: 'receipt-changed' })
  if (options.principal !== undefined && principalHash(options.principal, key) !== read.principal)
    problems.push({ kind: 'other-principal' })
  if (options.previous !== undefined && options.previous !== read.previous) problems.push({ kind: 'other-previous' })
  let links = 0
  const keys = {
    ...(options.key !== undefined && { key: options.key }),
    ...(options.keys && { keys: options.keys }),
  }
  for (const { id: session, chain, head } of read.sessions) {
    if (chain === '') continue
    const report = verifyAudit(chain, keys)
    links += report.links
    problems.push(...report.problems.map((problem) => ({ kind: 'chain', session, problem }) as const))
    if (report.head !== head) problems.push({ kind: 'chain', session, problem: 'other-head' })
  }
  return { ok: problems.length === 0, problems, links }
}
