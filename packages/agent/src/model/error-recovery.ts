import type { ErrorInfo, MaybePromise, ModelFailure, ModelSpec } from '@provost/core'

import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import type { RunContext } from '../types/run-context.ts'

/** The action after a failed attempt. */
export type ErrorRecovery =
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'model'; readonly model: ModelSpec }
  | { readonly kind: 'compact' }
  /** No recovery: the step fails, with this error if a hook gave one. */
  | { readonly kind: 'none'; readonly error?: ErrorInfo }

/** Returns the recovery of the first hook with one, and the first error that the hooks give the failure. */
export function recoverFrom(ctx: RunContext, failure: ModelFailure): MaybePromise<ErrorRecovery> {
  const unchanged: ErrorRecovery = { kind: 'none' }
  return runHooks<'model.error', ErrorRecovery>(ctx, 'model.error', unchanged, {
    shown: () => failure.label,
    call: (hook, hookContext) => hook(failure, hookContext),
    answered(answer, before, by) {
      if ('retryAfterMs' in answer) return { kind: 'retry', afterMs: Math.max(0, answer.retryAfterMs) }
      if ('useModel' in answer) return { kind: 'model', model: answer.useModel }
      // Compact once a step: a view that cannot shrink would loop for ever.
      if ('compact' in answer) return ctx.viewTrigger === 'overflow' ? before : { kind: 'compact' }
      if (!('failAs' in answer)) throw invalidAnswer(by, 'model.error')
      if (before.kind === 'none' && before.error) return before
      return { kind: 'none', error: { ...answer.failAs, retryable: failure.error.retryable ?? false } }
    },
    ends: ({ kind }) => kind !== 'none',
  })
}
