import { createHmac, hash as digest } from 'node:crypto'

import type { EntryOf, Json } from '@provost/core'
import { canonicalJson } from '@provost/core'

/** One link of the chain: it stands for an audit row without holding it. */
export interface AuditLink {
  /** Counts from 1. */
  readonly n: number
  /** The id of the row's entry. */
  readonly entry: string
  /** The hash of the row. */
  readonly payload: string
  /** The hash of the link before; empty for the first. */
  readonly previous: string
  readonly hash: string
  /** The hash is an HMAC. */
  readonly keyed?: true
}

/** A link with its hash. */
export function linkOf(
  { n, entry, payload, previous }: Omit<AuditLink, 'hash' | 'keyed'>,
  key: string | Uint8Array | undefined,
): AuditLink {
  // JSON keeps the parts apart, whatever an id contains.
  const text = JSON.stringify(['provost-audit-1', n, entry, payload, previous])
  return {
    n,
    entry,
    payload,
    previous,
    hash: key === undefined ? digest('sha256', text) : createHmac('sha256', key).update(text).digest('hex'),
    ...(key !== undefined && { keyed: true }),
  }
}

/** The hash of everything that an audit row says, and of when and where it was said; stores may change the order of keys. */
export function payloadHash(row: EntryOf<'audit'>): string {
  const { id, at, runId, step, agent, decision, by, rule, callId, sources, evidence, sandbox } = row
  // In the order of canonical JSON, which then need not sort them.
  const said: Json = {
    agent,
    at,
    by,
    callId: callId ?? null,
    decision,
    evidence,
    id,
    rule,
    runId,
    ...(sandbox && { sandbox }),
    sources,
    step,
  }
  return digest('sha256', canonicalJson(said))
}
