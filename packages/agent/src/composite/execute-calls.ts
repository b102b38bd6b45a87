import type { NewEntry } from '@provost/core'
import { runBatch } from '@provost/tools'

import { unlessAborted } from '../control/abort-control.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { unstartedEntry } from '../entries/call-entries.ts'
import { callbackInputs } from '../inbox/callback-inputs.ts'
import { sendAll } from '../inbox/drain.ts'
import { claimsEffect, executionMode, groupsOf } from '../tools/execution-mode.ts'
import { isHeld } from '../tree/held-calls.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { applyDecisions, awaitSettled, recheckCalls } from './active-calls.ts'
import { createCompositeCall } from './composite-call.ts'
import { executeCall, startCall } from './execute-call.ts'

/**
 * Runs a batch of calls. `started` commits before a tool starts, and `settled` as soon as it ends.
 *
 * While steering input is unread, calls without a start in the log are skipped, except those that a human approved. Calls
 * that have a start run to their end, and the input enters before the next step. After an abort, calls without a start end as aborted. The tools of the others
 * receive the abort through their signal.
 */
export async function executeCalls(ctx: RunContext, calls: readonly CallState[]): Promise<void> {
  const { agent, options, inbox, signal } = ctx
  stopIfAborted(ctx)
  // Only calls that have not begun are skipped. A call with a delivered result has begun elsewhere, and steering does not
  // take back what a human approved.
  const skips = ({ stage, approval }: CallState): boolean =>
    stage === 'ready' && (signal.aborted || (!approval && inbox.has('steer')))
  const isComposite = (call: CallState): boolean =>
    agent.info(call.part.toolName).composite && call.stage !== 'delivered'
  const composed = ctx.activeCalls.calls.size > 0 || calls.some(isComposite)
  const [only] = calls
  if (only && calls.length === 1 && !composed && !skips(only)) await executeCall(ctx, only)
  else {
    const left: CallState[] = []
    const announced = announcing(agent, calls)
    const batch = (): Promise<void> =>
      runBatch(calls, {
        maxParallel: ctx.slots,
        mode: (call) => executionMode(agent, call),
        async run(call, leave) {
          const arriving = inbox.arriving()
          if (arriving) await unlessAborted(signal, arriving)
          if (skips(call)) return void left.push(call)
          const rest = announced.get(call)
          if (rest) await startCall(ctx, call, rest)
          await (isComposite(call) ? enterCall(ctx, call, leave).settledOrParked() : executeCall(ctx, call))
          if (options.getSteering)
            await sendAll(ctx, 'steer', await callbackInputs(() => options.getSteering?.(), 'getSteering'))
        },
      })
    await (composed ? withComposites(ctx, batch) : batch())
    await ctx.logWriter.append(left.map((call) => abandonedEntry(ctx, call)))
  }
  stopIfAborted(ctx)
}

/** Runs a batch with composites, including parked ones, until each has ended or is parked. */
async function withComposites(ctx: RunContext, batch: () => Promise<void>): Promise<void> {
  ctx.activeCalls.allowStarts()
  recheckCalls(ctx)
  const heeded = applyDecisions(ctx)
  try {
    await batch()
    await awaitSettled(ctx)
  } finally {
    ctx.activeCalls.blockStarts()
    await heeded()
  }
}

/** Enters a composite call of the model, or returns the one that is parked in this process. */
function enterCall(ctx: RunContext, call: CallState, freeSlot: () => void): CompositeCall {
  const { calls } = ctx.activeCalls
  const { callId } = call.part
  const known = calls.get(callId)
  if (known) {
    freeSlot()
    return known
  }
  const compositeCall = enter(ctx, call, ctx.signal, () => {}, freeSlot)
  calls.set(callId, compositeCall)
  compositeCall.ended.then(
    () => compositeCall.detached || calls.delete(callId),
    () => {},
  )
  return compositeCall
}

function enter(
  ctx: RunContext,
  call: CallState,
  signal: AbortSignal,
  onParkedChange: (parked: boolean) => void,
  freeSlot: () => void = () => {},
): CompositeCall {
  const compositeCall = createCompositeCall(ctx, call, signal, {
    freeSlot,
    onParkedChange,
    // While no batch is open, the loop decides about a call that waits.
    staysParked: () => !ctx.activeCalls.isOpen || ctx.control.pendingPolicy === 'hold',
    isHeld: () => ctx.control.pendingPolicy === 'hold' && isHeld(ctx.state, ctx.tree, call),
    execute: (inner, under) => executeCall(ctx, inner, under),
    startComposite: (inner, under, parked) => enter(ctx, inner, under, parked),
  })
  compositeCall.ended = executeCall(ctx, call, compositeCall.signal, compositeCall)
  return compositeCall
}

function abandonedEntry(ctx: RunContext, call: CallState): NewEntry {
  return ctx.signal.aborted
    ? unstartedEntry(ctx.state, call, 'aborted', 'The run was aborted before this call started.')
    : unstartedEntry(ctx.state, call, 'skipped', 'Skipped: the user said something new first.')
}

/** Returns the calls that begin a group, with the calls that they announce. The entries of the first group exist. */
function announcing(agent: ResolvedAgent, calls: readonly CallState[]): ReadonlyMap<CallState, readonly CallState[]> {
  const first = new Map<CallState, readonly CallState[]>()
  for (const group of groupsOf(agent, calls)) {
    if (group.some(({ stage }) => stage === 'started')) continue
    const ready = group.filter(({ stage }) => stage === 'ready')
    const call = ready.find((one) => !claimsEffect(agent, one))
    if (call && ready.length > 1)
      first.set(
        call,
        ready.filter((one) => one !== call),
      )
  }
  return first
}
