import { AsyncResource } from 'node:async_hooks'

import { longestTimerMs, ProvostError } from '@provost/core'

import type { PendingInputs } from '../types/inputs.ts'
import type { AbortControl } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

const defaultGraceMs = 50
/** A timer of the grace and some time for its results fires at once if it is longer than timers can be. */
const longestGraceMs = longestTimerMs - 60_000

/** Creates the abort control of one run. */
export function createAbortControl(pendingInputs: PendingInputs): AbortControl {
  const controller = new AbortController()
  // Tools and hooks receive the abort in the async context that the run was started in.
  const inRun = new AsyncResource('provost.run')
  let timer: NodeJS.Timeout | undefined
  let over = false
  const overdue = Promise.withResolvers<never>()
  // Prevents an unhandled rejection when no race is in progress.
  overdue.promise.catch(() => {})
  const control: AbortControl = {
    signal: controller.signal,
    isAborted: false,
    isRequested: false,
    graceMs: defaultGraceMs,
    pendingPolicy: 'deny',
    failure: undefined,
    overdue: overdue.promise,
    abort(options = {}) {
      if (over) return
      control.graceMs = Math.min(options.graceMs ?? control.graceMs, longestGraceMs)
      control.pendingPolicy = options.onPendingApprovals ?? control.pendingPolicy
      // The run stops waiting for humans.
      pendingInputs.drained.resolve()
      if (options.drain) {
        pendingInputs.draining = true
        return
      }
      if (control.isAborted) return
      control.isRequested = true
      control.isAborted = true
      inRun.runInAsyncScope(() => controller.abort(new ProvostError('aborted', 'The run was aborted.')))
      // Tools have the grace to stop by themselves; the extra time lets their results be written.
      timer = setTimeout(() => overdue.reject(new RunEnding('aborted')), control.graceMs + 25)
    },
    release() {
      over = true
      clearTimeout(timer)
    },
  }
  return control
}

/**
 * Aborts the run when the caller's signal aborts.
 *
 * @returns removes the listener, so that the signal does not retain an ended run.
 */
export function linkSignal(signal: AbortSignal | undefined, control: AbortControl): () => void {
  if (!signal) return () => {}
  if (!(signal instanceof AbortSignal)) {
    throw new ProvostError('invalid-option', 'The signal of a run is not an AbortSignal.', {
      hint: 'Pass the signal of an AbortController, or leave it out.',
    })
  }
  const abort = (): void => control.abort()
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** Waits for work that may never end, at most until the run is aborted. */
export async function unlessAborted(signal: AbortSignal, work: Promise<unknown> | undefined): Promise<void> {
  if (!work || signal.aborted) return
  const aborted = Promise.withResolvers<void>()
  const end = (): void => aborted.resolve()
  signal.addEventListener('abort', end, { once: true })
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', end)
}
