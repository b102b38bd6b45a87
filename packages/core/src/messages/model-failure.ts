import type { ErrorInfo } from '../values/error.ts'
import type { Label } from '../values/label.ts'
import type { Message } from './message.ts'
import type { OneModel } from './model.ts'
import type { ErrorClass } from './usage.ts'

/** A model that was asked in a step and did not answer. */
export interface FailedAttempt {
  readonly model: string
  /** What `model` names. */
  readonly spec: OneModel
  readonly class: ErrorClass
  /** In the provider's words. */
  readonly message: string
}

/** A failed attempt at a model call. */
export interface ModelFailure {
  readonly class: ErrorClass
  readonly model: string
  /** Counts from 1 in the step. */
  readonly attempt: number
  readonly error: ErrorInfo
  /** What had been said. */
  readonly partial?: Message
  /** The provider executed a tool in it: repeating is not harmless. */
  readonly effects: boolean
  readonly retryAfterMs?: number
  /** The join over all that was sent. */
  readonly label: Label
  /** The attempts of this step in this process, oldest first; this one is the last. */
  readonly tried: readonly FailedAttempt[]
}
