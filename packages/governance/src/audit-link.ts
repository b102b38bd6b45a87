import { createHash, createHmac } from 'node:crypto'

import type { EntryOf, Json } from '@provost/core'
import { isRecord } from '@provost/core'

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
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key)
  return {
    n,
    entry,
    payload,
    previous,
    hash: hash.update(text).digest('hex'),
    ...(key !== undefined && { keyed: true }),
  }
}

/** The hash of everything that an audit row says, and of when and where it was said. */
export function payloadHash(row: EntryOf<'audit'>): string {
  const { id, at, runId, step, agent, decision, by, rule, callId, sources, evidence } = row
  const said: Json = { id, at, runId, step, agent, decision, by, rule, callId: callId ?? null, sources, evidence }
  return createHash('sha256').update(canonical(said)).digest('hex')
}

/** JSON with sorted keys: stores may change their order. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const entries = Object.entries(value).filter((pair): pair is [string, Json] => pair[1] !== undefined)
  return `{${entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
    .join(',')}}`
}
