import type { Ask, EffectStatus, Json, Tool, ToolCall, ToolResult } from '@provost/core'
import { assertNever } from '@provost/core'
import { readEffect } from '@provost/sessions'

import { recordedStatus } from '../state/effect-status.ts'
import { hashJson } from '../state/entry.ts'
import type { RunContext } from '../types/run-context.ts'
import { effectIdentity } from './effect-identity.ts'
import { storedResult } from './stored-result.ts'

/** What the ledger says of a call before it is authorized: its result, or a question to a human. */
export type Standing = { readonly result: ToolResult; readonly effectStatus: EffectStatus } | { readonly ask: Ask }

/**
 * Returns what the ledger of effects says of a call with an `effectKey`; undefined where nothing stands against it.
 *
 * @param value the parsed input.
 * @throws ProvostError `invalid-effect-key`, and what `effectKey` throws.
 */
export async function standingEffect(
  ctx: RunContext,
  tool: Tool,
  call: ToolCall,
  value: unknown,
): Promise<Standing | undefined> {
  const identity = effectIdentity(ctx, tool, call.input, value)
  const record = await readEffect(ctx.agent.store, identity)
  if (!record || record.claim.callId === call.callId) return undefined
  const { state, claim } = record
  const evidence: Json = { effectKey: identity.key, state, callId: claim.callId, runId: claim.runId }
  if (state !== 'failed' && claim.argsHash !== hashJson(call.input)) {
    const reason = `${identity.key} was requested before with other arguments. Is this another effect?`
    return { ask: { reason, evidence } }
  }
  switch (state) {
    case 'confirmed':
      return { result: await storedResult(ctx, call, record), effectStatus: recordedStatus(record) }
    case 'compensated':
      return { ask: { reason: `${identity.key} took place and was undone. Is it to take place again?`, evidence } }
    case 'dispatched':
    case 'unknown':
    case 'failed':
      return undefined
    default:
      return assertNever(state)
  }
}
