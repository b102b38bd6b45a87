import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'

import type { Entry, KnownKeys, SessionStore } from '@provost/core'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'

import { hashesIn } from '../kit/blob-mentions.ts'
import { createdIn, isCreated } from '../kit/created-entry.ts'
import { shown } from '../kit/store-error.ts'
import type { ExportLine, Footer } from './export-line.ts'
import { checkKey, entryLine, exportFormat, exportVersion, signatureOf } from './export-line.ts'
import { blobsOf, createExportRedaction } from './export-redaction.ts'

/** Who an export is for, and who vouches for it. */
export interface ExportOptions {
  /**
   * `outside`: only what was said and what tools gave, without internal traces. Default: the whole log, which another
   * store can go on with.
   */
  readonly for?: 'outside'
  /** A secret of 16 bytes or more that signs the export: whoever imports it with the same key may trust it. */
  readonly key?: string | Uint8Array
}

const optionKeys = {
  for: true,
  key: true,
} satisfies KnownKeys<ExportOptions>

/** Characters after which the event loop gets a turn. */
const charactersPerTurn = 262_144

/**
 * A session as JSON lines: a header, the entries of its log and of the logs of its children, the blobs that they
 * mention, and a footer with counts and a checksum. The same log gives the same bytes. Nothing but the entry at hand is
 * held in memory.
 *
 * With `for: 'outside'` the lines hold the messages and results alone: no reasoning, system prompts, details, provider
 * metadata, principals, approvals, audit rows, memos, extension data, usage, views or children; no stack traces; no
 * names of secrets; nothing that is labelled secret or for certain readers only; no answer that was held back.
 *
 * @returns lines, each with its end.
 * @throws ProvostError `unknown-session`, `invalid-key`; while it is iterated
 *
 * @example
 * await pipeline(exportSession(store, 'ann-17', { key }), createWriteStream('ann-17.jsonl'))
 */
export async function* exportSession(
  store: SessionStore,
  sessionId: string,
  options: ExportOptions = {},
): AsyncGenerator<string, void> {
  checkOptions(options, optionKeys, 'exportSession')
  const { for: reader, key } = options
  checkChoice(reader, ['outside'], 'for', 'exportSession')
  checkKey(key)
  const sum = createHash('sha256')
  const counts = { logs: 0, entries: 0, blobs: 0 }
  const line = (text: string): string => {
    const whole = `${text}\n`
    sum.update(whole)
    return whole
  }
  const data = (value: Exclude<ExportLine, { type: 'entry' }>): string => line(JSON.stringify(value))

  let since = 0
  const known = new Set<string>()
  const logs: { readonly name: string; readonly parent?: string }[] = [{ name: sessionId }]
  const names = new Set([sessionId])
  for (const { name, parent } of logs) {
    const view = reader && createExportRedaction()
    let first = true
    for await (const entry of store.read(name)) {
      if (first) {
        // What a log calls its child can be a session of its own all the same: it is not the log's to hand out.
        if (parent !== undefined && !isChildOf(entry, parent)) break
        first = false
        if (parent === undefined) {
          const agent = isCreated(entry) ? createdIn(entry).agent : entry.agent
          const from = { format: exportFormat, v: exportVersion, session: sessionId, agent } as const
          yield data({ type: 'header', ...from, ...(reader && { for: reader }) })
        }
        counts.logs++
        yield data({ type: 'log', log: name })
      }
      if (!reader && entry.type === 'child' && !names.has(entry.log)) {
        names.add(entry.log)
        logs.push({ name: entry.log, parent: name })
      }
      for (const one of view ? view.see(entry) : [entry]) {
        const text = entryLine(one)
        // What goes outside is what a message holds, not whatever a text in it mentions.
        for (const hash of view ? blobsOf(one) : hashesIn(text)) {
          const bytes = known.has(hash) ? undefined : await store.blob(hash)
          if (!bytes) continue
          known.add(hash)
          counts.blobs++
          yield data({ type: 'blob', hash, data: Buffer.from(bytes).toString('base64') })
        }
        counts.entries++
        yield line(text)
        since += text.length
        if (since > charactersPerTurn) {
          since = 0
          await turn()
        }
      }
    }
    if (first && parent === undefined) throw unknownSession(sessionId)
  }
  const footer: Footer = { type: 'footer', ...counts, sha256: sum.digest('hex') }
  yield `${JSON.stringify({ ...footer, ...(key !== undefined && { sig: signatureOf(key, footer) }) })}\n`
}

function isChildOf(entry: Entry, parent: string): boolean {
  return entry.type === 'run' && entry.op === 'started' && entry.parent?.log === parent
}

function unknownSession(sessionId: string): ProvostError {
  return new ProvostError('unknown-session', `The store has no session ${shown(sessionId)}.`, {
    hint: 'Check its id, or list the sessions of the store.',
  })
}
