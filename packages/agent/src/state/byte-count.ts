import type { Entry, NewEntry } from '@provost/core'
import { assertNever } from '@provost/core'

import type { RunBytes } from '../types/session-state.ts'

export const noBytes: RunBytes = Object.freeze({ host: 0, log: 0 })

/** Adds two counts. */
export function addBytes(a: RunBytes, b: RunBytes | undefined): RunBytes {
  return b ? { host: a.host + b.host, log: a.log + b.log } : a
}

/** Shorter texts count one byte per character: an exact count costs more than it is worth. */
const shortText = 256

/** Counts of large frozen values, which occur in several entries of a call. */
const counted = new WeakMap<object, number>()
/** Size in bytes from which on a count is cached. */
const largeValue = 16_384

/**
 * Returns about how many bytes JSON takes: exact for long texts, a few bytes off for each short one. Costs time
 * proportional to the number of values, not to the length of texts.
 */
export function byteCount(value: unknown): number {
  if (typeof value === 'object' && value !== null) return bytesOfObject(value, 0)
  return bytesOfPrimitive(value)
}

function bytesOfPrimitive(value: unknown): number {
  if (typeof value === 'string') return 2 + (value.length <= shortText ? value.length : Buffer.byteLength(value))
  if (value === undefined) return 0
  return value === null ? 4 : 6
}

/** Calls itself for objects only: most values of an entry are short texts, which are counted in place. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only an object of a type parameter has readable keys in `for in`
function bytesOfObject<T extends object>(value: T, depth: number): number {
  // The depth of a value: an entry, its message, the part, its output, the value.
  const isShared = depth <= 4 && Object.isFrozen(value)
  const known = isShared ? counted.get(value) : undefined
  if (known !== undefined) return known
  let bytes = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const item: unknown = value[at]
      bytes += 1 + (typeof item === 'object' && item !== null ? bytesOfObject(item, depth + 1) : bytesOfPrimitive(item))
    }
  } else {
    for (const key in value) {
      const field: unknown = value[key]
      if (typeof field === 'string' && field.length <= shortText) bytes += key.length + 6 + field.length
      else if (typeof field === 'number') bytes += key.length + 10
      else if (typeof field === 'object' && field !== null) bytes += key.length + 4 + bytesOfObject(field, depth + 1)
      else if (field !== undefined) bytes += key.length + 4 + bytesOfPrimitive(field)
    }
  }
  if (isShared && bytes > largeValue) counted.set(value, bytes)
  return bytes
}

/** Returns the bytes that an entry adds to its run. */
export function bytesOfEntry(entry: Entry | NewEntry): RunBytes {
  const log = bytesOfObject(entry, 0)
  return { host: isJudged(entry) ? log : 0, log }
}

/** Arguments of the model's calls count with its message, and tool messages with their `settled` entries. */
function isJudged(entry: Entry | NewEntry): boolean {
  switch (entry.type) {
    case 'message':
      return entry.via !== 'tool'
    case 'call':
      return entry.op === 'planned' || entry.op === 'settled'
    case 'resolved':
    case 'view':
      return true
    case 'attempt':
    case 'audit':
    case 'child':
    case 'ext':
    case 'handoff':
    case 'memo':
    case 'run':
    case 'tail':
    case 'wait':
      return false
    default:
      return assertNever(entry)
  }
}
