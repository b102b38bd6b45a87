import type { ModelSettings } from '../messages/model.ts'
import type { ErrorClass, FinishReason, Usage } from '../messages/usage.ts'
import type { Effect, ToolInfo } from '../tools/tool-info.ts'

/** What a model call came to. */
export interface ModelOutcome {
  readonly usage: Usage
  /** US dollars; absent when the price is unknown. */
  readonly cost?: number
  /** What the provider says it answered with, where it says so. */
  readonly responseModel?: string
  /** Absent where it failed. */
  readonly finishReason?: FinishReason
  /** Why there is no whole answer. The message is the provider's. */
  readonly fault?: { readonly class: ErrorClass | 'aborted'; readonly message: string }
}

/** What an `around` hook is around. */
export type TimedOperation = { readonly id: string; readonly parent?: string } & (
  | {
      readonly kind: 'run' | 'child'
      readonly runId: string
      readonly agent: string
      /** It goes on, maybe in another process than it began in. */
      readonly resumed?: true
    }
  | { readonly kind: 'step'; readonly step: number }
  | {
      readonly kind: 'model'
      readonly step: number
      readonly model: string
      readonly attempt: number
      readonly settings: ModelSettings
      /** Asked for by a hook, with `ctx.generate`: no part of the conversation. */
      readonly purpose?: 'generated'
      /** There once `next()` has resolved. */
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

/** One kind of what an `around` hook is around. */
export type TimedOperationOf<K extends TimedOperation['kind']> = TimedOperation & { readonly kind: K }
