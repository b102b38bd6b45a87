import type { Tool } from '@provost/core'
import { readEffect } from '@provost/sessions'

import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { identityOf } from './effect-identity.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'

/**
 * Returns the idempotency key that a started call received. A call without an effect key that repeats another one has the
 * key of that call, which only the ledger of effects records.
 */
export async function claimedKey(ctx: RunContext, call: CallState, tool: Tool): Promise<string> {
  const own = idempotencyKeyOf(ctx, call)
  if (call.effect) return own
  const identity = await identityOf(ctx, call, tool)
  const record = identity && (await readEffect(ctx.agent.store, identity))
  return record?.claim.callId === call.part.callId ? record.claim.idempotencyKey : own
}
