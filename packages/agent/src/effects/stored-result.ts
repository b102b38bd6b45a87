import type { EntryOf, SessionStore, ToolCall, ToolResult } from '@provost/core'
import { trustedLabel } from '@provost/core'
import type { EffectClaim, EffectRecord } from '@provost/sessions'

import { toolResult } from '../state/tool-result.ts'
import type { RunContext } from '../types/run-context.ts'
import { principalOf } from './effect-identity.ts'

type Settled = EntryOf<'call', 'settled'>

/**
 * Returns the result of a confirmed effect for another call of it. Another principal learns only that it took place, and so
 * does another session where nothing shows that both belong to the same principal.
 */
export async function storedResult(ctx: RunContext, call: ToolCall, record: EffectRecord): Promise<ToolResult> {
  const { claim, offset } = record
  const isShown = offset !== undefined && mayShow(ctx, record)
  const settled = isShown ? await settledAt(ctx.agent.store, claim, offset) : undefined
  if (settled) return toolResult(call, { ...settled, outcome: 'ok' }, 'ledger')
  const value = 'Done before. The result of that call is not available here.'
  const made = { outcome: 'ok', output: { type: 'text', value }, value, label: trustedLabel } as const
  return toolResult(call, made, 'ledger')
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
