import type { EffectMark, EffectStatus, Tool } from '@provost/core'
import { endEffect, readEffect } from '@provost/sessions'
import type { EffectEnd } from '@provost/sessions'
import { hasEffect } from '@provost/tools'

import { recordedStatus } from '../state/effect-status.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { claimAttempt } from './admit-call.ts'
import { identityOf } from './effect-identity.ts'

/**
 * Whether the end of a call belongs into the ledger of effects.
 *
 * @param effect where the ledger admitted the call.
 */
export function endsEffect(
  { tree }: RunContext,
  effect: EffectMark | undefined,
  tool: Tool | undefined,
  end: EffectEnd,
): boolean {
  if (!tool || tool.remote || !hasEffect(tool)) return false
  return effect !== undefined || tool['~tool'].effectKey !== undefined || end === 'unknown' || tree.hasOpenEffects
}

/**
 * Records the end of a call in the ledger of effects. An effect whose outcome another source has found is then that of this
 * call: its log has the result.
 *
 * @returns the state that the ledger now has; undefined where nothing was recorded.
 */
export async function recordEnd(
  ctx: RunContext,
  call: CallState,
  tool: Tool,
  { end, by, offset }: EffectReport,
): Promise<EffectStatus | undefined> {
  const { store } = ctx.agent
  if (end === 'unknown') ctx.tree.hasOpenEffects = true
  const identity = await identityOf(ctx, call, tool)
  if (!identity) return undefined
  let record = await readEffect(store, identity)
  if (record?.claim.runId !== ctx.id || record.claim.callId !== call.part.callId) {
    // The effect of another call stays as it is, unless this call has found out what became of it.
    if (end === 'failed' || (record && end === 'unknown')) return undefined
    if (!record && end === 'confirmed' && identity.scope === 'run') return undefined
    if (record && record.state !== 'unknown' && record.state !== 'failed') return undefined
    record = await claimAttempt(ctx, call, tool, identity, record?.claim)
  }
  if (!record || record.claim.callId !== call.part.callId) return undefined
  await endEffect(store, identity, record.claim, end, { by, ...(offset !== undefined && { offset }) })
  return recordedStatus({ ...record, state: end, by })
}

/** How a call ended, and what found out about it. */
export interface EffectReport {
  readonly end: EffectEnd
  readonly by: 'call' | 'lookup' | 'human'
  /** Of the entry with the result, in the log of the call. */
  readonly offset?: number
}
