import type { Entry } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

import { linkIn } from './audit-log.ts'

/** Returns the entries by log: first the session's own log, then those of its children. */
export function logsIn(exported: string | Iterable<Entry>): readonly (readonly Entry[])[] {
  if (typeof exported !== 'string') return [[...exported]]
  const logs: Entry[][] = []
  for (const line of linesIn(exported)) {
    if (line.type === 'log') logs.push([])
    else if (line.type === 'entry') {
      const last = logs.at(-1)
      if (last) last.push(line.entry)
      else logs.push([line.entry])
    }
  }
  return logs
}

/**
 * Returns the links of an audit without its rows, as JSON lines to keep after the session is deleted. Links hold hashes
 * and no content. `verifyAudit` accepts them, counts all rows as deleted, and still finds changed, missing or forged links.
 *
 * @param exported as for `verifyAudit`.
 * @throws ProvostError `unreadable-export`
 *
 * @example
 * await writeFile('ann-17.audit.jsonl', auditChain(exported))
 * await store.delete('ann-17')
 */
export function auditChain(exported: string | Iterable<Entry>): string {
  const lines = logsIn(exported).flatMap((log, index) => [
    JSON.stringify({ type: 'log', log: String(index) }),
    ...log.filter((entry) => linkIn(entry)).map((entry) => JSON.stringify({ type: 'entry', entry })),
  ])
  return lines.map((line) => `${line}\n`).join('')
}

/** A line of an export: the name of the log that follows, an entry, or another envelope. */
export type ExportedLine =
  | { readonly type: 'log'; readonly log: string }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'other'; readonly value: Readonly<Record<string, unknown>> }

/** Yields lines of `exportSession`, in their envelopes, or bare entries. */
export function* linesIn(text: string): Iterable<ExportedLine> {
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (cause) {
      throw unreadable(index, 'not JSON', cause)
    }
    if (!isRecord(value)) throw unreadable(index, 'not an entry')
    if (value['type'] === 'log') yield { type: 'log', log: typeof value['log'] === 'string' ? value['log'] : '' }
    else if (envelopes.has(value['type'])) yield { type: 'other', value }
    else yield { type: 'entry', entry: entryOf(value['type'] === 'entry' ? value['entry'] : value, index) }
  }
}

const envelopes: ReadonlySet<unknown> = new Set(['header', 'blob', 'footer'])

function entryOf(value: unknown, index: number): Entry {
  if (!isRecord(value)) throw unreadable(index, 'not an entry')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- readers check every property except the type
  return value as Record<string, unknown> & Entry
}

function unreadable(index: number, what: string, cause?: unknown): ProvostError {
  return new ProvostError('unreadable-export', `Line ${index + 1} of the export is ${what}.`, {
    hint: 'Export the session again.',
    cause,
  })
}
