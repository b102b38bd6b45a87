import type { Entry, NewEntry } from '@provost/core'
import { isRecord } from '@provost/core'

/** Texts of which the JSON of an entry contains one if it names a log: `delete` need not parse other entries. */
export const ownedLogMarks = ['"type":"child"', '"name":"progress"'] as const

/**
 * Returns the logs that are deleted with the log of an entry: children's logs, and the artifact log of its run. An entry
 * may name a separate session, which stays: `delete` skips a log that `sessionInfo` lists and that {@link staysAlone}.
 *
 * @example
 * const doomed = new Set([sessionId]) // also iterates over names that are added meanwhile
 * for (const log of doomed) for (const entry of entriesOf(log)) for (const owned of ownedLogs(entry)) doomed.add(owned)
 */
export function ownedLogs(entry: Entry): readonly string[] {
  if (entry.type === 'child') return [entry.log]
  const log = artifactLogIn(entry)
  return log === undefined ? [] : [log]
}

/**
 * Whether a log that an entry names stays where it is a session: `delete` removes other sessions only if they are those of
 * children that ran elsewhere.
 */
export function staysAlone(name: string, sessionId: string): boolean {
  return name !== sessionId && !name.startsWith(`${sessionId}/part/`)
}

/** Returns the artifact log that an entry names, if it belongs to the run of the entry. */
export function artifactLogIn(entry: Entry | NewEntry): string | undefined {
  if (entry.type !== 'ext' || entry.name !== 'progress' || !isRecord(entry.data)) return undefined
  const { log } = entry.data
  return typeof log === 'string' && log === `progress/run/${entry.runId}` ? log : undefined
}
