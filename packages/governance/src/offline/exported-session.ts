import { createHash } from 'node:crypto'

import type { Entry } from '@provost/core'
import { ProvostError, isRecord } from '@provost/core'
import { isEntry } from '@provost/sessions'

import { linesIn } from '../audit/exported-log.ts'

/** A session to judge offline: the output of `exportSession`, or the entries of one log. */
export type RecordedSession = string | Iterable<Entry>

/** A session that was read from an export. */
export interface ExportedSession {
  readonly id: string
  /** The entries of each log by its name; the session's own log is the first. */
  readonly logs: ReadonlyMap<string, readonly Entry[]>
  /** The blobs in base64, by hash. */
  readonly blobs: ReadonlyMap<string, string>
}

/** Characters of the longest export. */
const longestExport = 400_000_000

/**
 * Reads an export and checks that it is whole: its checksum, and the shape of each entry.
 *
 * @throws ProvostError `unreadable-export`
 */
export function readExport(exported: RecordedSession): ExportedSession {
  const logs = new Map<string, Entry[]>()
  const blobs = new Map<string, string>()
  let id = ''
  let name = ''
  let isExport = false
  const add = (entry: unknown): void => {
    if (!isEntry(entry)) throw unreadable('It has an entry that is not valid.')
    const log = logs.get(name)
    if (log) log.push(entry)
    else logs.set(name, [entry])
  }
  if (typeof exported === 'string') {
    if (exported.length > longestExport) throw unreadable(`It is longer than ${longestExport} characters.`)
    for (const line of linesIn(exported)) {
      if (line.type === 'entry') add(line.entry)
      else if (line.type === 'log') name = line.log
      else if (line.type === 'tombstone') throw unreadable('Entries of it were deleted.')
      else {
        const { type, session, for: reader, hash, data } = line.value
        if (type === 'header' && reader !== undefined) throw unreadable('It was made for readers outside.')
        if (type === 'header') isExport = true
        if (type === 'header' && typeof session === 'string') id = session
        if (type === 'blob' && typeof hash === 'string' && typeof data === 'string') blobs.set(hash, data)
      }
    }
    if (isExport) checkFooter(exported)
  } else for (const entry of exported) add(entry)
  if (logs.size === 0) throw unreadable('It has no entries.')
  const [first = ''] = logs.keys()
  return { id: id === '' ? first : id, logs, blobs }
}

function checkFooter(text: string): void {
  const end = text.trimEnd().lastIndexOf('\n') + 1
  let footer: unknown
  try {
    footer = JSON.parse(text.slice(end))
  } catch (cause) {
    throw unreadable('Its last line is not JSON.', cause)
  }
  if (!isRecord(footer) || footer['type'] !== 'footer') throw unreadable('Its end is missing.')
  const sum = createHash('sha256').update(text.slice(0, end)).digest('hex')
  if (footer['sha256'] !== sum) throw unreadable('Its checksum does not match its lines.')
}

function unreadable(why: string, cause?: unknown): ProvostError {
  return new ProvostError('unreadable-export', `The export cannot be judged. ${why}`, {
    hint: 'Export the session again with exportSession(store, id), and pass the whole file.',
    ...(cause !== undefined && { cause }),
  })
}
