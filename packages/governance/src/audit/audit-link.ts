import { createHmac, hash as digest } from 'node:crypto'

import type { EntryOf, Json } from '@provost/core'
import { canonicalJson } from '@provost/core'

import type { EffectRow } from './effect-row.ts'
import { effectHash } from './effect-row.ts'

/** One link of the chain: it represents an audit row by its hash. */
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

/** Returns a link with its hash. */
export function linkOf(
  { n, entry, payload, previous }: Omit<AuditLink, 'hash' | 'keyed'>,
  key: string | Uint8Array | undefined,
): AuditLink {
  // JSON separates the parts, whatever characters an id contains.
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

/** A row of the audit: a decision of an extension, or a change of an effect. */
export type AuditRow = EntryOf<'audit'> | EffectRow

/** Returns the hash of an audit row's content, time and run. It does not depend on the order of keys. */
export function payloadHash(row: AuditRow): string {
  if (!('decision' in row)) return effectHash(row)
  const { id, at, runId, step, agent, decision, by, rule, callId, sources, evidence, sandbox } = row
  // The keys are in canonical order, which saves sorting them.
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
