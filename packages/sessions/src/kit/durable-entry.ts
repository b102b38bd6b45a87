import type { NewEntry } from '@provost/core'

/**
 * Whether an entry must survive a power cut: the start of a call that must not run twice without approval. A store that
 * can choose when it flushes to the disk flushes an append with such an entry before it answers.
 */
export function mustBeDurable(entry: NewEntry): boolean {
  return entry.type === 'call' && entry.op === 'started' && entry.repeatable !== true
}
