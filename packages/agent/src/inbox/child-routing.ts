import type { NewEntry } from '@provost/core'

import { report } from '../control/report.ts'
import { resolvedEntry, takenEntry } from '../entries/wait-entries.ts'
import { childMessageValue, childToward } from '../messages/child-message.ts'
import { unknownRun } from '../result/session-error.ts'
import { placeOf } from '../state/entry.ts'
import type { ChildMessage, PendingInputs, QueuedInput } from '../types/inputs.ts'
import type { RunContext } from '../types/run-context.ts'
import type { InFlight, RunTree } from '../types/run-tree.ts'
import type { ChildState, SessionState } from '../types/session-state.ts'
import { notify } from './pending-inputs.ts'

/** Tracks a message to a descendant run until it arrives. */
export function trackDelivery(
  { childMessages }: RunTree,
  { token, to, signal }: Pick<InFlight, 'to' | 'signal'> & { readonly token: string },
): void {
  if (!childMessages.has(token))
    childMessages.set(token, { to, signal, arrived: Promise.withResolvers<void>(), hasArrived: false })
}

function markArrived({ childMessages }: RunTree, token: string): void {
  const transit = childMessages.get(token)
  if (!transit) return
  transit.hasArrived = true
  transit.arrived.resolve()
}

/** Resolves when all messages in flight to a run have arrived; undefined where none is in flight. */
export function inFlightTo({ childMessages }: RunTree, to: string): Promise<unknown> | undefined {
  if (childMessages.size === 0) return undefined
  const coming = [...childMessages.values()].filter((letter) => letter.to === to && !letter.hasArrived)
  return coming.length === 0 ? undefined : Promise.all(coming.map(({ arrived }) => arrived.promise))
}

/**
 * Records messages to descendant runs in the log. The children read them from there.
 *
 * @returns whether there were any.
 */
export async function forwardMessages(ctx: RunContext): Promise<boolean> {
  const { pendingInputs, state, logWriter, tree } = ctx
  const childMessages = pendingInputs.childMessages.splice(0).filter(({ token }) => !state.resolvedWaits.has(token))
  if (childMessages.length === 0) return false
  const passed = childMessages.map((childMessage) => {
    const child = childToward(state.run, childMessage.to)
    trackDelivery(tree, childMessage)
    return { letter: childMessage, child: child?.completion ? undefined : child }
  })
  const entries = passed.map(({ letter: { token, by = 'inbox', ...said }, child }) =>
    child ? resolvedEntry(state, token, childMessageValue(said), by) : takenEntry(placeOf(state), token, by),
  )
  try {
    await logWriter.append(entries)
  } catch (thrown) {
    // The failed append ends the run, so descendants must not wait for these messages.
    for (const { token } of childMessages) markArrived(tree, token)
    throw thrown
  }
  for (const { letter: childMessage, child } of passed)
    if (!child?.childMessages?.has(childMessage.token)) reportLost(ctx, childMessage)
  return true
}

/** Takes messages to descendant runs out of the inbox when no descendant is running, and reports them as undelivered. */
export function returnMessages(ctx: RunContext): readonly NewEntry[] {
  const { pendingInputs, state } = ctx
  const entries: NewEntry[] = []
  for (const childMessage of pendingInputs.childMessages.splice(0)) {
    if (state.resolvedWaits.has(childMessage.token)) continue
    entries.push(takenEntry(placeOf(state), childMessage.token, childMessage.by))
    reportLost(ctx, childMessage)
  }
  return entries
}

/** Hands a child the messages to it and to its descendants that its log does not record yet. */
export function handOver(
  ctx: RunContext,
  child: ChildState,
  below: SessionState,
  pendingInputs: PendingInputs,
  given: Set<string>,
): void {
  let any = false
  for (const childMessage of child.childMessages?.values() ?? []) {
    const { token, to, mode, input, by } = childMessage
    if (given.has(token) || below.resolvedWaits.has(token)) continue
    given.add(token)
    any = true
    const signal = ctx.tree.childMessages.get(token)?.signal
    const sent: QueuedInput = { input, token, ...(by !== undefined && { by }), ...(signal && { signal }) }
    if (to !== child.callId) {
      pendingInputs.childMessages.push({ ...sent, token, to, mode })
      continue
    }
    markArrived(ctx.tree, token)
    if (mode === 'steer') pendingInputs.steering.push(sent)
    else pendingInputs.followUps.push(sent)
  }
  if (any) notify(pendingInputs)
}

/** Reports the messages that a child did not take before it ended. */
export function reportUndelivered(ctx: RunContext, child: ChildState, below: SessionState): void {
  for (const childMessage of child.childMessages?.values() ?? []) {
    if (!below.resolvedWaits.has(childMessage.token)) reportLost(ctx, childMessage)
    ctx.tree.childMessages.delete(childMessage.token)
  }
}

/** Reports a message as undelivered, unless its sender has withdrawn it. */
function reportLost(
  ctx: RunContext,
  { to, token, signal = ctx.tree.childMessages.get(token)?.signal }: ChildMessage,
): void {
  markArrived(ctx.tree, token)
  if (!signal?.aborted) report(ctx, unknownRun(ctx.sessionId, to), { kind: 'listener', name: 'inbox' })
}
