import type { EffectMark, EffectSource, EffectStatus, Timestamp, Tool, ToolResult } from '@provost/core'
import { assertNever, isPromise, signalAfter } from '@provost/core'
import { claimEffect, effectChange, endEffect, readEffect } from '@provost/sessions'
import type { EffectClaim, EffectIdentity, EffectRecord } from '@provost/sessions'
import { hasEffect, parseInput, resultOf } from '@provost/tools'

import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { recordedStatus } from '../state/effect-status.ts'
import { hashJson } from '../state/entry.ts'
import { callOf } from '../state/session-state.ts'
import { toolCall } from '../state/tool-call.ts'
import { reasonResult, toolResult } from '../state/tool-result.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { effectIdentity, principalOf } from './effect-identity.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import { lookUp } from './lookup.ts'
import { mayShow, storedResult } from './stored-result.ts'

/** Whether a call may run now. */
export type Admission =
  | {
      readonly admit: 'run'
      readonly effect?: EffectMark
      /** Until then it may start. Later, another call may find that its effect did not take place. */
      readonly startBy?: Timestamp
    }
  /** Its effect took place before, or cannot be requested now. */
  | { readonly admit: 'answer'; readonly result: ToolResult; readonly effectStatus?: EffectStatus }
  /** This attempt at its effect may have taken place: a human decides. */
  | { readonly admit: 'ask'; readonly effectStatus: EffectStatus }

/** The name under which the ledger decides. */
export const ledger = 'ledger'

/** Whether the ledger of effects must be asked about a call before it starts. Most calls need no question. */
export function needsAdmission({ tree }: RunContext, tool: Tool): boolean {
  if (tool.remote) return false
  return tool['~tool'].effectKey !== undefined || (tree.hasOpenEffects && hasEffect(tool))
}

/**
 * Asks the ledger of effects whether a call may run. A call with an `effectKey` claims its effect, so that no other call
 * causes it. A call without one is only checked against calls of the same tree of runs whose outcome is unknown.
 */
export async function admitCall(ctx: RunContext, call: CallState, tool: Tool): Promise<Admission> {
  const parsed = parseInput(tool, call.args)
  const input = isPromise(parsed) ? await parsed : parsed
  // The call fails by itself.
  if (!input.ok) return { admit: 'run' }
  let identity: EffectIdentity
  try {
    identity = effectIdentity(ctx, tool, call.args, input.value)
  } catch (thrown) {
    report(ctx, thrown, { kind: 'tool', name: tool.name })
    return refused(ctx, call, `The effectKey of ${tool.name} failed, so the call was not made.`)
  }
  return admitEffect(ctx, call, tool, identity)
}

async function admitEffect(ctx: RunContext, call: CallState, tool: Tool, identity: EffectIdentity): Promise<Admission> {
  const { store } = ctx.agent
  const argsHash = hashJson(call.args)
  let record = await readEffect(store, identity)
  /** What found that the attempt before did not take effect. */
  let clearedBy: EffectSource | undefined
  if (!record && identity.scope === 'run') return { admit: 'run' }
  // A claim of this call from before is that of a process that died. Other calls may have found out by now that the effect
  // did not take place, so the call competes with them for the next attempt.
  if (record && isOwn(ctx, call, record) && record.state !== 'confirmed' && record.state !== 'compensated')
    record = await claimAttempt(ctx, call, tool, identity, record.claim)
  for (;;) {
    stopIfAborted(ctx)
    if (record?.state === 'dispatched' && isOwn(ctx, call, record))
      return {
        admit: 'run',
        effect: markOf(identity, record.claim, clearedBy),
        startBy: record.claim.endsAt - longestRunMs(ctx, tool),
      }
    if (!record) {
      record = await claimAttempt(ctx, call, tool, identity, undefined)
      continue
    }
    const isSame = record.claim.argsHash === argsHash
    const isNew = call.approval?.decision === 'approve' && (call.askedBy ?? '').split(', ').includes(ledger)
    if ((!isSame || record.state === 'compensated') && record.state !== 'failed') {
      if (!isNew) return refused(ctx, call, record.state === 'compensated' ? wasUndone : otherArguments)
      record = await claimAttempt(ctx, call, tool, identity, { ...record.claim, idempotencyKey: undefined })
      continue
    }
    switch (record.state) {
      case 'dispatched':
        record = await ended(ctx, identity, record)
        break
      case 'confirmed':
        return {
          admit: 'answer',
          result: await storedResult(ctx, toolCall(ctx.agent, call), record),
          effectStatus: recordedStatus(record),
        }
      case 'unknown': {
        // The other side knows the key, so it does not matter whether the effect took place.
        if (tool.idempotent) {
          record = await claimAttempt(ctx, call, tool, identity, record.claim)
          break
        }
        // The decision of a human is about the attempt that was in doubt when they were asked.
        if (call.cleared === record.claim.attempt)
          await endEffect(store, identity, record.claim, 'failed', { by: 'human' })
        else {
          const found = await resolveUnknown(ctx, call, tool, record)
          if (found === 'unknown') return { admit: 'ask', effectStatus: recordedStatus(record) }
          if (found !== 'absent') {
            const effectStatus = recordedStatus({ ...record, state: 'confirmed', by: 'lookup' })
            return { admit: 'answer', result: found, effectStatus }
          }
          await endEffect(store, identity, record.claim, 'failed', { by: 'lookup' })
        }
        record = await readEffect(store, identity)
        break
      }
      case 'failed':
        clearedBy = recordedStatus(record).by
        record = await claimAttempt(ctx, call, tool, identity, record.claim)
        break
      default:
        return assertNever(record.state)
    }
  }
}

