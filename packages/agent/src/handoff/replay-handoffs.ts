import type { Entry, EntryOf, Message } from '@provost/core'

import { transferContext, handoffCalls, viewAtStep } from '../messages/transferred-context.ts'
import { reduceEntry } from '../reducers/reducer.ts'
import { emptyLog } from '../state/session-state.ts'

/** A handoff as its log tells it. */
export interface ReplayedHandoff {
  readonly entry: EntryOf<'handoff'>
  /** What crossed, filtered again. */
  readonly messages: readonly Message[]
  /** Whether that is what crossed when it happened, to the byte. */
  readonly intact: boolean
}

/**
 * The handoffs of a log, each replayed: what crossed is filtered again from what was said before it. No model is needed.
 *
 * @param entries of one log, from its first on.
 * @throws ProvostError where a filter lets nothing across that it let across then
 *
 * @example
 * for (const { entry, messages, intact } of replayHandoffs(entries)) console.log(entry.to, messages.length, intact)
 */
export function replayHandoffs(entries: Iterable<Entry>): readonly ReplayedHandoff[] {
  const state = emptyLog()
  const replayed: ReplayedHandoff[] = []
  for (const entry of entries) {
    if (entry.type === 'handoff' && entry.denied === undefined) {
      const { messages, hash } = transferContext(viewAtStep(state), handoffCalls(entry), entry.filter, entry.with)
      replayed.push({ entry, messages, intact: hash === entry.hash })
    }
    reduceEntry(state, entry)
  }
  return replayed
}

/** What a child was let have, as the log of the run that spawned it tells it. */
export interface ReplayedInput {
  readonly entry: EntryOf<'child', 'spawned'>
  /** What crossed of the history, filtered again; all that the child was given, where a hook rewrote it. */
  readonly messages: readonly Message[]
  /** Whether that is what crossed when it happened, to the byte. */
  readonly intact: boolean
}

/**
 * What the children of a log got of its history, each replayed: those that were spawned with an `inputFilter`, and those
 * whose input a hook rewrote. No model is needed.
 *
 * @param entries of one log, from its first on.
 * @throws ProvostError where a filter lets nothing across that it let across then
 *
 * @example
 * for (const { entry, messages, intact } of replayInputs(entries)) console.log(entry.agent, messages.length, intact)
 */
export function replayInputs(entries: Iterable<Entry>): readonly ReplayedInput[] {
  const state = emptyLog()
  const replayed: ReplayedInput[] = []
  for (const entry of entries) {
    if (entry.type === 'child' && entry.op === 'spawned' && entry.hash !== undefined) {
      const { messages, hash } = transferContext(state.view, new Set(), entry.filter ?? { kind: 'full' }, entry.with)
      replayed.push({ entry, messages, intact: hash === entry.hash })
    }
    reduceEntry(state, entry)
  }
  return replayed
}
