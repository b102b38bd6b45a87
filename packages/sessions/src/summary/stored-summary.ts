import type { NewEntry } from '@provost/core'

import { folded } from './session-summary.ts'
import type { SummaryState } from './summary-state.ts'
import { addToSummary } from './summary-state.ts'

/** The columns that a database keeps of a summary. */
export interface StoredSummary {
  readonly updatedAt: number
  /** The title for searches. */
  readonly title: string
  /** Names of rules, each between line ends. */
  readonly rules: string
  /** Number of open waits. */
  readonly waiting: number
  readonly state: string
}

/** Milliseconds between writes of counts alone. */
const countsMs = 1_000

/**
 * Adds new entries to a state.
 *
 * @param tail the offset of the last entry before them.
 * @returns the columns to write; undefined if the row did not change, or only its counts soon after the last write.
 */
export function addEntries(state: SummaryState, entries: readonly NewEntry[], tail: number): StoredSummary | undefined {
  let counts = false
  let row = false
  let at = 0
  for (const [n, entry] of entries.entries()) {
    const change = addToSummary(state, { ...entry, offset: tail + n + 1 })
    if (change === 'row') row = true
    else if (change === 'counts') counts = true
    at = Math.max(at, entry.at)
  }
  // Steps follow each other quickly: not each of them writes its counts. The next row has them. A clock may be set back.
  if (!row && !(counts && Math.abs(at - state.storedAt) >= countsMs)) return undefined
  state.storedAt = at
  return storedSummary(state)
}

export function storedSummary(state: SummaryState): StoredSummary {
  const rules = new Set(Object.values(state.verdicts).map(({ rule }) => rule))
  return {
    updatedAt: state.updatedAt,
    title: folded(state.title),
    rules: rules.size === 0 ? '' : `\n${[...rules].join('\n')}\n`,
    waiting: state.waits.length,
    state: JSON.stringify(state),
  }
}

/** Returns the state that a database kept; undefined without one. */
export function readSummary(text: unknown): SummaryState | undefined {
  return typeof text === 'string' ? JSON.parse(text) : undefined
}
