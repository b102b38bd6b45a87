import type { ErrorInfo } from '../values/error.ts'
import type { PendingWork } from './pending.ts'

/** An effect that was undone. */
export interface UndoneEffect {
  readonly callId: string
  readonly toolName: string
}

/** An effect that was not undone. */
export interface ImpossibleEffect extends UndoneEffect {
  readonly reason: string
  /** Error of the call that was to undo it. */
  readonly error?: ErrorInfo
}

interface Compensated {
  /** Effects that were undone, in this order. */
  readonly undone: readonly UndoneEffect[]
  /** Effects that could not be undone. */
  readonly impossible: readonly ImpossibleEffect[]
}

/** The result of `session.compensate`. */
export type Compensation = Compensated &
  (
    | { readonly status: 'completed'; readonly pending?: never }
    /** The list was not approved, for this reason. */
    | { readonly status: 'denied'; readonly reason: string; readonly pending?: never }
    /** It waits for a human: call `session.compensate` again with `decisions`. */
    | { readonly status: 'suspended'; readonly pending: PendingWork }
  )
