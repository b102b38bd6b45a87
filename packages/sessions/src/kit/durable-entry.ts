import type { NewEntry } from '@provost/core'

/** Whether an entry must survive a power cut: the start of a call that must not run twice without approval. */
export function mustBeForced(entry: NewEntry): boolean {
  return entry.type === 'call' && entry.op === 'started' && entry.repeatable !== true
}
