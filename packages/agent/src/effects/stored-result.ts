import type { EntryOf, SessionStore, ToolCall, ToolResult } from '@provost/core'
import { trustedLabel } from '@provost/core'
import type { EffectClaim, EffectRecord } from '@provost/sessions'

import type { RunContext } from '../types/run-context.ts'
import { principalOf } from './effect-identity.ts'

type Settled = EntryOf<'call', 'settled'>

/**
 * Returns the result of a confirmed effect for another call of it. Another principal learns only that it took place, and so
 * does another session where nothing shows that both belong to the same principal.
 */
export async function storedResult(ctx: RunContext, call: ToolCall, record: EffectRecord): Promise<ToolResult> {
  const { claim, offset } = record
  const { callId, parentCallId, tool, input } = call
  const shared = {
    callId,
    ...(parentCallId !== undefined && { parentCallId }),
    tool,
    input,
    outcome: 'ok',
    via: 'ledger',
  } as const
  const isShown = offset !== undefined && mayShow(ctx, record)
  const settled = isShown ? await settledAt(ctx.agent.store, claim, offset) : undefined
  if (!settled) {
    const output = { type: 'text', value: 'Done before. The result of that call is not available here.' } as const
    return { ...shared, output, value: output.value, label: trustedLabel }
  }
  const { output, value, label, fields, details } = settled
  return {
    ...shared,
    output,
    label,
    ...(value !== undefined && { value }),
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
  }
}

/** Whether a run may see the result of an effect: its principal requested it, or it took place in the same session. */
export function mayShow(ctx: RunContext, { scope, claim }: EffectRecord): boolean {
  const principal = principalOf(ctx)
  if (claim.principal !== principal) return false
  return principal !== undefined || scope === 'session' || scope === 'run' || claim.sessionId === ctx.sessionId
}

async function settledAt(store: SessionStore, claim: EffectClaim, offset: number): Promise<Settled | undefined> {
  for await (const entry of store.read(claim.log, offset - 1)) {
    const isIt = entry.type === 'call' && entry.op === 'settled' && entry.callId === claim.callId
    return isIt ? entry : undefined
  }
  return undefined
}
