import type { NewEntry } from '@provost/core'

import { report } from '../control/report.ts'
import { resolvedEntry, takenEntry } from '../entries/wait-entries.ts'
import { childMessageValue, childToward } from '../messages/child-message.ts'
import { unknownRun } from '../result/session-error.ts'
import { placeOf } from '../state/entry.ts'
import type { ChildMessage, PendingInputs, QueuedInput } from '../types/inputs.ts'
import type { RunContext } from '../types/run-context.ts'
import type { InFlight, RunTree } from '../types/run-tree.ts'
import type { ChildrenState, SessionState } from '../types/session-state.ts'
import { notify } from './pending-inputs.ts'

/** Tracks a message to a descendant run until it arrives. */
export function trackDelivery(
  { letters }: RunTree,
  { token, to, signal }: Pick<InFlight, 'to' | 'signal'> & { readonly token: string },
): void {
  if (!letters.has(token)) letters.set(token, { to, signal, arrived: Promise.withResolvers<void>(), hasArrived: false })
}

function arrive({ letters }: RunTree, token: string): void {
  const transit = letters.get(token)
  if (!transit) return
  transit.hasArrived = true
  transit.arrived.resolve()
}

/** Resolves when all messages in flight to a run have arrived; undefined where none is in flight. */
export function onItsWay({ letters }: RunTree, to: string): Promise<unknown> | undefined {
  if (letters.size === 0) return undefined
  const coming = [...letters.values()].filter((letter) => letter.to === to && !letter.hasArrived)
  return coming.length === 0 ? undefined : Promise.all(coming.map(({ arrived }) => arrived.promise))
}

/**
 * Records messages to descendant runs in the log. The children read them from there.
 *
 * @returns whether there were any.
 */
export async function forwardMessages(scope: RunContext): Promise<boolean> {
  const { mailbox, state, journal, tree } = scope
  const letters = mailbox.letters.splice(0).filter(({ token }) => !state.resolved.has(token))
  if (letters.length === 0) return false
  const passed = letters.map((letter) => {
    const child = childToward(state.run, letter.to)
    trackDelivery(tree, letter)
    return { letter, child: child?.joined ? undefined : child }
  })
  const entries = passed.map(({ letter: { token, by = 'inbox', ...said }, child }) =>
    child ? resolvedEntry(state, token, childMessageValue(said), by) : takenEntry(placeOf(state), token, by),
  )
  try {
    await journal.append(entries)
  } catch (thrown) {
    // The failed append ends the run, so descendants must not wait for these messages.
    for (const { token } of letters) arrive(tree, token)
    throw thrown
  }
  for (const { letter, child } of passed) if (!child?.letters?.has(letter.token)) tellLost(scope, letter)
  return true
}

/** Takes messages to descendant runs out of the inbox when no descendant is running, and reports them as undelivered. */
export function returnMessages(scope: RunContext): readonly NewEntry[] {
  const { mailbox, state } = scope
  const entries: NewEntry[] = []
  for (const letter of mailbox.letters.splice(0)) {
    if (state.resolved.has(letter.token)) continue
    entries.push(takenEntry(placeOf(state), letter.token, letter.by))
    tellLost(scope, letter)
  }
  return entries
}

/** Hands a child the messages to it and to its descendants that its log does not record yet. */
export function handOver(
  scope: RunContext,
  child: ChildrenState,
  below: SessionState,
  mailbox: PendingInputs,
  given: Set<string>,
): void {
  let any = false
  for (const letter of child.letters?.values() ?? []) {
    const { token, to, mode, input, by } = letter
    if (given.has(token) || below.resolved.has(token)) continue
    given.add(token)
    any = true
    const signal = scope.tree.letters.get(token)?.signal
    const sent: QueuedInput = { input, token, ...(by !== undefined && { by }), ...(signal && { signal }) }
    if (to !== child.callId) {
      mailbox.letters.push({ ...sent, token, to, mode })
      continue
    }
    arrive(scope.tree, token)
    if (mode === 'steer') mailbox.steers.push(sent)
    else mailbox.followUps.push(sent)
  }
  if (any) notify(mailbox)
}

/** Reports the messages that a child did not take before it ended. */
export function reportUndelivered(scope: RunContext, child: ChildrenState, below: SessionState): void {
  for (const letter of child.letters?.values() ?? []) {
    if (!below.resolved.has(letter.token)) tellLost(scope, letter)
    scope.tree.letters.delete(letter.token)
  }
}

/** Reports a message as undelivered, unless its sender has withdrawn it. */
function tellLost(
  scope: RunContext,
  { to, token, signal = scope.tree.letters.get(token)?.signal }: ChildMessage,
): void {
  arrive(scope.tree, token)
  if (!signal?.aborted) report(scope, unknownRun(scope.sessionId, to), { kind: 'listener', name: 'inbox' })
}
