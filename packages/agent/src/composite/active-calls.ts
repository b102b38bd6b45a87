import type { NewEntry } from '@provost/core'

import { parkedEntry } from '../entries/call-entries.ts'
import { deliveredDecisions, dueDecisions, resolvedEntries } from '../entries/decision-entries.ts'
import { forwardMessages } from '../inbox/child-routing.ts'
import { callOf } from '../state/session-state.ts'
import type { ActiveCalls, RunContext } from '../types/run-context.ts'
import type { SessionState } from '../types/session-state.ts'

/** Creates the registry of a run's active composite calls. */
export function createActiveCalls(): ActiveCalls {
  let opening = Promise.withResolvers<void>()
  const live: ActiveCalls = {
    calls: new Map(),
    open: opening.promise,
    isOpen: false,
    begin() {
      live.isOpen = true
      opening.resolve()
    },
    end() {
      live.isOpen = false
      opening = Promise.withResolvers()
      live.open = opening.promise
    },
  }
  return live
}

/** Resolves when each composite of the run has ended or is parked. */
export async function awaitSettled({ live, state, journal }: RunContext): Promise<void> {
  for (;;) {
    const moving = [...live.calls.values()].filter(({ parked, left }) => !parked && !left)
    if (moving.length === 0) break
    await Promise.all(moving.map((one) => one.rest()))
  }
  const parked: NewEntry[] = []
  for (const { call } of live.calls.values()) if (call.stage !== 'parked') parked.push(parkedEntry(state, call))
  await journal.append(parked)
}

/** Suspends all composites at their positions in the log. */
export function leaveCalls({ live }: Pick<RunContext, 'live'>): void {
  for (const one of live.calls.values()) one.leave()
  live.calls.clear()
}

/** Makes all composites check whether their waits are resolved. */
export function reconcileAgain({ live }: RunContext): void {
  for (const one of live.calls.values()) one.look()
}

/**
 * Applies decisions on waits inside composites, and messages to child runs, while calls are executing. The composites
 * resume at once.
 *
 * @returns a function that stops this and throws the first error.
 */
export function applyDecisions(scope: RunContext): () => Promise<void> {
  const { mailbox, journal, state } = scope
  let failure: { readonly error: unknown } | undefined
  let again = false
  let busy = false
  let taking: Promise<void> | undefined
  const take = async (): Promise<void> => {
    try {
      do {
        again = false
        const passed = mailbox.letters.length > 0 && (await forwardMessages(scope))
        const entries = decidedInside(scope)
        if (!passed && entries.length === 0) continue
        await journal.append(entries)
        reconcileAgain(scope)
        again = true
      } while (again)
    } catch (error) {
      failure ??= { error }
    } finally {
      // Reset synchronously, because this round does not see decisions that arrive from now on.
      busy = false
    }
  }
  const look = (): void => {
    again = true
    if (busy) return
    busy = true
    taking = take()
  }
  mailbox.watchers.add(look)
  if (state.waits.size > 0 || mailbox.letters.length > 0) look()
  return async () => {
    mailbox.watchers.delete(look)
    await taking
    if (failure) throw failure.error
  }
}

/** Returns entries for decisions on waits inside composites. The loop takes the decisions on its own calls. */
function decidedInside({ state, mailbox }: RunContext): readonly NewEntry[] {
  const { run } = state
  if (!run) return []
  const now = Date.now()
  const waits = [...state.waits].filter(([, { callId, parks, child, deadline = Number.POSITIVE_INFINITY }]) => {
    if (deadline <= now) return false
    if (child) return true
    if (callId === undefined) return false
    return parks === true || callOf(run, callId)?.parentCallId !== undefined
  })
  if (waits.length === 0) return []
  const inside: SessionState = { ...state, waits: new Map(waits) }
  const delivered = deliveredDecisions(inside, mailbox.deliveries)
  if (delivered) return resolvedEntries(inside, delivered).entries
  for (const [index, decisions] of mailbox.decisions.entries()) {
    const { due, early } = dueDecisions(inside, decisions)
    if (!due) continue
    mailbox.decisions.splice(index, 1, ...(early ? [early] : []))
    return resolvedEntries(inside, due).entries
  }
  return []
}
