import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'

import type { Entry, KnownKeys, SessionStore } from '@provost/core'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'

import { hashesIn } from '../kit/blob-mentions.ts'
import { createdIn, isCreated, parentLogOf } from '../kit/created-entry.ts'
import { shown } from '../kit/store-error.ts'
import type { ExportLine, Footer } from './export-line.ts'
import { checkKey, entryLine, exportFormat, exportVersion, signatureOf } from './export-line.ts'
import { blobsOf, createExportRedaction } from './export-redaction.ts'

/** Options of {@link exportSession}. */
export interface ExportOptions {
  /**
   * `outside`: only messages and tool results, without internal traces. Default: the whole log, from which another store
   * can resume.
   */
  readonly for?: 'outside'
  /** Secret of 16 bytes or more that signs the export. An import with the same key trusts it. */
  readonly key?: string | Uint8Array
}

const optionKeys = {
  for: true,
  key: true,
} satisfies KnownKeys<ExportOptions>

/** Characters after which the export yields to the event loop. */
const charactersPerTurn = 262_144

/**
 * Yields a session as JSON lines: a header, the entries of its log and of its children's logs, the blobs that they
 * mention, and a footer with counts and a checksum. The same log gives the same bytes. Only one entry at a time is held
 * in memory.
 *
 * With `for: 'outside'` the lines hold only messages and results. These are left out:
 * - reasoning, system prompts, details, provider metadata, stack traces and names of secrets
 * - principals, approvals, audit rows, memos, extension data, usage, views and children
 * - values labelled secret or for certain readers, and answers that were withheld
 *
 * @returns lines, each with its end.
 * @throws ProvostError `unknown-session`, `invalid-key`, during the iteration
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
    const complete = `${text}\n`
    sum.update(complete)
    return complete
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
        // An entry may name a separate session as its child: that session is not exported.
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
        // An outside export includes the files of messages, not each hash that a text mentions.
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
  return parentLogOf(entry) === parent
}

function unknownSession(sessionId: string): ProvostError {
  return new ProvostError('unknown-session', `The store has no session ${shown(sessionId)}.`, {
    hint: 'Check its id, or list the sessions of the store.',
  })
}
