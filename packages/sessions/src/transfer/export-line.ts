import { createHmac } from 'node:crypto'

import type { Entry } from '@provost/core'
import { ProvostError } from '@provost/core'

/** The version that this release writes; it reads all up to it. */
export const exportVersion = 1
/** What the first line says this is. */
export const exportFormat = 'provost/session'

/** One line of an exported session. Blobs stand before the entry that mentions them. */
export type ExportLine =
  | {
      readonly type: 'header'
      readonly format: typeof exportFormat
      readonly v: number
      readonly session: string
      readonly agent: string
      /** Only what somebody outside may see: no whole log. */
      readonly for?: 'outside'
    }
  /** The entries that follow are of this log. */
  | { readonly type: 'log'; readonly log: string }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'blob'; readonly hash: string; readonly data: string }
  | Footer

/** The last line: what there was, the SHA-256 of all lines before it, and who vouches for them. */
export interface Footer {
  readonly type: 'footer'
  readonly logs: number
  readonly entries: number
  readonly blobs: number
  readonly sha256: string
  /** HMAC with SHA-256, in base64url. */
  readonly sig?: string
}

/** A key that may be guessed vouches for nothing. */
const shortestKey = 16

/** The signature of a footer, which says everything about the lines before it. */
export function signatureOf(key: string | Uint8Array, footer: Footer): string {
  const { logs, entries, blobs, sha256 } = footer
  const text = `${exportFormat}/${exportVersion}\n${logs} ${entries} ${blobs} ${sha256}`
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** @throws ProvostError `invalid-key` */
export function checkKey(key: string | Uint8Array | undefined): void {
  const short = key !== undefined && (typeof key === 'string' ? Buffer.byteLength(key) : key.byteLength) < shortestKey
  if (!short) return
  throw new ProvostError('invalid-key', 'The key of an exported session is no secret.', {
    hint: `Give a random string or bytes, ${shortestKey} or more.`,
  })
}

/** The same text for the same entry, wherever a store keeps the offset in it. */
export function entryLine(entry: Entry): string {
  const { id, offset, at, runId, step, agent, v, ...body } = entry
  return JSON.stringify({ type: 'entry', entry: { id, offset, at, runId, step, agent, v, ...body } })
}
