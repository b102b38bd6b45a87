import type { ModelSettings } from '../messages/model.ts'
import type { ErrorClass, FinishReason, Usage } from '../messages/usage.ts'
import type { Effect, ToolInfo } from '../tools/tool-info.ts'
import type { Label } from '../values/label.ts'

/** The result of a model call. */
export interface ModelOutcome {
  readonly usage: Usage
  /** US dollars; absent when the price is unknown. */
  readonly cost?: number
  /** The model that the provider reports, where it reports one. */
  readonly responseModel?: string
  /** Absent when the call failed. */
  readonly finishReason?: FinishReason
  /** Why the response is incomplete. The message is the provider's. */
  readonly fault?: { readonly class: ErrorClass | 'aborted'; readonly message: string }
}

/** An operation that an `around` hook wraps. */
export type TimedOperation = { readonly id: string; readonly parent?: string } & (
  | {
      readonly kind: 'run' | 'child'
      readonly runId: string
      readonly agent: string
      /** The run is resumed, possibly in another process. */
      readonly resumed?: true
    }
  | { readonly kind: 'step'; readonly step: number }
  | {
      readonly kind: 'model'
      readonly step: number
      readonly model: string
      readonly attempt: number
      readonly settings: ModelSettings
      /** The joined label of everything in the request. */
      readonly label: Label
      /** Made by a hook with `ctx.generate`: not part of the conversation. */
      readonly purpose?: 'generated'
      /** Present once `next()` has resolved. */
      readonly outcome?: ModelOutcome
    }
  | {
      readonly kind: 'tool'
      readonly callId: string
      readonly toolName: string
      readonly effect: Effect
      readonly sandbox?: ToolInfo['sandbox']
    }
)

/** One kind of operation. */
export type TimedOperationOf<K extends TimedOperation['kind']> = TimedOperation & { readonly kind: K }
