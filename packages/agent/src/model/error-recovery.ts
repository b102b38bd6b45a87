import type { ErrorInfo, ModelFailure, ModelSpec } from '@provost/core'
import { retryDelayMs } from '@provost/provider'

import { hookFailed } from '../control/run-ending.ts'
import { knowing } from '../hooks/hook-context.ts'
import { inHookTime } from '../hooks/hook-time.ts'
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
  scope: RunContext,
  failure: ModelFailure,
  { answer }: ModelAttempt,
  request: PreparedRequest,
): Promise<ErrorRecovery> {
  let error: ErrorInfo | undefined
  for (const { extension, hook } of scope.plan.hooks['model.error']) {
    try {
      const advice = await inHookTime(
        scope,
        extension,
        'model.error',
        hook(failure, knowing(scope, extension, failure.label)),
      )
      if (!advice) continue
      if ('retryAfterMs' in advice) return { kind: 'retry', afterMs: Math.max(0, advice.retryAfterMs) }
      if ('useModel' in advice) return { kind: 'model', model: advice.useModel }
      // Compact once a step: a view that cannot shrink would loop for ever.
      if ('compact' in advice && scope.trigger !== 'overflow') return { kind: 'compact' }
      if ('failAs' in advice) error ??= { ...advice.failAs, retryable: failure.error.retryable ?? false }
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'model.error', thrown)
    }
  }
  const none: ErrorRecovery = { kind: 'none', ...(error && { error }) }
  if (answer.ok || failure.effects || scope.attempt > (request.settings.maxRetries ?? 2)) return none
  const afterMs = retryDelayMs(answer.fault, scope.attempt)
  return afterMs === undefined ? none : { kind: 'retry', afterMs }
}
