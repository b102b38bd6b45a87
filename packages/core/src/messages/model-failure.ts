import type { ErrorInfo } from '../values/error.ts'
import type { Label } from '../values/label.ts'
import type { Message } from './message.ts'
import type { ModelSettings, OneModel } from './model.ts'
import type { ErrorClass } from './usage.ts'

/** A model that was called in a step and failed. */
export interface FailedAttempt {
  readonly model: string
  /** The model that `model` resolves to. */
  readonly spec: OneModel
  readonly class: ErrorClass
  /** The message of the provider. */
  readonly message: string
}

/** A failed attempt at a model call. */
export interface ModelFailure {
  readonly class: ErrorClass
  readonly model: string
  /** Counts from 1 in the step. */
  readonly attempt: number
  readonly error: ErrorInfo
  /** The output before the failure. */
  readonly partial?: Message
  /** The provider executed a tool during the attempt, so a retry may repeat its effect. */
  readonly effects: boolean
  readonly retryAfterMs?: number
  /** The settings of the call. */
  readonly params: ModelSettings
  /** The join over everything in the request. */
  readonly label: Label
  /** The attempts of this step in this process, oldest first; this one is the last. */
  readonly tried: readonly FailedAttempt[]
}
