import type { Entry, NewEntry } from '@provost/core'
import { isRecord } from '@provost/core'

/** Marks in the JSON of entries that may name a log owned by theirs. */
export const ownedLogMarks = ['"type":"child"', '"name":"progress"'] as const

/** Returns the logs that are deleted with the log of an entry: children's logs, and the artifact log of its run. */
export function ownedLogs(entry: Entry): readonly string[] {
  if (entry.type === 'child') return [entry.log]
  const log = artifactLogIn(entry)
  return log === undefined ? [] : [log]
}

/** Returns the artifact log that an entry names, if it belongs to the run of the entry. */
export function artifactLogIn(entry: Entry | NewEntry): string | undefined {
  if (entry.type !== 'ext' || entry.name !== 'progress' || !isRecord(entry.data)) return undefined
  const { log } = entry.data
  return typeof log === 'string' && log === `progress/run/${entry.runId}` ? log : undefined
}
