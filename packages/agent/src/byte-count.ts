import type { Entry, NewEntry } from '@provost/core'
import { isRecord } from '@provost/core'

/** Bytes of a run, with those of its children that have ended. */
export interface RunBytes {
  /** What was judged and parsed: messages, arguments of calls, results, answers to waits. */
  readonly host: number
  /** What was written to logs. */
  readonly log: number
}

export const noBytes: RunBytes = Object.freeze({ host: 0, log: 0 })

/** Adds two counts. */
export function addBytes(a: RunBytes, b: RunBytes | undefined): RunBytes {
  return b ? { host: a.host + b.host, log: a.log + b.log } : a
}

/** Shorter texts count as many bytes as characters: to look at each of them would cost more than it tells. */
const shortText = 256

/**
 * Returns about how many bytes JSON takes: exact for long texts, a few bytes off for each short one. Costs time
 * proportional to the number of values, not to the length of texts.
 */
export function byteCount(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return 2 + (value.length <= shortText ? value.length : Buffer.byteLength(value))
    case 'object': {
      if (value === null) return 4
      let bytes = 2
      if (Array.isArray(value)) {
        for (let at = 0; at < value.length; at++) bytes += 1 + byteCount(value[at])
        return bytes
      }
      if (!isRecord(value)) return bytes
      for (const key in value) {
        const field = value[key]
        if (field !== undefined) bytes += key.length + 4 + byteCount(field)
      }
      return bytes
    }
    case 'undefined':
      return 0
    default:
      return 6
  }
}

/** What an entry adds to the bytes of its run. */
export function bytesOfEntry(entry: Entry | NewEntry): RunBytes {
  const log = byteCount(entry)
  return { host: isJudged(entry) ? log : 0, log }
}

/** The arguments of a model's calls stand in its message, and what a tool message says in the `settled` entry. */
function isJudged(entry: Entry | NewEntry): boolean {
  switch (entry.type) {
    case 'message':
      return entry.via !== 'tool'
    case 'call':
      return entry.op === 'planned' || entry.op === 'settled'
    case 'resolved':
    case 'view':
      return true
    default:
      return false
  }
}
