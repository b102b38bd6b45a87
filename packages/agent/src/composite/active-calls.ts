import type { NewEntry } from '@provost/core'

import { parkedEntry } from '../entries/call-entries.ts'
import { answerWaits, deliveredDecisions, resolvedEntries } from '../entries/decision-entries.ts'
import { letterEntries } from '../entries/wait-entries.ts'
import { callOf } from '../state/session-state.ts'
import type { ActiveCalls, CompositeCall, RunContext } from '../types/run-context.ts'
import type { SessionState } from '../types/session-state.ts'

/** Creates the registry of a run's active composite calls. */
export function createActiveCalls(): ActiveCalls {
  let opening = Promise.withResolvers<void>()
  const activeCalls: ActiveCalls = {
    calls: new Map(),
    opened: opening.promise,
    isOpen: false,
    allowStarts() {
      activeCalls.isOpen = true
      opening.resolve()
    },
    blockStarts() {
      activeCalls.isOpen = false
      opening = Promise.withResolvers()
      activeCalls.opened = opening.promise
    },
  }
  return activeCalls
}

/** Resolves when each composite of the run has ended, or is parked and the log records it. */
export async function awaitSettled(ctx: RunContext): Promise<void> {
  const { activeCalls, state, logWriter } = ctx
  do {
    for (let moving = movingCalls(ctx); moving.length > 0; moving = movingCalls(ctx))
      await Promise.all(moving.map((one) => one.settledOrParked()))
    const unrecorded = [...activeCalls.calls.values()].filter(({ call }) => call.stage !== 'parked')
    await logWriter.append(unrecorded.map(({ call }) => parkedEntry(state, call)))
    // An answer may have been recorded meanwhile.
  } while (movingCalls(ctx).length > 0)
}

/** Returns the composites that do not wait for outside input, once each has received the answers in the log. */
function movingCalls(ctx: RunContext): readonly CompositeCall[] {
  recheckCalls(ctx)
  return [...ctx.activeCalls.calls.values()].filter(({ parked, detached }) => !parked && !detached)
}

/** Suspends all composites at their positions in the log. */
export function detachCalls({ activeCalls }: Pick<RunContext, 'activeCalls'>): void {
  for (const one of activeCalls.calls.values()) one.detach()
  activeCalls.calls.clear()
}

/** Makes all composites check whether their waits are resolved. */
export function recheckCalls({ activeCalls }: RunContext): void {
  for (const one of activeCalls.calls.values()) one.recheck()
}

/**
 * Applies decisions on waits inside composites while calls are executing. The composites resume at once.
 *
 * @returns a function that stops this and throws the first error.
 */
export function applyDecisions(ctx: RunContext): () => Promise<void> {
  const { pendingInputs, logWriter, state } = ctx
  let failure: { readonly error: unknown } | undefined
  let again = false
  let busy = false
  let taking: Promise<void> | undefined
  const take = async (): Promise<void> => {
    try {
      do {
        again = false
        const entries = nestedDecisions(ctx)
        if (entries.length === 0) continue
        await logWriter.append(entries)
        recheckCalls(ctx)
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
  pendingInputs.listeners.add(look)
  if (state.waits.size > 0 || ctx.inbox.answers.size > 0) look()
  return async () => {
    pendingInputs.listeners.delete(look)
    await taking
    if (failure) throw failure.error
  }
}

/** Returns entries for decisions on waits inside composites. The loop takes the decisions on its own calls. */
function nestedDecisions({ inbox, state, pendingInputs }: RunContext): readonly NewEntry[] {
  const { run } = state
  if (!run) return []
  const letters = letterEntries(state, inbox.answers)
  if (letters.length > 0) return letters
  const now = state.clock.now()
  const waits = [...state.waits].filter(([, { callId, parks, child, deadline = Number.POSITIVE_INFINITY }]) => {
    if (deadline <= now) return false
    if (child) return true
    if (callId === undefined) return false
    return parks === true || callOf(run, callId)?.parentCallId !== undefined
  })
  if (waits.length === 0) return []
  const inside: SessionState = { ...state, waits: new Map(waits) }
  answerWaits(inside, pendingInputs.decisions, inbox.answers)
  const delivered = deliveredDecisions(inside, inbox.answers)
  return delivered ? resolvedEntries(inside, delivered).entries : []
}
