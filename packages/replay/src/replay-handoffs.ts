import { foldLog } from '@provost/agent'
import { reduceEntry, transferOf } from '@provost/agent/internal'
import { checkArguments } from '@provost/core'
import type { Entry, EntryOf, Message } from '@provost/core'

/** A handoff, rebuilt from the log. */
export interface ReplayedHandoff {
  readonly entry: EntryOf<'handoff'>
  /** The transferred messages, filtered again. */
  readonly messages: readonly Message[]
  /** Whether that is what crossed when it happened, to the byte. */
  readonly intact: boolean
}

/**
 * Returns the handoffs of a log, each replayed: the filter runs again on the messages before it. No model is needed.
 *
 * @param entries of one log, from its first on.
 * @throws ProvostError where a filter transfers no messages today but did when the handoff was recorded
 *
 * @example
 * for (const { entry, messages, intact } of replayHandoffs(entries)) console.log(entry.to, messages.length, intact)
 */
export function replayHandoffs(entries: Iterable<Entry>): readonly ReplayedHandoff[] {
  checkArguments('replayHandoffs', [entries], ['entries'])
  const state = foldLog([])
  const replayed: ReplayedHandoff[] = []
  for (const entry of entries) {
    if (entry.type === 'handoff' && entry.denied === undefined) {
      const { messages, hash } = transferOf(state, entry)
      replayed.push({ entry, messages, intact: hash === entry.hash })
    }
    reduceEntry(state, entry)
  }
  return replayed
}

/** The input of a child, rebuilt from the log of the run that spawned it. */
export interface ReplayedInput {
  readonly entry: EntryOf<'child', 'spawned'>
  /** The transferred history, filtered again; where a hook rewrote the input, all of the input. */
  readonly messages: readonly Message[]
  /** Whether that is what crossed when it happened, to the byte. */
  readonly intact: boolean
}

/**
 * Returns the history that each child of a log received. It covers children spawned with an `inputFilter` and children whose
 * input a hook rewrote. No model is needed.
 *
 * @param entries of one log, from its first on.
 * @throws ProvostError where a filter transfers no messages today but did when the child was spawned
 *
 * @example
 * for (const { entry, messages, intact } of replayInputs(entries)) console.log(entry.agent, messages.length, intact)
 */
export function replayInputs(entries: Iterable<Entry>): readonly ReplayedInput[] {
  checkArguments('replayInputs', [entries], ['entries'])
  const state = foldLog([])
  const replayed: ReplayedInput[] = []
  for (const entry of entries) {
    if (entry.type === 'child' && entry.op === 'spawned' && entry.hash !== undefined) {
      const { messages, hash } = transferOf(state, entry)
      replayed.push({ entry, messages, intact: hash === entry.hash })
    }
    reduceEntry(state, entry)
  }
  return replayed
}
