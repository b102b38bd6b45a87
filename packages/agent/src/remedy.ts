import type { ErrorInfo, ModelFailure, ModelSpec } from '@provost/core'
import { retryDelayMs } from '@provost/provider'

import { knowing } from './hook-context.ts'
import { inHookTime } from './hook-time.ts'
import type { Tried } from './model-attempt.ts'
import type { PreparedRequest } from './model-request.ts'
import type { RunScope } from './run-scope.ts'
import { hookFailed } from './run-scope.ts'

/** What may help after a failed attempt. */
export type Remedy =
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'model'; readonly model: ModelSpec }
  | { readonly kind: 'compact' }
  /** Nobody knows any: the step fails, with this error if a hook gave one. */
  | { readonly kind: 'none'; readonly error?: ErrorInfo }

/** What the first hook with an answer says, else the default: again, where that may help and does no harm. */
export async function remedyFor(
  scope: RunScope,
  failure: ModelFailure,
  { answer }: Tried,
  request: PreparedRequest,
): Promise<Remedy> {
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
      // Once a step: a view that cannot get smaller would be cut for ever.
      if ('compact' in advice && scope.trigger !== 'overflow') return { kind: 'compact' }
      if ('failAs' in advice) error ??= { ...advice.failAs, retryable: failure.error.retryable ?? false }
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'model.error', thrown)
    }
  }
  const none: Remedy = { kind: 'none', ...(error && { error }) }
  if (answer.ok || failure.effects || scope.attempt > (request.settings.maxRetries ?? 2)) return none
  const afterMs = retryDelayMs(answer.fault, scope.attempt)
  return afterMs === undefined ? none : { kind: 'retry', afterMs }
}
