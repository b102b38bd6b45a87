import type { EffectStatus, Entry, Timestamp } from '@provost/core'
import { isRecord } from '@provost/core'

/** One change of an effect in the ledger of effects, as the log of its call records it. */
export interface EffectRow extends EffectStatus {
  /** The id of the entry. */
  readonly id: string
  readonly at: Timestamp
  readonly runId: string
  readonly step: number
  readonly agent: string
  readonly callId: string
  /**
   * - `dispatched`: the tool was started.
   * - `ended`: the call has a result, from the tool, the ledger or a lookup.
   * - `looked-up`: a lookup answered after a crash.
   * - `asked`: a human is asked about an unknown outcome.
   * - `decided`: the human answered.
   */
  readonly event: 'dispatched' | 'ended' | 'looked-up' | 'asked' | 'decided'
  /** Who answered. */
  readonly decidedBy?: string
}

/** Effects that are under way or in doubt, by call id and by token of the question. */
export type OpenEffects = Readonly<Record<string, EffectStatus & { readonly callId: string }>>

/** Returns the row of an entry, or undefined; and what is open after it. */
export function effectRow(open: OpenEffects, entry: Entry): { readonly row?: EffectRow; readonly open: OpenEffects } {
  const { id, at, runId, step, agent } = entry
  const place = { id, at, runId, step, agent }
  if (entry.type === 'call' && entry.op === 'started' && entry.effect) {
    const { key, scope, attempt, clearedBy } = entry.effect
    const cleared = clearedBy === undefined ? {} : { clearedBy }
    const named = key === undefined ? {} : { key }
    const status = { ...named, scope, attempt, ...cleared, state: 'dispatched', by: 'call' } as const
    const row = { ...place, ...status, callId: entry.callId, event: 'dispatched' } as const
    return { row, open: { ...open, [entry.callId]: { ...status, callId: entry.callId } } }
  }
  if (entry.type === 'call' && entry.op === 'settled') {
    const { [entry.callId]: known, ...rest } = open
    const status = entry.effectStatus
    if (!status) return { open: known ? rest : open }
    return { row: { ...place, ...status, callId: entry.callId, event: 'ended' }, open: rest }
  }
  if (entry.type === 'call' && entry.op === 'decided' && entry.by === 'lookup') {
    const known = open[entry.callId]
    if (!known) return { open }
    const state = entry.outcome === 'result' ? 'confirmed' : 'failed'
    return { row: { ...place, ...known, state, by: 'lookup', event: 'looked-up' }, open }
  }
  if (entry.type === 'wait' && entry.effectStatus && entry.callId !== undefined) {
    const asked = { ...entry.effectStatus, callId: entry.callId }
    return { row: { ...place, ...asked, event: 'asked' }, open: { ...open, [entry.token]: asked } }
  }
  if (entry.type === 'resolved') {
    const { [entry.token]: known, ...rest } = open
    if (!known) return { open }
    const state = stateAfter(entry.value)
    return { row: { ...place, ...known, state, by: 'human', event: 'decided', decidedBy: entry.by }, open: rest }
  }
  return { open }
}

function stateAfter(value: unknown): EffectStatus['state'] {
  const decision = isRecord(value) ? value['decision'] : undefined
  if (decision === 'done') return 'confirmed'
  return decision === 'retry' ? 'failed' : 'unknown'
}
