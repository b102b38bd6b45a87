import type { Entry, NewEntry } from '@provost/core'
import { isRecord } from '@provost/core'

/** What an entry's JSON holds that may name a log which goes with its own. */
export const ownedLogMarks = ['"type":"child"', '"name":"progress"'] as const

/** Logs that go when the log of the entry goes: those of children, and of what its run has left for others. */
export function ownedLogs(entry: Entry): readonly string[] {
  if (entry.type === 'child') return [entry.log]
  const log = artifactLogIn(entry)
  return log === undefined ? [] : [log]
}

/** The log that an entry says its run's artifacts are in: of that run and no other. */
export function artifactLogIn(entry: Entry | NewEntry): string | undefined {
  if (entry.type !== 'ext' || entry.name !== 'progress' || !isRecord(entry.data)) return undefined
  const { log } = entry.data
  return typeof log === 'string' && log === `progress/run/${entry.runId}` ? log : undefined
}
