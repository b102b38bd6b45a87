import type { NewEntry } from '@provost/core'

/** Whether an entry has to outlive a power cut: the start of a call that must not happen twice unasked. */
export function mustBeForced(entry: NewEntry): boolean {
  return entry.type === 'call' && entry.op === 'started' && entry.repeatable !== true
}