const otherArguments =
  'Another call has caused this effect with other arguments, or is causing it now. Call again to ask for an approval.'

const wasUndone = 'This effect took place and was undone. Call again to ask for an approval.'

function isOwn({ id }: RunContext, call: CallState, { claim }: EffectRecord): boolean {
  return claim.runId === id && claim.callId === call.part.callId
}

/** Claims the next attempt at an effect, and returns the record that then holds. */
export function claimAttempt(
  ctx: RunContext,
  call: CallState,
  tool: Tool,
  identity: EffectIdentity,
  before: { readonly attempt: number; readonly idempotencyKey: string | undefined } | undefined,
): Promise<EffectRecord | undefined> {
  const { agent, state, id, log, sessionId } = ctx
  const principal = principalOf(ctx)
  const attempt = (before?.attempt ?? 0) + 1
  return claimEffect(agent.store, identity, {
    attempt,
    sessionId,
    log,
    runId: id,
    callId: call.part.callId,
    ...(principal !== undefined && { principal }),
    argsHash: hashJson(call.args),
    idempotencyKey: before?.idempotencyKey ?? freshKey(ctx, call, identity, attempt),
    after: state.offset,
    endsAt: state.clock.now() + marginMs + longestRunMs(ctx, tool),
  })
}

/** Milliseconds from the claim of an effect until its call starts, at the latest. */
const marginMs = 2_000

/** A claim is JSON, which has no infinite time. */
function longestRunMs(ctx: RunContext, tool: Tool): number {
  return Math.min(tool['~tool'].timeoutMs + ctx.control.graceMs, longestClaimMs)
}

/** 100 years: the claim of a call without a time limit. */
const longestClaimMs = 100 * 365 * 86_400_000

/** Without a business identity, the effect is that of its first call. */
function freshKey(ctx: RunContext, call: CallState, identity: EffectIdentity, attempt: number): string {
  return identity.scope === 'run' ? idempotencyKeyOf(ctx, call) : hashJson([{ ...identity }, attempt])
}

function markOf(
  { key, scope, scopeId }: EffectIdentity,
  { attempt, idempotencyKey }: EffectClaim,
  clearedBy: EffectSource | undefined,
): EffectMark {
  return {
    ...(scope !== 'run' && { key }),
    scope,
    scopeId,
    attempt,
    idempotencyKey,
    ...(clearedBy !== undefined && { clearedBy }),
  }
}

/**
 * Waits until another call has ended, in whichever process. A call whose process died ends with an unknown outcome, at the
 * time limit of its tool at the latest.
 */
async function ended(
  ctx: RunContext,
  identity: EffectIdentity,
  dispatched: EffectRecord,
): Promise<EffectRecord | undefined> {
  const { store } = ctx.agent
  let record: EffectRecord | undefined = dispatched
  while (record?.state === 'dispatched' && record.claim.attempt === dispatched.claim.attempt) {
    const { holder } = await store.leaseState(record.claim.log)
    const left = record.claim.endsAt - ctx.state.clock.now()
    // A process whose lease has lapsed may only be slow, and its request under way: a lookup now would not find the effect.
    if (holder === 'none' || left <= 0 || waitsForHuman(ctx, record)) {
      // The call may have ended since the record was read.
      const latest = await readEffect(store, identity)
      const isOpen = latest?.state === 'dispatched' && latest.claim.attempt === dispatched.claim.attempt
      return isOpen ? { ...latest, state: 'unknown' } : latest
    }
    stopIfAborted(ctx)
    const signal = AbortSignal.any([ctx.signal, signalAfter(ctx.state.clock, Math.min(left, pollMs))])
    await effectChange(store, record, signal)
    stopIfAborted(ctx)
    record = await readEffect(store, identity)
  }
  return record
}

const pollMs = 500

/** Whether the call that claimed an effect is one of this run that a human decides about. */
function waitsForHuman({ id, state }: RunContext, { claim }: EffectRecord): boolean {
  return claim.runId === id && state.run !== undefined && callOf(state.run, claim.callId)?.stage === 'waiting'
}

/** Asks the `lookup` of the tool about an effect with an unknown outcome. */
async function resolveUnknown(
  ctx: RunContext,
  call: CallState,
  tool: Tool,
  record: EffectRecord,
): Promise<ToolResult | 'absent' | 'unknown'> {
  if (!tool['~tool'].lookup) return 'unknown'
  try {
    const found = await lookUp(ctx, call, tool, record.claim.idempotencyKey)
    if (!found) return 'absent'
    if (!mayShow(ctx, record)) return await storedResult(ctx, toolCall(ctx.agent, call), record)
    return toolResult(toolCall(ctx.agent, call), await resultOf(tool, found.output, call.args), ledger)
  } catch (thrown) {
    stopIfAborted(ctx)
    report(ctx, thrown, { kind: 'tool', name: tool.name })
    return 'unknown'
  }
}

function refused({ agent }: RunContext, call: CallState, reason: string): Admission {
  return { admit: 'answer', result: reasonResult(toolCall(agent, call), 'error', reason, ledger) }
}
