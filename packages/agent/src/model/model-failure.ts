import type { ErrorClass, FailedAttempt, Message, ModelFailure, ModelSettings, OneModel } from '@provost/core'
import { positionId, toErrorInfo } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'

import { withCost } from '../prompt/cost.ts'
import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ModelAttempt } from './model-attempt.ts'
import { isHeldBack } from './model-attempt.ts'
import type { PreparedRequest } from './model-request.ts'

/** Records a failed attempt with its usage and cost. Returns the failure for the `model.error` hooks. */
export async function recordFailure(
  ctx: RunContext,
  place: EntryContext,
  tried: ModelAttempt,
  answer: Extract<ModelAnswer, { ok: false }>,
  spec: OneModel,
  params: ModelSettings,
  failures: FailedAttempt[],
): Promise<ModelFailure> {
  const { model } = tried
  const { fault, parts, usage } = answer
  await ctx.logWriter.append([
    newEntry(place, positionId(ctx.id, ctx.step, 'attempt', ctx.attempt), {
      type: 'attempt',
      attempt: ctx.attempt,
      model,
      ...withCost(usage, model, ctx.agent.prices),
      outcome: 'discarded',
      class: fault.class,
    }),
  ])
  failures.push({ model, spec, class: fault.class, message: fault.message })
  const known = toErrorInfo(answer.error, fault.class)
  return {
    class: fault.class,
    model,
    attempt: ctx.attempt,
    error: answer.effects
      ? { ...known, message: fault.message, hint: afterEffects, retryable: false }
      : { hint: remedies[fault.class], ...known, message: fault.message, retryable: fault.retryable },
    ...(parts.length > 0 && { partial: { ...tried.message, partial: true } }),
    effects: answer.effects,
    ...(fault.retryAfterMs !== undefined && { retryAfterMs: fault.retryAfterMs }),
    params,
    label: tried.sent,
    tried: [...failures],
  }
}

/** Notifies listeners that the streamed message is discarded. */
export function endDiscarded(
  ctx: RunContext,
  { message: whole, pieces }: ModelAttempt,
  { hold }: PreparedRequest,
): void {
  ctx.partialMessage = undefined
  if (!pieces.begun()) return
  const message: Message = isHeldBack(pieces, hold) ? { ...whole, content: [] } : whole
  const payload = { messageId: message.id, attempt: ctx.attempt, message, discarded: true as const }
  ctx.logWriter.emit('message.end', payload, ctx.step)
}

/** Hints for errors that retries did not resolve. */
const remedies: Readonly<Record<ErrorClass, string>> = {
  'rate-limit': 'Wait, spread the calls, or ask the provider for a higher limit.',
  capacity: 'Try again later, or use another model.',
  'context-length': 'Send less: cut the history or the results of tools.',
  network: 'Check the connection and the address of the provider, then resume the run.',
  timeout: 'Raise settings.stallMs or settings.timeoutMs, or use a faster model.',
  auth: 'Check the API key of the provider and its permissions.',
  'invalid-request': 'The provider rejected the request. Its message gives the reason.',
  'content-filter': 'The provider filtered the content: rephrase it, or use another model.',
  unknown: 'See the cause of the error.',
}

/** The hint where a retry could repeat an effect. */
const afterEffects = 'The provider executed a tool before the failure. Check its effects before you run this again.'
