import type { ErrorInfo, MaybePromise, ModelFailure, ModelSpec } from '@provost/core'
import { retryDelayMs } from '@provost/provider'

import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ModelAttempt } from './model-attempt.ts'
import type { PreparedRequest } from './model-request.ts'

/** The action after a failed attempt. */
export type ErrorRecovery =
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'model'; readonly model: ModelSpec }
  | { readonly kind: 'compact' }
  /** No recovery: the step fails, with this error if a hook gave one. */
  | { readonly kind: 'none'; readonly error?: ErrorInfo }

/** Returns the recovery of the first hook with an answer. Default: a retry, where the error is transient and had no effects. */
export async function recoverFrom(
  ctx: RunContext,
  failure: ModelFailure,
  { answer }: ModelAttempt,
  request: PreparedRequest,
): Promise<ErrorRecovery> {
  const { recovery, error } = await askHooks(ctx, failure)
  if (recovery) return recovery
  const none: ErrorRecovery = { kind: 'none', ...(error && { error }) }
  if (answer.ok || failure.effects || ctx.attempt > (request.settings.maxRetries ?? 2)) return none
  const afterMs = retryDelayMs(answer.fault, ctx.attempt)
  return afterMs === undefined ? none : { kind: 'retry', afterMs }
}

/** The first recovery of the hooks, and the first error that they give the failure. */
interface Advice {
  readonly recovery?: ErrorRecovery
  readonly error?: ErrorInfo
}

function askHooks(ctx: RunContext, failure: ModelFailure): MaybePromise<Advice> {
  const unchanged: Advice = {}
  return runHooks(ctx, 'model.error', unchanged, {
    shown: () => failure.label,
    call: (hook, hookContext) => hook(failure, hookContext),
    answered(answer, advice, by) {
      if ('retryAfterMs' in answer) return { recovery: { kind: 'retry', afterMs: Math.max(0, answer.retryAfterMs) } }
      if ('useModel' in answer) return { recovery: { kind: 'model', model: answer.useModel } }
      // Compact once a step: a view that cannot shrink would loop for ever.
      if ('compact' in answer) return ctx.viewTrigger === 'overflow' ? advice : { recovery: { kind: 'compact' } }
      if (!('failAs' in answer)) throw invalidAnswer(by, 'model.error')
      const { failAs } = answer
      return { error: advice.error ?? { ...failAs, retryable: failure.error.retryable ?? false } }
    },
    ends: ({ recovery }) => recovery !== undefined,
  })
}
