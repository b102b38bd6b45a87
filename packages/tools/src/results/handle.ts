import { randomBytes } from 'node:crypto'

import type { Fold, Json, Label, LabelInit } from '@provost/core'
import { fillLabel, isRecord, untrustedLabel } from '@provost/core'

/** The extension whose log entries hold the handles. */
export const limitsName = 'result-limits'

/** A result whose whole text is in the store of the session. */
export interface SpilledResult {
  /** Random, and valid in its session only. */
  readonly handle: string
  /** Of the call that it is the result of. */
  readonly callId: string
  readonly toolName: string
  /** SHA-256 of the text in UTF-8, in hexadecimal. */
  readonly hash: string
  readonly bytes: number
  readonly lines: number
  /** The label of the whole, which each slice has. */
  readonly label: Label
  /** The text itself, where the store does not outlive the process: it travels with the log in run states. */
  readonly text?: string
}

/** The spilled results of a session. */
export interface SpilledResults {
  readonly byHandle: Map<string, SpilledResult>
  /** By {@link spillKey}. */
  readonly byKey: Map<string, SpilledResult>
}

/** Returns a handle with 128 random bits, which cannot be guessed. */
export function newHandle(): string {
  return `res_${randomBytes(16).toString('base64url')}`
}

/**
 * Returns the handle of a result. A result that is repeated after a crash keeps its handle; another result of the same
 * call gets a new one.
 */
export function spillKey(callId: string, hash: string): string {
  return `${callId}/${hash}`
}

/** The spilled results of the log; undefined before the first one. */
export const spilledResults: Fold<SpilledResults | undefined> = {
  key: `${limitsName}/spilled`,
  initial: undefined,
  apply(state, entry) {
    if (entry.type !== 'ext' || entry.name !== limitsName) return state
    const spilled = spilledIn(entry.data)
    if (!spilled) return state
    // Mutated in place: this fold owns the maps, and copies would cost the square of the results.
    const { byHandle, byKey } = state ?? { byHandle: new Map(), byKey: new Map() }
    byHandle.set(spilled.handle, spilled)
    byKey.set(spillKey(spilled.callId, spilled.hash), spilled)
    return state ?? { byHandle, byKey }
  },
}

function spilledIn(data: Json): SpilledResult | undefined {
  if (!isRecord(data)) return undefined
  const { handle, callId, toolName, hash, bytes, lines, label, text } = data
  if (typeof handle !== 'string' || typeof callId !== 'string' || typeof toolName !== 'string') return undefined
  if (typeof hash !== 'string' || typeof bytes !== 'number' || typeof lines !== 'number') return undefined
  return {
    handle,
    callId,
    toolName,
    hash,
    bytes,
    lines,
    label: fillLabel(isLabelInit(label) ? label : undefined, {
      ...untrustedLabel(toolName),
      confidentiality: 'secret',
    }),
    ...(typeof text === 'string' && { text }),
  }
}

/** Returns whether a value may be a label. `fillLabel` turns invalid fields into the strictest. */
function isLabelInit(value: unknown): value is LabelInit {
  return isRecord(value)
}
