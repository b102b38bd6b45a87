/**
 * Returns the names of which one has a tombstone if a log is erased: its own, and that of the session it belongs to. A child
 * that a run starts late has a log that no tombstone names.
 */
export function erasableNames(log: string): readonly [name: string, session?: string] {
  const [, session] = /^(.+?)\/(?:child|part)\/[0-9a-f]{32}$/s.exec(log) ?? []
  return session === undefined ? [log] : [log, session]
}
