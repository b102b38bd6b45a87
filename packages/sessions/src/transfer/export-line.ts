import { createHmac } from 'node:crypto'

import type { Entry } from '@provost/core'
import { ProvostError } from '@provost/core'

/** Version that this release writes. It reads all versions up to this one. */
export const exportVersion = 1
/** Format name in the first line. */
export const exportFormat = 'provost/session'

/** One line of an exported session. Blobs precede the entry that mentions them. */
export type ExportLine =
  | {
      readonly type: 'header'
      readonly format: typeof exportFormat
      readonly v: number
      readonly session: string
      readonly agent: string
      /** A redacted export for readers outside the application, not a whole log. */
      readonly for?: 'outside'
    }
  /** Starts the entries of a log. */
  | { readonly type: 'log'; readonly log: string }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'blob'; readonly hash: string; readonly data: string }
  | Footer

/** The last line: counts, the SHA-256 of all earlier lines, and an optional signature. */
export interface Footer {
  readonly type: 'footer'
  readonly logs: number
  readonly entries: number
  readonly blobs: number
  readonly sha256: string
  /** Signature: HMAC with SHA-256, in base64url. */
  readonly sig?: string
}

/** Bytes of a key at least, so that it cannot be guessed. */
const shortestKey = 16

/** Returns the signature of a footer. The footer's checksum covers all earlier lines. */
export function signatureOf(key: string | Uint8Array, footer: Footer): string {
  const { logs, entries, blobs, sha256 } = footer
  const text = `${exportFormat}/${exportVersion}\n${logs} ${entries} ${blobs} ${sha256}`
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** @throws ProvostError `invalid-key` */
export function checkKey(key: string | Uint8Array | undefined): void {
  const short = key !== undefined && (typeof key === 'string' ? Buffer.byteLength(key) : key.byteLength) < shortestKey
  if (!short) return
  throw new ProvostError('invalid-key', `The option key is shorter than ${shortestKey} bytes.`, {
    hint: `Give a random string or bytes, ${shortestKey} bytes or more.`,
  })
}

/** Returns the line of an entry: the same text from any store, wherever the store keeps the offset. */
export function entryLine(entry: Entry): string {
  const { id, offset, at, runId, step, agent, v, ...body } = entry
  return JSON.stringify({ type: 'entry', entry: { id, offset, at, runId, step, agent, v, ...body } })
}
